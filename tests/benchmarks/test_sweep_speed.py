"""Sweeps: two workers against one, and many cells against few."""

import pytest

from tests.benchmarks.ratio import report
from tests.benchmarks.swept import swept

pytestmark = pytest.mark.benchmark

SCENARIO = """
schema = 1
id = "cells-that-share-nothing"
title = "Cells that share nothing"
description = "Every cell has a seed, so a network and data, of its own."
source = "synthetic"
[run]
seed = 1
replicates = {replicates}
updates = {updates}
record_every = 100
[owners]
count = 20
records = 100
[data]
kind = "gaussian"
features = 10
[model]
kind = "ridge"
regularisation = 1e-5
theta_max = 1e5
[clock]
kind = "poisson"
[protocol]
kind = "request"
[compute]
kind = "exponential"
mean = 0.01
[algorithm]
kind = "async-gossip"
rho = 1.0
[privacy]
epsilon = 1.0
mechanism = "laplace"
sensitivity = {{ kind = "declared", bound = 5.0 }}
budget = {{ kind = "horizon" }}
[sweep]
"run.seed" = {seeds}
"""


def file(folder, *, cells, replicates, updates):
    path = folder / f"{cells}-cells.toml"
    seeds = list(range(1, cells + 1))
    path.write_text(SCENARIO.format(seeds=seeds, replicates=replicates, updates=updates))
    return path


def test_two_workers_against_one(tmp_path, record_property):
    sized = file(tmp_path, cells=48, replicates=50, updates=2000)
    two, one = (
        swept(sized, tmp_path / f"{workers}", workers=workers).seconds for workers in (2, 1)
    )
    report(
        record_property,
        "a CPU-bound sweep of 48 cells that share nothing, 2 workers",
        ours=two,
        baseline=one,
        against="1 worker",
        at_least=1.7,
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_does_not_grow_with_the_number_of_cells(workers, tmp_path, record_property):
    few, many = (
        swept(
            file(tmp_path, cells=cells, replicates=4, updates=100),
            tmp_path / str(cells),
            workers=workers,
        ).peak_mib
        for cells in (100, 400)
    )
    report(
        record_property,
        f"peak memory of 400 small cells, {workers} worker{'s' * (workers > 1)}",
        ours=many,
        baseline=few,
        against="100 such cells",
        unit="MiB",
        at_least=1 / 1.1,
    )
