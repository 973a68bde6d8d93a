"""The study of secure aggregation: its picture, and what its entry says of it."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.figures.studies.sums import FIGURE
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs import RunResult, run
from asyncdp_sim.sweeps import sweep
from scenarios import entry

NAME = "value-of-aggregation"
LITTLE = ("run.updates=3", "run.replicates=3", "owners.records=20", 'sweep."owners.count"=[4, 8]')


@cache
def cell(place: int) -> RunResult:
    """A cell of the entry, as it stands."""
    scenario = entry(NAME).scenario()
    return run(scenario.cell(list(scenario.grid())[place]))


def noise(place: int) -> float:
    return float(cell(place).summary["psi_split"]["noise"])


def time(place: int) -> float:
    return float(cell(place).summary["simulated_time"])


@pytest.mark.long
def test_the_entry_says_what_its_cells_give() -> None:
    said = " ".join(entry(NAME).scenario().description.split())
    four, sixteen, many = ((place, 4 + place, 8 + place) for place in (0, 2, 3))
    falls = [noise(heard) / noise(summed) for heard, summed, _ in (four, sixteen, many)]
    told = "noise adds {:.2g} times less to mean ψ with four owners, {:.2g} times less with sixteen"
    assert told.format(*falls) in said
    assert f"and {falls[2]:.2g} times with 32, about N-fold" in said
    assert f"with four it is {noise(four[0]):.1g} in one case and {noise(four[1]):.2g} in" in said
    costs = [noise(place[1]) / noise(place[2]) for place in (four, sixteen)]
    assert 0.4 < costs[0] < 0.6  # "half of that"
    assert costs[1] > 0.85  # "hardly anything"
    longer = [time(summed) / time(heard) - 1 for heard, summed, _ in (four, many)]
    assert (
        "an update takes {:.0%} longer, and {:.0%} with 32".format(*longer).replace("%", " %")
        in said
    )
    assert "18 times less with sixteen" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert round(falls[1]) == 18


@pytest.fixture(scope="module")
def swept(tmp_path_factory: Any) -> Path:
    directory = tmp_path_factory.mktemp("sums") / "s"
    sweep(entry(NAME).scenario(LITTLE), directory)
    return Path(directory)


@pytest.mark.long
def test_the_study_draws_what_noise_adds(swept: Path) -> None:
    drawn = draw_all(swept).pictures
    assert "value-of-sums.png" in [picture.name for picture in drawn]
    captions = (swept / "figures" / "captions.md").read_text("utf-8")
    assert "mean over 3 replicates and its 95 % interval" in captions
    assert "how many times less it is in “only sums are seen”" in captions
    table = FIGURE.picture(Sweep.read(swept)).table
    assert table["owners"].tolist() == [4.0, 8.0] * 3
    assert np.all(table["noise_low"] <= table["noise"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("run.split=false",), "whose ψ was not split"),
        (('sweep.variant=[{ name = "a" }]', 'sweep."run.seed"=[1]'), "something else than owners"),
    ],
)
def test_a_sweep_of_something_else_is_refused(
    settings: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    one = ('sweep."owners.count"=[4]',)
    sweep(entry(NAME).scenario((*LITTLE, *one, *settings)), tmp_path / "s")
    with pytest.raises(ResultError, match=said):
        FIGURE.picture(Sweep.read(tmp_path / "s"))
