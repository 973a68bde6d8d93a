"""``python -m tests.benchmarks.growth``: CPU time against size, in ``docs/benchmarks.md``.

Each run has a process of its own, in which a small run goes before, so that imports are not in its
CPU time; its peak memory is that of the process. One size grows at a time. The exponent is that of
the last two sizes: of a cost c · size^exponent.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from tests import markdown_tables
from tests.benchmarks.page import PAGE
from tests.benchmarks.ratio import cpu_time, figure
from tests.machine import machine
from tests.markdown_tables import rewritten

GROWTH = ("<!-- growth -->", "<!-- end of growth -->")
CROWD = (131_072, 100_000)
FORMER = "28.2 s and 1.33 GB with the former compiled engine"


@dataclass(frozen=True)
class Axis:
    """A size that grows.

    Attributes
    ----------
    name : str
    sizes : tuple of int
    base : mapping
        The other sizes, where they are not the usual ones.
    limit : str
        What bounds the time of a run at the largest size, by the profile of such a run.
    work : int
        Exponent of the arithmetic.
    """

    name: str
    sizes: tuple[int, ...]
    base: Mapping[str, int]
    limit: str
    work: int = 1


AXES = (
    Axis("owners", (10, 1000, 100_000, 1_000_000), {"records": 4}, "NumPy calls"),
    Axis("updates", (1000, 10_000, 100_000, 1_000_000), {}, "bare loop"),
    Axis("records", (1000, 10_000, 100_000, 1_000_000), {"clip": 1, "updates": 100}, "memory"),
    Axis("features", (8, 32, 128, 512, 1024), {"records": 1000}, "BLAS", work=2),
    Axis("replicates", (1, 10, 100, 1000), {}, "bare loop"),
    Axis("cells", (1, 10, 100, 300), {}, "bare loop, files"),
)


def timed(sizes: Mapping[str, int]) -> tuple[float, float]:
    """Return CPU time (s) and peak memory (MiB) of a run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.growth", json.dumps(dict(sizes))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def measured(sizes: Mapping[str, int]) -> tuple[float, float]:
    """Run a scenario of these sizes in this process; return CPU time (s) and peak memory (MiB)."""
    once({name: 10 for name in sizes})
    began = cpu_time()
    once(sizes)
    spent = cpu_time() - began
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    [peak] = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return spent, peak / 1024


def once(sizes: Mapping[str, int]) -> None:
    """Run a scenario of these sizes."""
    from asyncdp_sim.runs.run import run
    from asyncdp_sim.scenario import Scenario, parse
    from asyncdp_sim.sweeps.sweep import sweep

    updates, cells = sizes.get("updates", 1000), sizes.get("cells", 0)
    bound = {"kind": "clip" if "clip" in sizes else "declared", "bound": 5.0}
    raw: dict[str, Any] = {
        "schema": 1,
        "id": "growth",
        "run": {
            "updates": updates, "record_every": updates, "seed": 1,
            "replicates": sizes.get("replicates", 1),
        },
        "owners": {"count": sizes.get("owners", 10), "records": sizes.get("records", 100)},
        "data": {"kind": "gaussian", "features": sizes.get("features", 10)},
        "model": {"kind": "ridge", "regularisation": 1e-3, "theta_max": 100.0},
        "clock": {"kind": "poisson", "population": "superposed"},
        "privacy": {"epsilon": 1.0, "sensitivity": bound},
        "algorithm": {"kind": "async-gossip", "rho": 1.0},
    }  # fmt: skip
    if cells > 0:
        raw["sweep"] = {"privacy.epsilon": [1 + place / cells for place in range(cells)]}
    scenario = parse(Scenario, raw)
    if cells > 0:
        with tempfile.TemporaryDirectory() as folder:
            sweep(scenario, Path(folder) / "sweep")
    else:
        run(scenario)


def table(found: Mapping[str, list[float]], crowd: tuple[float, float]) -> str:
    """Return the rows in Markdown, and the large run's below them."""
    rows = []
    for axis in AXES:
        times = found[axis.name]
        sizes = ", ".join(f"{size:,}" for size in axis.sizes)
        spent = ", ".join(f"{figure(each)}" for each in times) + " s"
        grown = f"{exponent(axis, times):.2f}, {axis.work}"
        rows.append([axis.name, sizes, spent, grown, axis.limit])
    owners, updates = CROWD
    seconds, peak = crowd
    large = (
        f"{owners:,} owners behind one clock, 20 records each, and {updates:,} updates, learning "
        f"included: {figure(seconds)} s of CPU time and {figure(peak)} MiB; {FORMER}."
    )
    head = ["what grows", "sizes", "CPU time", "exponent, of the work", "limit"]
    return "\n".join([markdown_tables.table(head, rows), "", large, machine()])


def exponent(axis: Axis, times: list[float]) -> float:
    """Return the slope of log time in log size between the two largest sizes."""
    return log(times[-1] / times[-2]) / log(axis.sizes[-1] / axis.sizes[-2])


def main(arguments: list[str]) -> int:
    """Measure all sizes, or print one measurement."""
    if len(arguments) > 0:
        sys.stdout.write(json.dumps(measured(json.loads(arguments[0]))))
        return 0
    found = {
        axis.name: [timed({**axis.base, axis.name: size})[0] for size in axis.sizes]
        for axis in AXES
    }
    crowd = timed({"owners": CROWD[0], "updates": CROWD[1], "records": 20})
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(rewritten(text, table(found, crowd), GROWTH), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
