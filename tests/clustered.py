"""A Dask scheduler and workers of one thread each, as processes on loopback."""

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

DASK = Path(sys.executable).parent / "dask"
Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Clustered:
    """What was started.

    Attributes
    ----------
    address : str
        Of the scheduler.
    scheduler : Popen
    workers : list of Popen
    """

    address: str
    scheduler: Process
    workers: list[Process]


@contextmanager
def clustered(
    workers: int, folder: Path, scheduler: Sequence[str] = ("scheduler",), protocol: str = "tcp"
) -> Iterator[Clustered]:
    """Start a scheduler and so many workers below a folder, and kill them at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"{protocol}://127.0.0.1:{port}"
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    commands = [[DASK, *scheduler, *local, "--port", str(port)]]
    commands += [[DASK, "worker", address, *local, "--no-nanny", "--nthreads", "1"]] * workers
    started = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        for command in commands
    ]
    try:
        yield Clustered(address, started[0], started[1:])
    finally:
        for process in started:
            process.kill()
            process.wait()
