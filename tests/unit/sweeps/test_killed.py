"""A sweep that is killed, again and again, and goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results import read_manifest
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps import status, sweep
from tests.cli.scenes import SMALL
from tests.fresh import fresh_seed
from tests.one_in import one_in
from tests.unit.sweeps.conftest import as_if_let_alone, contents
from tests.unit.sweeps.told import interrupted


def killed_and_continued(folder: Path, cells: int, kills: int, seed: int) -> None:
    """Kill a sweep at random moments, and hold what it left against one that was let alone."""
    draw = random.Random(seed)
    epsilons = [0.5 + number for number in range(cells // 4)]
    file, out = folder / "many.toml", folder / "killed"
    swept = f'[sweep]\n"privacy.epsilon" = {epsilons}\n"run.seed" = [3, 4, 5, 6]\n'
    file.write_text(f"{SMALL}\n{swept}", encoding="utf-8")
    command = [sys.executable, "-m", "asyncdp_sim", "sweep", str(file)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    kept: dict[Path, int] = {}
    for kill in range(kills):
        enough = (kill + draw.random()) * cells / kills
        started = [*command, "--workers", "2", "--out", str(out)]
        running = subprocess.Popen(started, start_new_session=True, **quiet)  # type: ignore[call-overload]
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
def test_killed_while_the_last_files_are_written(moment, scenario, tmp_path, monkeypatch):
    """Stop between the write and the rename of each file that closes a sweep; then go on."""
    out, rename = tmp_path / "killed", Path.rename

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


def test_the_record_of_a_failure_that_was_cut_short_is_no_record(scenario, tmp_path):
    out = tmp_path / "killed"
    interrupted(scenario, out)
    (out / "failed").mkdir()
    records = {
        "5.json.tmp": '{"cell": 5, "err',
        "1.json.tmp": '{"cell": 1, "error": "of a cell that is finished"}',
        "3.json": '{"error": ' + "[" * 5000 + "]" * 5000 + "}",
        "5.json": '{"cell"',
        "4.json": "[]",
        "-x.json": "{}",
    }
    for name, text in records.items():
        (out / "failed" / f"cell-000{name}").write_text(text, encoding="utf-8")
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
