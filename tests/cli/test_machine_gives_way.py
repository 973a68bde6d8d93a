"""A worker that is killed, too few open files or addresses, little memory: one line, exit 4."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.command import PROGRAM, Command
from tests.cli.scenes import SMALL, SWEEP
from tests.tables import table

CLIPPED = 'sensitivity = { kind = "clip", bound = 1.0 }'
POISSON = SMALL.replace('kind = "gamma"\nrate = 1.0\ncv = 0.5', 'kind = "poisson"\nrate = 1.0')
TABLE = table(__file__, "machine_gives_way.toml")
COMMANDS = TABLE["commands"]
ALWAYS = "run"
"""What is tried outside the nightly run: starting a program twice over takes seconds."""
NAMES = [
    pytest.param(name, marks=pytest.mark.long if name == ALWAYS else pytest.mark.nightly)
    for name in COMMANDS
]
LATE = 600.0
KEPT = "finished work is kept; run the same command again to continue\n"


@pytest.fixture
def here(here: Path, command: Command) -> Path:
    texts = {"small": SMALL, "sweep": SWEEP}
    texts["poisson"] = POISSON.replace(CLIPPED, CLIPPED.replace("clip", "declared"))
    for name, text in texts.items():
        (here / f"{name}.toml").write_text(text, encoding="utf-8")
    command.done("run", "small.toml", "--out", "run")
    command.done("sweep", "sweep.toml", "--out", "swept")
    return here


def started(name, here, files=1024, addresses=resource.RLIM_INFINITY):
    """Start a command with two workers, which may hold so many files open, and bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    words = [PROGRAM, *COMMANDS[name], "--workers", "2"]
    return subprocess.Popen(
        words, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=limit,
    )  # fmt: skip


def worker_of(program: subprocess.Popen[str]) -> int | None:
    """Wait for a worker of a program; None where it ended without one."""
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    late = time.monotonic() + LATE
    while program.poll() is None and time.monotonic() < late:
        for child in children.read_text(encoding="utf-8").split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.01)
    return None


def ended(program: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for its exit code and what it printed; how long it would take is no part of that."""
    _, said = program.communicate(timeout=LATE)
    lines = said.splitlines(keepends=True)
    return program.returncode, "".join(line for line in lines if not line.startswith("note: "))


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_is_killed(name, here):
    program = started(name, here)
    worker = worker_of(program)
    assert worker is not None, program.communicate()
    os.kill(worker, signal.SIGKILL)
    given = "asyncdp: the machine gave way: a worker process was killed (for want of memory?); "
    assert ended(program) == (4, given + KEPT)


@pytest.mark.parametrize("name", NAMES)
def test_too_few_open_files(name, here):
    code, said = ended(started(name, here, files=12))
    assert (code, len(said.splitlines())) == (4, 1)
    assert said.startswith("asyncdp: the machine gave way: ")
    assert said.endswith(f"too many open files; {KEPT}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mebibytes", [96, 256, 384])
def test_little_address_space(name, mebibytes, here):
    """OpenBLAS, which would ask for ever, end the program or interrupt it, is not asked."""
    program = started(name, here, addresses=mebibytes << 20)
    _, said = program.communicate(timeout=LATE)
    least = 192 if mebibytes < 192 else 640
    given = f"asyncdp: the machine gave way: address space is limited to {mebibytes} MiB"
    assert (program.returncode, said) == (4, f"{given} (ulimit -v), and this takes {least}; {KEPT}")
