"""Runs a sweep in a process of its own, and says how much CPU time and memory it took."""

import json
import subprocess
import sys
from dataclasses import dataclass

_CODE = """
import json, resource, sys
from pathlib import Path
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps import sweep
from tests.benchmarks.ratio import cpu_time
if __name__ == "__main__":
    file, directory, workers, *settings = sys.argv[1:]
    scenario, _ = load(Path(file), settings)
    began = cpu_time()
    sweep(scenario, Path(directory), workers=int(workers))
    seconds = cpu_time() - began
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    own = int(status["VmHWM"].split()[0])
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if int(workers) > 1 else 0
    print(json.dumps([seconds, (own + int(workers) * child) / 1024]))
"""


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
