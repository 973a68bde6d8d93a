"""Workers: what becomes of the work when one is killed or the machine runs out of something."""

import errno
import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from threading import Thread

import pytest

from asyncdp_sim.core import files
from asyncdp_sim.core.errors import MachineError
from asyncdp_sim.runs.replicates import processes
from tests.cli.scenes import SMALL

FILES = {"small.toml": SMALL}


def killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deaf(_: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.long
def test_a_worker_never_hears_ctrl_c():
    """Found by attack: those that were importing printed tracebacks, as a terminal asks all."""
    with processes(2) as two:
        assert two.map(deaf, [1, 2]) == [True, True]
    assert not deaf(0)


@pytest.mark.long
def test_a_killed_worker_is_named():
    with pytest.raises(MachineError, match="a worker process was killed"), processes(2) as two:
        two.map(killed, [1, 2])


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (MachineError("a worker process was killed"), "a worker process was killed"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "too many open files"),
        (MemoryError(), "more than fits in memory (owners.records or run can be lowered)"),
        (
            ImportError("libarrow.so: failed to map segment from shared object"),
            "no room in memory (failed to map segment)",
        ),
        (RuntimeError("can't start new thread"), "no room in memory (can't start new thread)"),
    ],
    ids=["worker", "open files", "memory", "library", "thread"],
)
def test_the_command_says_so_in_one_line(raised, said, command, here, monkeypatch):
    """Whatever the command: ``run`` stands for all, as they have one end."""

    def fails(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("asyncdp_sim.runs.replicates.simulate_all", fails)
    found = command("run", "small.toml", "--out", "r")
    kept = "finished work is kept; run the same command again to continue"
    assert found.code == 4
    assert found.lines == [f"asyncdp: the machine gave way: {said}; {kept}"]
    assert not (here / "r").exists()


def test_a_worker_that_was_just_starting_when_another_was_killed_ends_too():
    """The pool does not know it yet; the program would wait for it at its end, for ever."""
    late = get_context("spawn").Process(target=time.sleep, args=(600,))

    def one_is_killed() -> None:
        late.start()
        raise BrokenProcessPool

    with pytest.raises(MachineError, match="was killed"), processes(2):
        one_is_killed()
    late.join(60)
    assert late.exitcode == -signal.SIGTERM


def test_files_are_waited_for_one_by_one_where_no_thread_starts(monkeypatch, tmp_path):
    def fails(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    waited = []
    monkeypatch.setattr(Thread, "start", fails)
    monkeypatch.setattr("os.fsync", waited.append)
    written = [tmp_path / name for name in "ab"]
    for file in written:
        file.write_bytes(b"")
    files.synchronise(iter(written))
    assert len(waited) == 2
