"""The picture of local steps: one line for each E over time, and ψ at the end for each α."""

from pathlib import Path

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.studies.local_steps import FIGURE
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry

E, STEP = "algorithm.local_steps", "algorithm.local_step"
FEW = ("run.replicates=2", "run.updates=12", "data.split.rows=2000", "data.public_records=200")
TWO = f"{{ name = 'E = 1' }}, {{ name = 'E = 4', '{E}' = 4, '{STEP}' = 9.0, 'run.updates' = 3 }}"
OTHER = f"{{ name = 'E = 1' }}, {{ name = 'E = 2', '{E}' = 2, '{STEP}' = 9.0 }}"


def swept(folder: Path, *settings: str) -> Sweep:
    sweep(entry("value-of-local-steps").scenario((*FEW, *settings)), folder, workers=1)
    return Sweep.read(folder)


@pytest.mark.long
def test_psi_is_drawn_over_time_and_over_exchanges(tmp_path: Path) -> None:
    picture = FIGURE.picture(swept(tmp_path / "local", f"sweep.variant=[{TWO}]"))
    table = picture.table
    ended = table["panel"] == "end"
    assert set(table["line"][~ended]) == {"E = 1", "E = 4"}
    assert sorted(table["x"][ended]) == [3, 3, 12, 12]
    last = [table["x"][~ended & (table["line"] == name)][-1] for name in ("E = 1", "E = 4")]
    assert last == pytest.approx([12 * 1.1, 3 * 1.4])
    assert picture.caption.startswith("12 noisy gradients of each owner")
    assert picture.label.text.startswith("Private as claimed: ε = 1 per owner")


@pytest.mark.long
def test_cells_of_unlike_numbers_of_gradients_are_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="variants that all take as many gradients"):
        FIGURE.picture(swept(tmp_path / "other", f"sweep.variant=[{OTHER}]"))
