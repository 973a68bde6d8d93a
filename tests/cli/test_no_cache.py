"""``--no-cache``: synthetic records are drawn anew, and none are kept; nothing else changes."""

from pathlib import Path

import pytest

from asyncdp_sim.data.kept import VARIABLE, origin
from tests.cli.command import Command

SMALL = (
    "--replicates",
    "1",
    "--set",
    "run.updates=5",
    "--set",
    "owners.records=50",
    "--set",
    "data.public_records=200",
)


def test_records_are_kept_unless_the_command_says_no(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "LEAST", 0)
    models = []
    for name, options, kept in (("a", ("--no-cache",), 0), ("b", (), 1), ("c", (), 1)):
        monkeypatch.setenv(VARIABLE, str(tmp_path / "kept"))
        command.done("run", "lending-sound", *SMALL, *options, "--out", tmp_path / name)
        assert len(list(tmp_path.glob("kept/*"))) == kept
        models.append((tmp_path / name / "models.parquet").read_bytes())
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize("name", ["sweep", "check", "forecast", "audit", "replay", "play-release"])
def test_every_command_that_draws_records_can_keep_none(name: str, command: Command) -> None:
    assert "--no-cache" in command.done(name, "--help").out
