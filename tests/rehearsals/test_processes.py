"""Real processes: one that is killed ends the rehearsal; none outlives the command."""

import os
import signal
import subprocess
import time
from contextlib import closing

import pytest

from asyncdp_sim.core.errors import MachineError
from asyncdp_sim.rehearsals.processes import Crew
from asyncdp_sim.scenario import dump
from tests.cli.command import PROGRAM
from tests.rehearsals.scenes import order_of, scenario

pytestmark = pytest.mark.long


@pytest.mark.parametrize("whose", ["the learner", "owner 2"])
def test_a_process_that_is_killed_ends_it_with_one_line(whose):
    def kill(_: int) -> None:
        process = working.owners[2] if whose == "owner 2" else working.learner
        os.kill(process.pid or 0, signal.SIGKILL)

    killed = pytest.raises(MachineError, match=f"the process of {whose} was killed")
    with closing(Crew(order_of(scenario(), unit=0.3), kill)) as working, killed:
        working.run()


def members(session: int) -> list[int]:
    """Return the processes of a session."""
    asked = subprocess.run(
        ["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in asked.stdout.split()]


ALL = 8
"""The command, Python's two servers of processes, the learner and four owners. Killed while it is
starting one, the command would leave a server with half of an order, which says so."""


def test_no_process_outlives_the_command(tmp_path):
    file = tmp_path / "long.toml"
    file.write_text(dump(scenario(run={"updates": 10_000, "seed": 3}), tmp_path))
    words = [PROGRAM, "rehearse", file, "--unit", "0.5", "--out", tmp_path / "out"]
    with (tmp_path / "said.txt").open("w") as said:
        began = subprocess.Popen(words, start_new_session=True, cwd=tmp_path, stderr=said)
    until = time.monotonic() + 120
    while len(members(began.pid)) < ALL and time.monotonic() < until:
        time.sleep(0.1)
    there = len(members(began.pid))
    began.kill()
    began.wait()
    assert there >= ALL
    while len(members(began.pid)) > 0 and time.monotonic() < until:
        time.sleep(0.1)
    assert members(began.pid) == []
    [note, *_] = (tmp_path / "said.txt").read_text().splitlines()
    assert note.startswith("note: about ")


def test_the_command_writes_what_replay_makes_again(command, tmp_path):
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(dump(scenario(run={"updates": 10, "replicates": 2, "seed": 3}), tmp_path))
    said = command.done("rehearse", file, "--unit", "0.05", "--out", out).out
    assert "simulated  measured" in said
    assert "rehearsed            with real processes; a time unit took 0.05 s" in said
    assert "reproduced" in command.done("replay", out).out
    again = command.done("rehearse", file, "--unit", "0.05", "--out", out).out
    assert "already finished" in again
    simulated = tmp_path / "simulated"
    command.done("run", file, "--out", simulated)
    assert "paired by replicate" in command.done("compare", simulated, out).out
    command.done("report", out)
    refused = command("run", file, "--out", out)
    assert (refused.code, len(refused.lines)) == (2, 1)
    assert "an existing path, a rehearsal, not a simulation" in refused.err
    (out / "traces" / "exchanges.parquet").write_bytes(b"no table")
    damaged = command("replay", out)
    assert (damaged.code, len(damaged.lines)) == (2, 1)
    assert "no readable traces" in damaged.err
