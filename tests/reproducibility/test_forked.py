"""A forked process runs what its parent ran: it inherits no thread, executor or lock in use."""

import multiprocessing
import os
from pathlib import Path

import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.files import synchronise

WAITED = 60.0
"""Seconds; a child that inherits threads waits for them without end."""


def _again(scenario: ad.Scenario, before: Path, directory: Path) -> None:
    again = ad.run(scenario, out=directory)
    synchronise(directory.glob("*.parquet"))
    same = ad.open(before).curve.equals(ad.open(directory).curve)
    os._exit(0 if same and len(again.updates) > 0 else 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_writes_and_reads_a_result(tmp_path: Path):
    """Found by attack: 9 of 10 children waited for the threads that had synchronised files."""
    small = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})
    before = tmp_path / "parent"
    ad.run(small, out=before)
    synchronise(before.glob("*.parquet"))  # many at a time, as a sweep does
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=_again, args=(small, before, tmp_path / f"child-{number}"))
        for number in range(2)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(WAITED)
    stuck = [child for child in children if child.is_alive()]
    for child in stuck:
        child.kill()
    assert stuck == []
    assert [child.exitcode for child in children] == [0, 0]
