"""A Dask cluster on loopback: what a cell costs beside the sweep's own work."""

import os
import time
from functools import partial

import pytest

from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from tests.benchmarks.ratio import told
from tests.benchmarks.test_sweep_speed import file
from tests.clustered import clustered

pytestmark = pytest.mark.benchmark
CELLS = 200
MOST_MS = 10.0
"""Milliseconds of all processors together that a cell may cost for being sent elsewhere."""
PATIENCE = 120.0
"""Seconds to wait for a cluster that has just been started."""
WAIT = 10.0
"""Seconds in which the cluster has nothing to do."""
TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr("asyncdp_sim.sweeps.cluster.PATIENCE", PATIENCE)


def used(process):
    """Return the CPU time (s) of a process so far."""
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu(cluster, work):
    """Return the CPU time (s) that work takes here and on the cluster, and how long it is."""
    all_of_them = [cluster.scheduler, *cluster.workers]
    began, before = time.perf_counter(), time.process_time() + sum(map(used, all_of_them))
    work()
    after = time.process_time() + sum(map(used, all_of_them))
    return after - before, time.perf_counter() - began


def test_what_a_cell_costs_on_a_cluster(tmp_path, record_property):
    few, many = (load(file(tmp_path, cells=n, replicates=1, updates=100))[0] for n in (8, CELLS))
    sweep(few, tmp_path / "few-here")  # what is imported once
    began = time.process_time()
    sweep(many, tmp_path / "here")
    here = time.process_time() - began
    with clustered(1, tmp_path) as cluster:
        sweep(few, tmp_path / "few-there", address=cluster.address)
        idle, waited = cpu(cluster, partial(time.sleep, WAIT))
        work = partial(sweep, many, tmp_path / "there", address=cluster.address)
        busy, lasted = cpu(cluster, work)
    there = busy - idle * lasted / waited  # heartbeats are not the cells'
    told(
        record_property, "cluster", 1e3 * there / CELLS, 1e3 * here / CELLS + MOST_MS,
        cells=CELLS, most=MOST_MS,
    )  # fmt: skip
