"""The number of threads that may compute, here and in workers."""

import os
import sys

import pytest

from asyncdp_sim.runs.workers import processes
from asyncdp_sim.threads import LIMIT, cores


@pytest.fixture(autouse=True)
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the machine had four cores."""
    monkeypatch.setenv(LIMIT, "4")


def test_threads_are_as_many_as_one_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() == 4
    monkeypatch.setenv(LIMIT, "1")
    assert cores() == 1
    for nothing in ("", "0", "many"):
        monkeypatch.setenv(LIMIT, nothing)
        found = cores()
        assert 1 <= found <= (os.cpu_count() or 1)
        if sys.platform == "linux":
            assert found == len(os.sched_getaffinity(0))


def test_workers_share_the_cores() -> None:
    """Four of them among two processes; one each among five."""
    for workers, share in [(2, 2), (5, 1)]:
        with processes(workers) as mapped:
            assert mapped(_cores, [0]) == [share]


def _cores(_: int) -> int:
    return cores()
