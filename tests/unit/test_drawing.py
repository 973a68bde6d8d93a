"""Pictures that other processes draw: the same files, and what becomes of theirs that fail."""

import os
import signal
import sys
from pathlib import Path

import pytest

import asyncdp_sim as ad
from asyncdp_sim.drawing import artists
from asyncdp_sim.errors import MachineError, ResultError
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.runs.workers import InProcess
from asyncdp_sim.threads import LIMIT
from tests.cli.scenes import SMALL


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    return Path(ad.run(ad.load(folder / "small.toml"), out=folder / "result").directory)


def drawn(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shares_are_the_whole(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three processes, a picture in turn to each: files, their order and notes are those of one."""
    monkeypatch.setenv(LIMIT, "3")
    alone = draw_all(result, why="elsewhere", folder=tmp_path / "alone")
    assert len(alone.pictures) > 3
    with artists() as several:
        assert not isinstance(several.pool, InProcess)
        found = several.draw(result, why="elsewhere", folder=tmp_path / "shared")
    assert [path.name for path in found.pictures] == [path.name for path in alone.pictures]
    assert {path.parent for path in found.pictures} == {tmp_path / "shared"}
    assert found.notes == alone.notes
    assert drawn(tmp_path / "shared") == drawn(tmp_path / "alone")


@pytest.mark.parametrize(("may", "workers"), [(1, 1), (2, 2), (2, 3)])
def test_where_the_work_takes_all_cores_this_process_draws(
    may: int, workers: int, result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, str(may))
    with artists(workers) as one:
        assert isinstance(one.pool, InProcess)
        found = one.draw(result, folder=tmp_path / "figures")
    assert all(path.exists() for path in found.pictures)


def test_what_cannot_be_drawn_is_the_callers_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "2")
    with artists() as several, pytest.raises(ResultError) as raised:
        several.draw(tmp_path)
    [line] = raised.value.lines()
    assert line.startswith(f"{tmp_path}: ")


def test_an_artist_begins_with_what_every_picture_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server of all artists has read it and drawn once; here nothing of it is read."""
    monkeypatch.setenv(LIMIT, "2")
    with artists() as several:
        assert several.pool.submit(_prepared).result() == (True, True, True)


def _prepared() -> tuple[bool, bool, bool]:
    """Return whether this process can read tables, tell intervals, and write formulas at once."""
    mathtext = sys.modules.get("matplotlib.mathtext")
    grammar = None if mathtext is None else mathtext.MathTextParser._parser
    return "pyarrow.parquet" in sys.modules, "scipy.special" in sys.modules, grammar is not None


def test_an_artist_that_is_killed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "2")
    with pytest.raises(MachineError, match="a worker process was killed"), artists() as several:
        several.pool.submit(_killed).result()


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
