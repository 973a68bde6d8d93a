"""Figures with intervals in the descriptions of entries, against a sweep of the whole entry."""

from pathlib import Path

import pandas as pd
import pytest

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.sweep_figure import mean_psi_at_end, psi_at_end
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import entry
from tests.tables import table

STATISTICS = {"mean": mean_psi_at_end, "median": psi_at_end}
SENTENCES = table(__file__, "catalogue.toml")["sentences"]


@pytest.mark.long
@pytest.mark.parametrize("name", SENTENCES)
def test_a_description_says_what_its_cells_give_with_intervals(name, tmp_path):
    statistic, sentence = STATISTICS[SENTENCES[name]["statistic"]], SENTENCES[name]["says"]
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
