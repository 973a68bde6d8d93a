"""Figures with intervals in the descriptions of entries, against a sweep of the whole entry."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, mean_psi_at_end, psi_at_end
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry

Statistic = Callable[[Result], OutcomeEstimate]
SENTENCES: dict[str, tuple[Statistic, str]] = {
    "async-08": (
        psi_at_end,
        "Median ψ starts at {start} and ends at {0} for ε = 0.1, {1} for 1 and {2} for 10.",
    ),
    "async-11": (
        mean_psi_at_end,
        "For three at ε = 10, with mean ψ {2}; for none at 1, with {1}, and at 0.1, with {0}.",
    ),
    "collab-02": (
        psi_at_end,
        "After 100 rounds median ψ is {0} at ε = 0.1, {1} at 1 and {2} at 10.",
    ),
    "lending-sound": (
        psi_at_end,
        "Median ψ starts at {start} and ends at {2} for ε = 10, {1} for 1 and {0} for 0.1.",
    ),
    "sync-or-async": (
        psi_at_end,
        "median ψ of {0} in {t[0]} time units if all are awaited, {2} in {t[2]} with a deadline. "
        "Push reaches {5} with FedAsync in {t[5]}, one at a time {3} in {t[3]}.",
    ),
    "vary-availability": (
        psi_at_end,
        "median ψ is {2} instead of {0}. If three of six are online a fifth of the time, it is "
        "{4}; with steps divided by shares of the updates, {5}.",
    ),
}
"""Of each entry the statistic, and a sentence with that of its cells, by number."""


@pytest.mark.long
@pytest.mark.parametrize("name", SENTENCES)
def test_a_description_says_what_its_cells_give_with_intervals(name, tmp_path):
    statistic, sentence = SENTENCES[name]
    scenario = entry(name).scenario()
    sweep(scenario, tmp_path / name, workers=1)
    cells = Sweep.read(tmp_path / name).cells
    ends = [[number(end) for end in statistic(cell.result)] for cell in cells]
    figures = [f"{value} ({low} to {high})" for value, low, high in ends]
    said = " ".join(scenario.description.split()).replace("95 % interval ", "")
    times = [cell.result.summary["simulated_time"] for cell in cells]
    start, took = _start(cells[0].result.directory), [f"{time:.0f}" for time in times]
    assert sentence.format(*figures, start=start, t=took) in said
    assert scenario.description.count("95 % interval") == 1
    if name == "async-11":
        assert [cell.result.summary["profits_psi"] for cell in cells] == [0, 0, 3]
    if name == "vary-availability":
        assert times[2] > 1.9 * times[0]  # "cost time"
        low, high = statistic(cells[2].result)[1], statistic(cells[0].result)[2]
        assert low < high  # "not accuracy": the intervals overlap


def _start(directory: Path) -> str:
    """Return ψ before the first update, which is that of all replicates."""
    curve = pd.read_parquet(directory / "curve.parquet")
    [psi] = set(curve.relative_fitness[curve.k == 0])
    return number(psi)
