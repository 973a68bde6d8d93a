"""Sweeps that go on after a cell failed or the process was killed, and their variants."""

import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import MachineError, ResultError, SpecError
from asyncdp_sim.reports import answer
from asyncdp_sim.results import Sweep, read_manifest
from asyncdp_sim.runs import problem, replicates
from asyncdp_sim.runs import run as runs
from asyncdp_sim.runs.problem import Problem, drawn_records, few_records
from asyncdp_sim.scenario import Scenario, dump, load
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps import batch
from asyncdp_sim.sweeps.grid import TOGETHER, Cell, batches
from asyncdp_sim.sweeps.status import status
from asyncdp_sim.sweeps.sweep import sweep
from tests import scenes, tables
from tests.cli.scenes import SMALL
from tests.directories import contents
from tests.fresh import fresh_seed
from tests.one_in import one_in
from tests.together import together
from tests.unit.sweeps.conftest import as_if_let_alone, interrupted, whole_cells

TABLE = tables.table(__file__, "failures.toml")

# Cells that fail, disks that are full, two sweeps in one place: nothing is lost.


def failing(epsilon: float, error: Exception) -> Any:
    """Return a preparation that fails where the budget is this one."""

    def of(scenario: Scenario, *how: Any) -> Problem:
        if scenario.privacy.epsilon == epsilon:
            raise error
        return runs.ready(scenario, *how)

    return of


def test_a_cell_that_fails_stops_no_other_and_is_tried_again(scenario, out, monkeypatch):
    nothing = ZeroDivisionError("nothing to divide by")
    with monkeypatch.context() as patch:
        patch.setattr(batch, "ready", failing(2.5, nothing))
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
    assert answer.cells(Sweep.read(out)).note.startswith("4 finished cells, 2 failed. ")
    assert answer.of_sweep(Sweep.read(out)).facts[-1][1:] == ("2 of 4 cells", "2 failed")
    assert [line[:4] for line in result_lines(out)[-5:-1]] == ["0000", "0001", "0004", "0005"]

    before = {path: path.stat().st_mtime_ns for path in out.glob("cell-*/*")}
    assert sweep(scenario, out).failed == {}
    assert all(path.stat().st_mtime_ns == when for path, when in before.items())
    as_if_let_alone(scenario, out)


def test_a_cell_without_room_stops_no_other_and_the_machine_is_to_blame(file, command, monkeypatch):
    monkeypatch.chdir(file.parent)
    asked = ("sweep", file.name, "--out", "result", "--workers", "1")
    with monkeypatch.context() as patch:
        patch.setattr(batch, "ready", failing(2.5, MemoryError()))
        found = command(*asked)
    said = MachineError("more than fits in memory (owners.records or run can be lowered)")
    assert (found.code, found.lines[-1]) == (4, f"{file.name}: cells 2, 3: {said}")
    assert (status(None, Path("result")).done, status(None, Path("result")).machine) == (4, True)
    assert command(*asked).code == 0
    assert not status(None, Path("result")).machine


def test_one_of_several_that_learn_together_fails_alone(scenario, out, monkeypatch):
    outcome_of = runs.outcome_of

    def failing_outcome(given: Problem, *arguments: Any, **named: Any) -> Any:
        if given.scenario.privacy.epsilon == 1.0:
            raise ValueError("this one")
        return outcome_of(given, *arguments, **named)

    monkeypatch.setattr(runs, "outcome_of", failing_outcome)
    found = sweep(scenario, out)
    assert (list(found.failed), found.done) == ([0, 1], 4)


@one_in(5, "after", [0, 5, 20, 33, 46])
def test_a_full_disk_is_said_and_loses_nothing(after, scenario, out, monkeypatch):
    synchronised, fsync = count(1), os.fsync

    def full(file: Any) -> None:
        if next(synchronised) > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(MachineError, match="no space left on device"):
            sweep(scenario, out)
    kept = contents(out)
    assert not any(name.endswith(".tmp") or ".partial" in name for name in kept)
    assert not any(name.startswith("failed") for name in kept)
    assert len(kept) > 0 or after == 0
    sweep(scenario, out)
    as_if_let_alone(scenario, out)


def test_two_sweeps_in_one_place(scenario, out):
    said = []

    def again(*_: object) -> None:
        with pytest.raises(ResultError) as error:
            sweep(scenario, out)
        said.extend(error.value.lines())

    sweep(scenario, out, progress=whole_cells(again))
    line = f"{out}: --out: given a sweep that is running; allowed is one sweep at a time: "
    assert said == [line + "wait for it, or name another --out"] * 6


def only_what_may_be_written(file: Any, _: int) -> None:
    """Lock nothing, and refuse what NFS does: an exclusive lock of a file opened to be read."""
    number = file if isinstance(file, int) else file.fileno()
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def nothing_at_all(*_: Any) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


