"""Cells that fail, disks that are full, two sweeps in one place: nothing is lost."""

import errno
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import MachineError, ResultError
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs import Ready
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps import status, sweep
from tests.one_in import one_in
from tests.unit.sweeps.conftest import as_if_let_alone, contents
from tests.unit.sweeps.told import interrupted, whole_cells

prepare = Ready.from_scenario.__func__  # type: ignore[attr-defined]


NOTHING = ZeroDivisionError("nothing to divide by")


def failing(epsilon: float, error: Exception = NOTHING) -> Any:
    """Return a preparation that fails where the budget is this one."""

    def of(cls: type[Ready], scenario: Scenario, *how: Any) -> Ready:
        if scenario.privacy.epsilon == epsilon:
            raise error
        ready: Ready = prepare(cls, scenario, *how)
        return ready

    return classmethod(of)


def test_a_cell_that_fails_stops_no_other_and_is_tried_again(scenario, tmp_path, monkeypatch):
    out = tmp_path / "result"
    with monkeypatch.context() as patch:
        patch.setattr(Ready, "from_scenario", failing(2.5))
        found = sweep(scenario, out)
    assert (found.done, found.left, list(found.failed)) == (4, 0, [2, 3])
    [line] = found.errors()
    assert line.startswith("cells 2, 3: ZeroDivisionError: nothing to divide by (in of, line ")
    table = pq.read_table(out / "cells.parquet").to_pydict()
    assert table["status"] == ["done", "done", "failed", "failed", "done", "done"]
    assert table["error"][1] is None
    assert table["error"][2].startswith("ZeroDivisionError")
    assert table["private"][2] is None
    assert table["psi_final.mean"][2] is None
    assert set(read_manifest(out)["failed"]) == {"cell-0002", "cell-0003"}
    [*_, one, two, three, four, _] = result_lines(out)
    assert [line[:4] for line in (one, two, three, four)] == ["0000", "0001", "0004", "0005"]

    before = {path: path.stat().st_mtime_ns for path in out.glob("cell-*/*")}
    assert sweep(scenario, out).failed == {}
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    as_if_let_alone(scenario, out)


def test_a_cell_without_room_stops_no_other_and_the_machine_is_to_blame(file, command, monkeypatch):
    monkeypatch.chdir(file.parent)
    asked = ("sweep", file.name, "--out", "result", "--workers", "1")
    with monkeypatch.context() as patch:
        patch.setattr(Ready, "from_scenario", failing(2.5, MemoryError()))
        found = command(*asked)
    said = MachineError("more than fits in memory (owners.records or run can be lowered)")
    assert (found.code, found.lines[-1]) == (4, f"{file.name}: cells 2, 3: {said}")
    assert (status(None, Path("result")).done, status(None, Path("result")).machine) == (4, True)
    assert command(*asked).code == 0
    assert not status(None, Path("result")).machine


def test_one_of_several_that_learn_together_fails_alone(scenario, tmp_path, monkeypatch):
    outcome = Ready.outcome

    def failing_outcome(self: Ready, *arguments: Any, **named: Any) -> Any:
        if self.scenario.privacy.epsilon == 1.0:
            raise ValueError("this one")
        return outcome(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Ready, "outcome", failing_outcome)
        found = sweep(scenario, tmp_path / "result")
    assert list(found.failed) == [0, 1]
    assert found.done == 4


@one_in(5, "after", [0, 5, 20, 33, 46])
def test_a_full_disk_is_said_and_loses_nothing(after, scenario, tmp_path, monkeypatch):
    synchronised: list[int] = []
    fsync = os.fsync

    def full(file: Any) -> None:
        synchronised.append(1)
        if len(synchronised) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MachineError, match="no space left on device"):
            sweep(scenario, tmp_path / "result")
    kept = contents(tmp_path / "result") if (tmp_path / "result").exists() else {}
    assert not any(name.endswith(".tmp") or ".partial" in name for name in kept)
    assert not any(name.startswith("failed") for name in kept)
    assert len(kept) > 0 or after == 0
    sweep(scenario, tmp_path / "result")
    as_if_let_alone(scenario, tmp_path / "result")


def test_two_sweeps_in_one_place(scenario, tmp_path):
    out = tmp_path / "result"
    said: list[str] = []

    def again(*_: object) -> None:
        with pytest.raises(ResultError) as error:
            sweep(scenario, out)
        said.extend(error.value.lines())

    sweep(scenario, out, progress=whole_cells(again))
    line = f"{out}: --out: given a sweep that is running; allowed is one sweep at a time: "
    assert said == [line + "wait for it, or name another --out"] * 6


def three_of_six(scenario: Scenario, out: Path) -> None:
    """Leave a sweep of which three cells are done, two seconds apart."""
    interrupted(scenario, out)
    for number, name in enumerate(sorted(out.glob("cell-*"))):
        os.utime(name, (2.0 * number, 2.0 * number))


def test_how_far_it_has_come(scenario, tmp_path):
    out = tmp_path / "result"
    with pytest.raises(ResultError, match="no sweep"):
        status(scenario, out)
    three_of_six(scenario, out)
    found = status(scenario, out)
    assert (found.cells, found.done, found.left, found.seconds_left) == (6, 3, 3, 6.0)
    assert found.lines() == [
        "cells      6", "done       3", "failed     0", "not run    3", "time left  about 6 s",
    ]  # fmt: skip


def test_nobody_waits_for_cells_that_failed(scenario, tmp_path):
    """One has failed: two are left, four seconds."""
    out = tmp_path / "result"
    three_of_six(scenario, out)
    (out / "failed").mkdir()
    (out / "failed" / "cell-0005.json").write_text('{"cell": 5, "error": "why"}', encoding="utf-8")
    found = status(scenario, out)
    assert (found.done, list(found.failed), found.left, found.seconds_left) == (3, [5], 2, 4.0)


def test_an_interruption_is_no_pace(scenario, tmp_path):
    out = tmp_path / "result"
    sweep(scenario, out)
    (out / "manifest.json").unlink()
    for number in (4, 5):
        for path in (out / f"cell-000{number}").iterdir():
            path.unlink()
        (out / f"cell-000{number}").rmdir()
    for number, when in enumerate((0.0, 1.0, 3.0, 10_000.0)):
        os.utime(out / f"cell-000{number}", (when, when))
    assert status(scenario, out).seconds_left == pytest.approx(2 * 1.5)
