"""Cells that learn live, beside cells of the same network that learn over its traces."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim import runs
from asyncdp_sim.results import read_manifest
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps import sweep


@pytest.mark.parametrize("first", ["replay", "live"])
def test_live_cells_learn_live(
    first: str, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their results are the same, so that nothing but the calls can tell."""
    live: list[Any] = []

    def counted(network: Any, task: Any, *given: Any, **how: Any) -> Any:
        live.append(task)
        return live_all(network, task, *given, **how)

    live_all = runs.live_all
    monkeypatch.setattr(runs, "live_all", counted)
    other = "live" if first == "replay" else "replay"
    swept = {"run.learning": [first, other], "privacy.epsilon": [1.0, 3.0]}
    found = sweep(scenario.model_copy(update={"sweep": swept}), tmp_path / "out")
    assert (found.cells, found.done) == (4, 4)
    assert len(live) == 2
    cells = [read_manifest(tmp_path / "out" / f"cell-000{number}") for number in range(4)]
    learning = [cell["scenario"]["run"]["learning"] for cell in cells]
    assert learning == [first, first, other, other]
    for one, same in ((0, 2), (1, 3)):
        assert cells[one]["fingerprints"] == cells[same]["fingerprints"]
