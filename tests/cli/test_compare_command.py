"""``asyncdp compare``: what it prints, what it draws, what it refuses."""

import json
from pathlib import Path

import pytest

from asyncdp_sim.figures import style
from tests.cli.scenes import SMALL


@pytest.mark.long
def test_two_results_side_by_side(command, tmp_path, monkeypatch):
    monkeypatch.setattr(style, "DPI", 20)
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    one, other = tmp_path / "one", tmp_path / "other"
    command.done("run", tmp_path / "s.toml", "--out", one)
    command.done("run", tmp_path / "s.toml", "--out", other, "--set", "privacy.epsilon=7.0")
    lines = command.done("compare", one, other, "--out", tmp_path / "drawn").out.splitlines()
    assert lines[0].startswith("other against one, paired by replicate")
    assert max(len(line) for line in lines if not line.startswith("drawn: ")) <= 80
    assert any(line.split() == ["privacy.epsilon", "1.0", "7.0"] for line in lines)
    drawn = [line.removeprefix("drawn: ") for line in lines if line.startswith("drawn: ")]
    assert [Path(each).is_file() for each in drawn] == [True] * 3
    table = json.loads(command.done("compare", one, other, "--json").out)
    assert table["comparisons"][0]["figures"][0]["figure"] == "psi_final"
    command.refused("compare", one, other, "--out", tmp_path / "drawn")
    none = (
        f"{tmp_path}: given no readable manifest.json; allowed is a result of asyncdp run or sweep"
    )
    assert command.refused("compare", one, tmp_path) == none
