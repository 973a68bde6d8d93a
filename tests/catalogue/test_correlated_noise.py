"""The sentences of the entry whose noise is correlated over rounds, and its picture."""

import numpy as np
import pytest

from analysis.studies.psi import CORRELATED_NOISE as FIGURE
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry

NAME = "correlated-noise"


@pytest.mark.long
def test_the_entry_says_what_its_cells_give(tmp_path):
    scenario = entry(NAME).scenario()
    small = scenario.replace(sweep={"variant": list(scenario.sweep["variant"])[:4]})
    sweep(small, tmp_path / NAME, workers=1)
    series = FIGURE.select(Sweep.read(tmp_path / NAME))
    assert not isinstance(series, str)
    independent, correlated = (np.array(line.psi) for line in series)
    assert [line.name for line in series] == ["independent noise", "correlated noise"]
    assert list(series[0].x) == [1000, 10_000]
    assert (correlated[2] < independent[1]).all()  # intervals do not meet
    said = " ".join(scenario.description.split())
    few, many = (
        [f"{line[0][place]:.2g}" for line in (correlated, independent)] for place in (0, 1)
    )
    assert f"mean ψ is {few[0]} in place of {few[1]} with 1,000 owners" in said
    assert f"{many[0]} in place of {many[1]} with 10,000" in said
