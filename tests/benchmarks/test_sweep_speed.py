"""Speed of sweeps, of figure 5 at full size, and of the command line's start."""

import subprocess
import sys
import time
from functools import partial

import pytest

from asyncdp_sim.runs.outcome import all_numbers
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.replicates import learn_all, processes, simulate_some
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.grid import TOGETHER
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import entry
from tests import scenes
from tests.benchmarks.loops import from_records, gossip
from tests.benchmarks.ratio import best_times, told
from tests.benchmarks.swept import swept

pytestmark = pytest.mark.benchmark

MOST_MS = 3.0
"""Milliseconds of a processor that a cell may take besides learning."""


def file(folder, *, cells, replicates, updates, swept="run.seed"):
    """Write a sweep of seeds, so that cells share nothing, or of something else."""
    path = folder / f"{cells}-cells.toml"
    how = {"seed": 1, "replicates": replicates, "updates": updates, "record_every": 100}
    said = scenes.text(
        run=how,
        owners={"count": 20, "records": 100},
        data={"features": 10},
        model={"regularisation": 1e-5, "theta_max": 1e5},
        compute={"kind": "exponential", "mean": 0.01},
        algorithm={"rho": 1.0},
        privacy={"sensitivity": {"kind": "declared", "bound": 5.0}},
        sweep={swept: list(range(1, cells + 1))},
    )
    path.write_text(said, encoding="utf-8")
    return path


def learning_alone(scenario):
    """Return the CPU time (s) of learning all cells, with all that it takes at hand."""
    numbers, cells = all_numbers(scenario.base()), [scenario.cell(c) for c in scenario.grid()]
    dataset = build_dataset(cells[0])
    problems = [prepare(cells[0], dataset)]
    for cell in cells[1:]:
        problems.append(prepare(cell, dataset, problems[-1]))
    tasks = [problem.task for problem in problems]
    traces = simulate_some(cells[0].network, scenario.run.seed, numbers)
    with processes(1) as here:
        began = time.process_time()
        for first in range(0, len(tasks), TOGETHER):
            learn_all(tasks[first : first + TOGETHER], scenario.run.seed, numbers, traces, here)
        return time.process_time() - began


def test_a_cell_costs_little_besides_learning(tmp_path, record_property):
    few, many = (
        load(file(tmp_path, cells=n, replicates=1, updates=100, swept="privacy.epsilon"))[0]
        for n in (16, 1000)
    )
    sweep(few, tmp_path / "few")  # what is imported once
    began = time.process_time()
    sweep(many, tmp_path / "many")
    ours = time.process_time() - began
    told(record_property, "a cell", ours, learning_alone(many) + MOST_MS, most=MOST_MS)


def test_two_workers_do_the_work_of_one_once(tmp_path, record_property):
    sized = file(tmp_path, cells=48, replicates=50, updates=2000)
    two, one = (
        swept(sized, tmp_path / f"{workers}", workers=workers).seconds for workers in (2, 1)
    )
    told(record_property, "two workers", two, one)


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_does_not_grow_with_the_number_of_cells(workers, tmp_path, record_property):
    sizes = {"replicates": 4, "updates": 100}
    few, many = (
        swept(file(tmp_path, cells=cells, **sizes), tmp_path / str(cells), workers=workers).peak_mib
        for cells in (100, 400)
    )
    named = f"{workers} worker{'s' * (workers > 1)}"
    told(record_property, "memory of cells", many, few, workers=named)


# Async, figure 5 at full size: 100 cells of 100 runs of 1000 updates, against the usual loop.


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


# Time that the command line takes to answer, against the imports that it cannot do without.


def python(code, *arguments):
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)


def test_help(record_property):
    help_asked = partial(python, "import asyncdp_sim.cli as c; c.main()", "--help")
    ours, baseline = best_times(help_asked, partial(python, "import typer, rich"), rounds=25)
    told(record_property, "help", ours, baseline)
