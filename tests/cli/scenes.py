"""Small scenarios as files, for the command line."""

import csv
from pathlib import Path

SMALL = """schema = 1
id = "small"
title = "A small one"

[run]
seed = 3
replicates = 2
updates = 12

[owners]
count = 3
records = 20

[data]
kind = "gaussian"
features = 2

[model]
kind = "ridge"
regularisation = 1e-5
theta_max = 10.0

[clock]
kind = "gamma"
rate = 1.0
cv = 0.5

[compute]
kind = "lognormal"
mean = 0.1
cv = 1.0

[algorithm]
kind = "async-gossip"
rho = 0.01

[privacy]
epsilon = 1.0
sensitivity = { kind = "clip", bound = 1.0 }
"""
SWEEP = SMALL + '\n[sweep]\n"privacy.epsilon" = [1, 2.5, inf]\n"run.seed" = [3, 4]\n'
"""Six cells, of which those with the same seed share a network."""

TABLE = 'kind = "table"\npath = "rates.csv"\ntarget = "rate"\nfeatures = 2\npublic_records = 10'
GAUSSIAN = 'kind = "gaussian"\nfeatures = 2'
ON_A_TABLE = SMALL.replace(GAUSSIAN, TABLE).replace("records = 20", "records = 10")


def rates(file: Path, shift: float = 0.0) -> None:
    """Write a table of 40 loans: income, age and rate."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["income", "age", "rate"])
        for row in range(40):
            income, age = 1 + row % 7, 20 + row * 37 % 50
            writer.writerow([income, age, shift + 3 + 0.5 * income + age / 10 + row % 3])
