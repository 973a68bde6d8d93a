"""Real processes: killed in the middle, alone and all at once; none outlives the command."""

import os
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from asyncdp_sim.errors import MachineError
from asyncdp_sim.rehearsals.crew import LIVES, Crew
from asyncdp_sim.scenario import dump
from tests.cli.command import PROGRAM, Command
from tests.rehearsals.scenes import WAYS, order_of, scenario
from tests.rehearsals.test_semantics import require_sound

pytestmark = pytest.mark.long
CAPPED = WAYS["budget"] | {"run": {"updates": 40, "seed": 3}}


class Killing:
    """Has an owner's process killed, whenever the learner tells how far it is."""

    def __init__(self, working: Crew, owner: int, times: int) -> None:
        self.working, self.owner, self.times, self.done = working, owner, times, 0

    def __call__(self, _: int) -> None:
        process = self.working.owners.get(self.owner)
        if self.done < self.times and process is not None:
            self.done += 1
            os.kill(process.pid or 0, signal.SIGKILL)


@pytest.mark.parametrize("times", [1, LIVES + 1])
def test_an_owner_that_is_killed_comes_back_or_is_gone(times: int, tmp_path: Path) -> None:
    order = order_of(scenario(**CAPPED), tmp_path, unit=0.5)
    with closing(Crew(order)) as working:
        killing = working._tell = Killing(working, 2, times)
        found = working.run()
        assert killing.done >= 1
        assert working.restarts <= min(killing.done, LIVES - 1)
    require_sound(order, found)


def test_a_learner_that_is_killed_ends_it_with_one_line(tmp_path: Path) -> None:
    order = order_of(scenario(), tmp_path, unit=0.3)
    with closing(Crew(order)) as working:
        working._tell = lambda _: os.kill(working.learner.pid or 0, signal.SIGKILL)
        with pytest.raises(MachineError, match="the process of the learner was killed"):
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


def test_no_process_outlives_the_command(tmp_path: Path) -> None:
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
    assert (tmp_path / "said.txt").read_text() == ""


def test_the_command_writes_what_replay_makes_again(command: Command, tmp_path: Path) -> None:
    file, out = tmp_path / "small.toml", tmp_path / "out"
    file.write_text(dump(scenario(run={"updates": 10, "replicates": 2, "seed": 3}), tmp_path))
    said = command.done("rehearse", file, "--unit", "0.05", "--out", out).out
    assert "simulated  measured" in said
    assert "a unit of time took 0.05 s" in said
    assert "rehearsed            by real processes, a unit of time took 0.05 s" in said
    assert "reproduced" in command.done("replay", out).out
    again = command.done("rehearse", file, "--unit", "0.05", "--out", out).out
    assert "finished before" in again
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
