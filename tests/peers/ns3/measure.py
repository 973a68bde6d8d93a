"""Figures of ns-3 for the same networks: ``python -m tests.peers.ns3.measure [PROGRAM [PART]]``.

The C++ programs beside this file are compiled against the headers and libraries of the wheel
``ns3`` (``pip install ns3``, or the environment variable NS3 names its folder), with g++. Each cell
is run with several seeds; ``figures.json`` keeps the mean and its standard error. It takes two
hours of a processor; a PART of a cell's name measures these cells alone.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import product
from math import log, log1p, sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
SEEDS = (1, 2, 3, 4)
OWNERS = (2, 5, 10, 20)
WINDOWS = {"16-1024": (16, 1024), "4-8": (4, 8)}
HEARD = {"DIFS": 1, "EIFS": 0}
"""How long others wait after a collision → whether stations detect preambles."""
Cell = tuple[Any, ...]


class Wired(NamedTuple):
    """A cell of TCP: its owners answer by one protocol, over one link, at one load."""

    protocol: str
    owners: int
    size: int
    load: float
    answers: int
    attributes: tuple[str, ...] = ()
    queries: str = "same"
    unequal: bool = False


SPEED = 10e6 / 8
"""Bytes per second of the shared link."""
NO_DROPS = "ns3::FqCoDelQueueDisc::Target", "1000s", "ns3::FqCoDelQueueDisc::Interval", "1000s"
FAIR = "ns3::DropTailQueue<Packet>::MaxSize", "1p"
CHANGED = {
    "window of 1000": ("ns3::TcpSocket::InitialCwnd", "1000"),
    "no drops": NO_DROPS,
    "no drops, fair": (*NO_DROPS, *FAIR),
}
"""What else ns-3 was set to, for its causes: without a device's queue connections send in turn."""
APART: dict[str, tuple[str, tuple[str, ...]]] = {
    "connections for queries": ("connection", ()),
    "connections for queries, fair": ("connection", FAIR),
    "a link for queries": ("link", ()),
    "a link for queries, no drops, fair": ("link", (*NO_DROPS, *FAIR)),
}
"""Queries apart from answers: their way, and what else ns-3 was set to."""


def cells(program: str) -> Iterator[tuple[str, Cell]]:
    """Yield the name of each cell of a program, and its arguments without the seed."""
    if program == "aloha":
        for stations, load in product((3, 20), (0.1, 0.5, 1.0)):
            yield f"N={stations} G={load:g}", (stations, load, 50_000)
    elif program == "csma":
        for load in (0.3, 1.0, 3.0):
            yield f"N=20 G={load:g}", (20, load, 20_000)
    elif program == "dcf":
        for (heard, detects), (name, ends), stations in product(
            HEARD.items(), WINDOWS.items(), OWNERS
        ):
            yield f"{heard} {name} N={stations}", (stations, *ends, detects, 4)
    elif program == "lossy":
        for loss, most in product((0.1, 0.3, 0.6), (1, 2, 4)):
            yield f"loss={loss:g} at most {most}", (loss, most, 5_000)
    else:
        yield from wired()


def wired() -> Iterator[tuple[str, Wired]]:
    """Yield the cells of TCP."""
    large = 1_000_000
    sizes = (
        (1000, (0.1, 0.5, 0.9), {"push": 5000, "request": 2000, "broadcast": 5000}),
        (large, (0.5, 0.9), {"push": 400, "request": 150, "broadcast": 200}),
        (large, (0.1,), {"push": 200, "request": 75, "broadcast": 100}),
    )
    for size, loads, protocols in sizes:
        for (protocol, answers), owners, load in product(protocols.items(), (3, 10, 40), loads):
            name = f"{protocol} {size} B N={owners} load={load:g}"
            yield name, Wired(protocol, owners, size, load, answers)
    for (size, load), owners in product(((1000, 1.0), (large, 1.0), (large, 0.1)), (3, 10, 40)):
        name = f"rounds {size} B N={owners}" + " load=0.1" * (load < 1)
        yield name, Wired("rounds", owners, size, load, 5000 if size == 1000 else 240)
    for protocol, answers in sizes[1][2].items():
        cell = Wired(protocol, 10, large, 0.9, answers, unequal=True)
        yield f"{protocol} 1000000 B N=10 load=0.9, unequal clocks", cell
    for cause, (way, attributes) in APART.items():
        cell = Wired("broadcast", 10, large, 0.9, 200, attributes, way)
        yield f"broadcast 1000000 B N=10 load=0.9, {cause}", cell
    for name, attributes in CHANGED.items():
        cell = Wired("push", 10, large, 0.5, 400, attributes)
        yield f"push 1000000 B N=10 load=0.5, {name}", cell
    for size, load in ((40, 0.01), (1000, 0.01), (large, 0.5)):
        yield f"push {size} B alone", Wired("push", 1, size, load, 50)


def span(cell: Wired) -> tuple[float, float, float]:
    """Return what a cell of TCP leaves out, its end, and a mean time between an owner's ticks.

    In seconds. The load is ticks of all clocks per time in which the link carries an answer's bytes
    (``request``: per time of a query and an answer that are alone). Owners' clocks tick once
    between two broadcasts, on average.
    """
    carried = cell.size / SPEED
    each = 2 * (carried + 0.006) if cell.protocol == "request" else carried
    between = cell.owners * each / cell.load
    warm = max(10.0, 75 * carried, 2 * between)
    return warm, warm + cell.answers * each / cell.load, between


