"""Small scenarios as files, for the command line."""

import csv
from pathlib import Path

SMALL = Path(__file__).with_name("small.toml").read_text("utf-8")
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
