"""Async, figure 5 at full size: 100 cells of 100 runs of 1000 updates, against the usual loop."""

from functools import partial

import pytest

from asyncdp_sim.runs.problem import build_dataset, prepare
from scenarios import entry
from tests.benchmarks.loops import from_records, gossip
from tests.benchmarks.ratio import best_times, told
from tests.benchmarks.swept import swept

pytestmark = pytest.mark.benchmark
TIMED = 100
"""Updates of the loop that are timed at every size; the rest is extrapolated."""
MOST_GIB = 1.0


def recomputing(scenario):
    """Return the seconds of a loop for one run at this size, from its first updates."""
    problem = prepare(scenario, build_dataset(scenario))
    x, y = problem.records.features, problem.records.targets
    steps, updates = problem.task.steps, scenario.run.updates
    work = partial(
        gossip, from_records(x, y), problem.task.reply.noise.scale,
        n_owners=len(x), p=steps.n_features, updates=TIMED, sigma=scenario.model.sigma,
        rate=scenario.algorithm.rho / (updates**2 * scenario.model.sigma),
    )  # fmt: skip
    [seconds] = best_times(work, rounds=3)
    return seconds * updates / TIMED


def test_figure_5_at_full_size(tmp_path, record_property):
    scenario = entry("async-05").scenario()
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    assert sum(cell.run.replicates * cell.run.updates for cell in cells) == 10**7
    run = swept(entry("async-05").file, tmp_path / "figure", workers=2)
    sizes = {cell.records: cell for cell in cells}
    of_size = {records: recomputing(cell) for records, cell in sizes.items()}
    loop = sum(of_size[cell.records] * cell.run.replicates for cell in cells)
    told(record_property, "figure 5", run.seconds, loop)
    told(record_property, "figure 5, memory", run.peak_mib, MOST_GIB * 1024)