@pytest.mark.parametrize("locked", [only_what_may_be_written, nothing_at_all])
def test_a_folder_of_a_network_with_its_own_locks_or_none(locked, scenario, out, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", locked)
    assert sweep(scenario, out).left == 0


def test_nobody_waits_for_cells_that_failed(scenario, out):
    """How far a sweep has come: three cells are done, two seconds apart; then one has failed."""
    with pytest.raises(ResultError, match="no sweep"):
        status(scenario, out)
    interrupted(scenario, out)
    for number, name in enumerate(sorted(out.glob("cell-*"))):
        os.utime(name, (2.0 * number, 2.0 * number))
    found = status(scenario, out)
    assert (found.cells, found.done, found.left, found.seconds_left) == (6, 3, 3, 6.0)
    assert found.lines() == [
        "cells      6", "done       3", "failed     0", "not run    3", "time left  about 6 s",
    ]  # fmt: skip
    (out / "failed").mkdir()
    (out / "failed" / "cell-0005.json").write_text('{"cell": 5, "error": "why"}', encoding="utf-8")
    found = status(scenario, out)
    assert (found.done, list(found.failed), found.left, found.seconds_left) == (3, [5], 2, 4.0)


def test_an_interruption_is_no_pace(scenario, out):
    sweep(scenario, out)
    (out / "manifest.json").unlink()
    for number in (4, 5):
        shutil.rmtree(out / f"cell-000{number}")
    for number, when in enumerate((0.0, 1.0, 3.0, 10_000.0)):
        os.utime(out / f"cell-000{number}", (when, when))
    assert status(scenario, out).seconds_left == pytest.approx(2 * 1.5)


# A sweep that is killed, again and again, and goes on.


def killed_and_continued(folder: Path, cells: int, kills: int, seed: int) -> None:
    """Kill a sweep at random moments, and hold what it left against one that was let alone."""
    draw = random.Random(seed)
    epsilons = [0.5 + number for number in range(cells // 4)]
    file, out = folder / "many.toml", folder / "killed"
    swept = f'[sweep]\n"privacy.epsilon" = {epsilons}\n"run.seed" = [3, 4, 5, 6]\n'
    file.write_text(f"{SMALL}\n{swept}", encoding="utf-8")
    command = [sys.executable, "-m", "asyncdp_sim", "sweep", str(file)]
    kept: dict[Path, int] = {}
    for kill in range(kills):
        enough = (kill + draw.random()) * cells / kills
        started = [*command, "--workers", "2", "--out", str(out)]
        running = subprocess.Popen(
            started, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while running.poll() is None and len(list(out.glob("cell-*"))) < enough:
            time.sleep(0.005)
        time.sleep(0.05 * draw.random())
        running.send_signal(signal.SIGKILL)
        running.wait()
        await_workers(running.pid)
        for path in finished(out):
            if path.suffix == ".parquet":
                pq.read_table(path)
            elif path.name == "manifest.json":
                read_manifest(path.parent)
        found = {path: path.stat().st_mtime_ns for path in finished(out) if path.parent != out}
        assert all(found.get(path) == when for path, when in kept.items())  # nothing again
        kept = found
    for place in (out, folder / "whole"):  # whatever the number of workers
        assert sweep(load(file)[0], place).left == 0
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert contents(out) == contents(folder / "whole")


def await_workers(group: int) -> None:
    """Wait until the workers of a killed sweep have noticed and ended, five minutes at most."""
    late = time.monotonic() + 300
    with suppress(ProcessLookupError):
        while time.monotonic() < late:
            os.killpg(group, 0)
            time.sleep(0.02)


def finished(out: Path) -> list[Path]:
    """Return the files that stand under their final names: what is unfinished says so in its name.

    ``cells.parquet`` and ``manifest.json`` in ``out`` itself are made from all cells at the end, so
    a sweep that was killed between the two makes both again.
    """
    files = (path for path in out.rglob("*") if path.is_file())
    return [p for p in files if ".partial" not in str(p.parent) and p.suffix != ".tmp"]


@one_in(2, "moment", ["cells.parquet", "manifest.json"])
def test_killed_while_the_last_files_are_written(moment, scenario, out, monkeypatch):
    """Stop between the write and the rename of each file that closes a sweep; then go on."""
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self == out / f"{moment}.tmp":
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            sweep(scenario, out)
    assert (out / f"{moment}.tmp").exists()
    assert sweep(scenario, out).left == 0
    as_if_let_alone(scenario, out)
    assert sweep(scenario, out).left == 0  # and once more: nothing is left to do


def test_the_record_of_a_failure_that_was_cut_short_is_no_record(scenario, out):
    interrupted(scenario, out)
    (out / "failed").mkdir()
    too_deep = '{"error": ' + "[" * 5000 + "]" * 5000 + "}"
    for name, text in {**TABLE["no_records"], "cell-0003.json": too_deep}.items():
        (out / "failed" / name).write_text(text, encoding="utf-8")
    (out / "failed" / "cell-0002.json.tmp").mkdir()
    os.mkfifo(out / "failed" / "cell-0002.json")
    assert status(scenario, out).failed == {}
    assert sweep(scenario, out).left == 0
    assert not any(name.name.endswith(".tmp") for name in out.rglob("*"))


@pytest.mark.long
def test_what_is_left_is_whole_and_the_end_is_the_same(tmp_path):
    killed_and_continued(tmp_path, 12, 1, seed=1)


@pytest.mark.nightly
def test_a_thousand_cells_killed_fifty_times(tmp_path, record_property):
    record_property("tried", 50)
    killed_and_continued(tmp_path, 1000, 50, fresh_seed())


# Cells of a sweep: variants under a name, batches that learn together, cells that learn live.

VARIANTS = [TABLE["rounds"], {"name": "on request", "run.updates": 8}]


def scenario(**swept: list[Any]) -> Scenario:
    return scenes.scenario(
        run={"updates": 4, "replicates": 2},
        owners={"count": 2, "records": 30},
        algorithm={"rho": 1.0},
        privacy=scenes.EXACT,
        sweep=swept,
    )


def test_a_variant_sets_all_its_paths_and_the_rest_goes_upon_it():
    base = scenario(**{"run.updates": [5, 6], "variant": VARIANTS})
    cells = [base.cell(chosen) for chosen in base.grid()]
    kinds = [(cell.protocol.kind, cell.algorithm.kind, cell.run.updates) for cell in cells]
    assert kinds == [
        ("rounds", "collab-2", 5),
        ("request", "async-gossip", 5),
        ("rounds", "collab-2", 6),
        ("request", "async-gossip", 6),
    ]


def test_a_sweep_is_told_and_read_by_the_names(tmp_path):
    made = scenario(variant=VARIANTS)
    sweep(made, tmp_path / "out")
    opened = Sweep.read(tmp_path / "out")
    names = ["in rounds", "on request"]
    assert [cell.values for cell in opened.cells] == [{"variant": name} for name in names]
    assert opened.cells[0].label(["variant"]) == "in rounds"
    assert opened.cells[1].result.summary["updates"] == 16
    lines = result_lines(tmp_path / "out")
    rows = [line for line in lines if line.startswith("000")]
    assert ["in rounds" in row for row in rows] == [True, False]
    assert "collab" not in "".join(lines)
    again, _ = load(tmp_path / "out" / "scenario.toml")
    assert again.sweep == made.sweep
    assert dump(again, tmp_path) == dump(made, tmp_path)


def test_few_records_are_kept_for_later_sweeps(tmp_path):
    few_records.cache_clear()
    for place in ("one", "two"):
        sweep(scenario(**{"algorithm.rho": [1.0, 2.0]}), tmp_path / place)
    assert few_records.cache_info().misses == 1


def test_of_many_records_two_sets_are_kept(tmp_path, monkeypatch):
    """Two variants of one figure may take turns with two sets."""
    monkeypatch.setattr(problem, "FEW_CELLS", 0)
    drawn_records.cache_clear()
    for place, records in (("one", 30), ("two", 40), ("three", 30), ("four", 40)):
        sweep(scenario(**{"owners.records": [records], "algorithm.rho": [1, 2]}), tmp_path / place)
    assert drawn_records.cache_info().misses == 2


@pytest.mark.parametrize(("values", "said"), TABLE["variants"])
def test_what_is_no_variant_is_refused(values, said):
    with pytest.raises(SpecError) as caught:
        scenario(variant=values)
    assert said in str(caught.value)


def cells(n_records, each, size=8):
    """Return the cells of a network over so many sets of records, so many over each."""
    of = [str(number // each) for number in range(n_records * each)]
    return [Cell(number, {}, None, 1, "n", data, size) for number, data in enumerate(of)]


@together
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize(("n_records", "each"), [(1, 1), (1, 40), (7, 10), (20, 10)])
def test_each_cell_is_in_one_batch_with_its_records(n_records, each, workers):
    found = list(batches(cells(n_records, each), workers))
    assert [cell.number for batch in found for cell in batch] == list(range(n_records * each))
    assert all(len({cell.data for cell in batch}) == 1 for batch in found)
    assert max(map(len, found)) <= TOGETHER


def test_cells_stay_together_where_all_workers_have_others():
    assert [len(batch) for batch in batches(cells(8, 10), 2)] == [10] * 8
    assert [len(batch) for batch in batches(cells(7, 10), 2)] == [5] * 14
    assert [len(batch) for batch in batches(cells(1, 10), 4)] == [3, 3, 3, 1]


def test_cells_with_large_curves_learn_one_by_one():
    assert [len(batch) for batch in batches(cells(1, 3, size=2**30), 1)] == [1, 1, 1]


@pytest.mark.parametrize("first", ["replay", "live"])
def test_live_cells_learn_live(first, scenario, tmp_path, monkeypatch):
    """Their results are the same, so that nothing but the calls can tell."""
    live = []

    def counted(network: Any, task: Any, *given: Any, **how: Any) -> Any:
        live.append(task)
        return live_all(network, task, *given, **how)

    live_all = replicates.live_all
    monkeypatch.setattr(replicates, "live_all", counted)
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