def ticks(cell: Wired, seed: int) -> list[list[float]]:
    """Return the times at which owners' clocks tick, of each owner.

    Of unequal clocks owner i's rate is proportional to i. Rounds have no ticks.
    """
    _, until, between = span(cell)
    draws, times = random.Random(seed), []
    for owner in range(1, cell.owners + 1):
        rate = (2 * owner / (cell.owners + 1) if cell.unequal else 1) / between
        now, mine = 0.0, []
        while (now := round(now + draws.expovariate(rate), 9)) < until:
            mine.append(now)
        times.append(mine)
    return times if cell.protocol != "rounds" else [[]] * cell.owners


def computing(cell: Wired) -> list[float]:
    """Return how many seconds each owner computes in a round: none if the link is to be full.

    Else quantiles of an exponential law, with the longest as long as a round at this load.
    """
    _, _, between = span(cell)
    longest = log(2 * cell.owners)
    parts = [-log1p(-(i + 0.5) / cell.owners) / longest for i in range(cell.owners)]
    busy = cell.protocol != "rounds" or cell.load == 1
    return [0.0 if busy else round(between * part, 9) for part in parts]


def package() -> Path:
    """Return the folder of the installed wheel."""
    named, found = os.environ.get("NS3"), find_spec("ns3")
    if named is None and (found is None or found.submodule_search_locations is None):
        sys.exit("ns3 is not installed: pip install ns3, or set NS3 to the folder of its package")
    return Path(named or next(iter(found.submodule_search_locations)))


def compiled(program: str, folder: Path) -> Path:
    """Compile a program into a folder; return its path."""
    ns3 = package()
    libraries = sorted((ns3 / "lib64").glob("libns3*-*.so"))
    command = ["g++", "-std=c++20", "-O1", f"-I{ns3}/include", str(HERE / f"{program}.cc")]
    command += ["-o", str(folder / program), f"-Wl,-rpath,{ns3}/lib64", "-Wl,--as-needed"]
    command += ["-Wl,--allow-shlib-undefined", *map(str, libraries)]
    subprocess.run(command, check=True)
    return folder / program


def run(program: Path, cell: Cell, seeds: Sequence[int]) -> dict[str, list[Any]]:
    """Return each figure of a cell: its mean and standard error over the seeds.

    Of TCP the value for every seed, as ours has the same ticks; rounds have none, and one value.
    """
    wired = isinstance(cell, Wired)
    found: list[Mapping[str, Any]] = []
    for seed in seeds[:1] if wired and cell.protocol == "rounds" else seeds:
        arguments, given = (*cell, seed), ""
        if isinstance(cell, Wired):
            arguments = (*cell[:3], *span(cell), cell.queries, *cell.attributes)
            sent = sorted((time, i) for i, times in enumerate(ticks(cell, seed)) for time in times)
            if cell.protocol == "rounds":
                sent = [(time, owner) for owner, time in enumerate(computing(cell))]
            given = "\n".join(f"{owner} {time:.9f}" for time, owner in sent)
        command = [str(program), *map(str, arguments)]
        result = subprocess.run(command, check=True, capture_output=True, text=True, input=given)
        found.append(json.loads(result.stdout))
    columns = {name: [each[name] for each in found] for name in found[0]}
    if wired:
        return {name: [rounded(x) for x in each] for name, each in columns.items()}
    return {
        name: [rounded(fmean(each)), rounded(stdev(each) / sqrt(len(each)))]
        for name, each in columns.items()
    }


def rounded(value: Any) -> Any:
    """Return a figure with five digits; a list of counts as it is."""
    return value if isinstance(value, list) else float(f"{value:.5g}")


def version() -> str:
    """Return the version of ns-3, from the names of its libraries."""
    [library] = (package() / "lib64").glob("libns3*-core.so")
    return re.findall(r"libns([\d.]+)-", library.name)[0]


def written(figures: Mapping[str, Any]) -> str:
    """Return figures as the file has them: the numbers of one figure in a line."""
    text = json.dumps(figures, indent=1) + "\n"
    return re.sub(r"\[[^\[\]{}]*\]", lambda values: " ".join(values[0].split()), text)


def main(programs: Sequence[str], part: str = "") -> None:
    """Measure the cells of programs with a part in their names, and write them into the file."""
    with TemporaryDirectory() as place:
        for program in programs:
            binary = compiled(program, Path(place))
            for name, each in cells(program):
                if part in name:
                    _keep(program, name, run(binary, each, SEEDS))


def _keep(program: str, name: str, figures: Mapping[str, list[Any]]) -> None:
    kept = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    made = kept.get(program, {}).get("cells", {}) | {name: figures}
    stamp = {"ns3": version(), "date": f"{datetime.now(UTC):%Y-%m-%d}", "seeds": len(SEEDS)}
    ordered = {each: made[each] for each, _ in cells(program) if each in made}
    kept[program] = stamp | {"cells": ordered}
    FIGURES.write_text(written(kept), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:2] or ("aloha", "csma", "dcf", "lossy", "tcp"), *sys.argv[2:3])
