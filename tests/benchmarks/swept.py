"""Runs a sweep in a process of its own, and says how much CPU time and memory it took."""

import json
import subprocess
import sys
from dataclasses import dataclass

from tests.tables import table

TABLE = table(__file__, "swept.toml")
_CODE = TABLE["code"]


@dataclass(frozen=True)
class Swept:
    """What a sweep took.

    Attributes
    ----------
    seconds : float
        CPU time of the sweep and of its workers, its own start-up apart.
    peak_mib : float
        The peak of its own process, and with several workers that of the largest child for each
        of them: no less than the peak of all processes together. Its own is VmHWM, since
        ru_maxrss of a process begins with what its parent held.
    """

    seconds: float
    peak_mib: float


def swept(file, directory, *, workers, settings=()):
    """Run a scenario file's sweep into a directory."""
    done = subprocess.run(
        [sys.executable, "-c", _CODE, file, directory, str(workers), *settings],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Swept(*json.loads(done.stdout))
