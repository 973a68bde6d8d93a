"""A sweep that is killed, again and again, and goes on."""

import random
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.result import read_manifest
from tests.cli.scenes import SMALL
from tests.unit.sweep.conftest import contents


def killed_and_continued(folder: Path, cells: int, kills: int, seed: int) -> None:
    """Kill a sweep at random moments, and hold what it left against one that was let alone."""
    draw = random.Random(seed)
    epsilons = [0.5 + number for number in range(cells // 4)]
    file, out = folder / "many.toml", folder / "killed"
    swept = f'[sweep]\n"privacy.epsilon" = {epsilons}\n"run.seed" = [3, 4, 5, 6]\n'
    file.write_text(f"{SMALL}\n{swept}", encoding="utf-8")
    command = [sys.executable, "-m", "asyncdp_sim", "sweep", str(file), "--workers", "2", "--out"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    kept: dict[Path, int] = {}
    for kill in range(kills):
        enough = (kill + draw.random()) * cells / kills
        running = subprocess.Popen([*command, str(out)], **quiet)  # type: ignore[call-overload]
        while running.poll() is None and len(list(out.glob("cell-*"))) < enough:
            time.sleep(0.005)
        time.sleep(0.05 * draw.random())
        running.send_signal(signal.SIGKILL)
        running.wait()
        time.sleep(0.3)  # its workers notice, and end too
        found = {path: path.stat().st_mtime_ns for path in finished(out)}
        assert all(found.get(path) == when for path, when in kept.items())  # nothing again
        for path in found.keys() - kept.keys():
            assert not path.name.endswith(".tmp")
            if path.suffix == ".parquet":
                pq.read_table(path)
            elif path.suffix == ".json":
                read_manifest(path.parent)
        kept = found
    subprocess.run([*command, str(out)], **quiet, check=True)  # type: ignore[call-overload]
    subprocess.run([*command, str(folder / "whole")], **quiet, check=True)  # type: ignore[call-overload]
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert contents(out) == contents(folder / "whole")


def finished(out: Path) -> list[Path]:
    return [p for p in out.rglob("*") if p.is_file() and ".partial" not in str(p.parent)]


def test_what_is_left_is_whole_and_the_end_is_the_same(tmp_path: Path) -> None:
    killed_and_continued(tmp_path, 16, 2, seed=1)


@pytest.mark.nightly
def test_a_thousand_cells_killed_fifty_times(tmp_path: Path) -> None:
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    killed_and_continued(tmp_path, 1000, 50, seed)
