"""The sentences of the entry that hides whole owners, and its picture."""

import numpy as np
import pytest

from analysis.studies.psi import HIDE_THE_OWNER as FIGURE
from analysis.studies.psi import alone
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry

NAME = "hide-the-owner"
HEARD, SUMMED, OWNER_HEARD, OWNER_SUMMED = range(4)
TEN, FORTY, MANY, MOST = range(4)


@pytest.mark.long
def test_the_entry_says_what_its_cells_give(tmp_path):
    scenario = entry(NAME).scenario()
    sweep(scenario, tmp_path / NAME, workers=1)
    series = FIGURE.select(Sweep.read(tmp_path / NAME))
    assert not isinstance(series, str)
    psi = np.array([line.psi[0] for line in series])
    low, high = (np.array([line.psi[end] for line in series]) for end in (1, 2))
    own = np.array([alone(cell) for cell in series[0].cells])
    said = " ".join(scenario.description.split())
    assert f"has a ψ of {own.mean():.2g}" in said
    assert psi[HEARD, TEN] > own[TEN]
    assert high[HEARD, FORTY] < own[FORTY]
    assert high[SUMMED, TEN] < own[TEN]
    forty, many, most = (f"{psi[OWNER_HEARD, place]:.2g}" for place in (FORTY, MANY, MOST))
    assert f"mean ψ is {forty} with 40 owners, {many} with 160 and {most} with 640" in said
    assert low[OWNER_HEARD, MANY] > own[MANY]
    assert low[OWNER_HEARD, MOST] < own[MOST] < high[OWNER_HEARD, MOST]
    assert f"not surely below {own[MOST]:.2g}" in said
    assert f"still lose by joining ({psi[OWNER_SUMMED, TEN]:.2g})" in said
    assert low[OWNER_SUMMED, TEN] > own[TEN]
    assert high[OWNER_SUMMED, FORTY] < own[FORTY]
    assert f"40 gain ({psi[OWNER_SUMMED, FORTY]:.2g})" in said
    times = psi[OWNER_SUMMED, MANY] / psi[SUMMED, MANY]
    more = f"{psi[OWNER_SUMMED, MANY]:.2g} in place of {psi[SUMMED, MANY]:.2g}"
    assert f"takes {times:.2g} times the ψ that hiding a record does, {more}" in said
