"""Figures of ns-3 for the same networks: ``python -m tests.peers.ns3.measure [FIGURE …]``.

The C++ programs beside this file are compiled against the headers and libraries of the wheel
``ns3`` (``pip install ns3``, or the environment variable NS3 names its folder), with g++. Each cell
is run with several seeds; ``figures.json`` keeps the mean and its standard error. It takes an hour
of a processor.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
SEEDS = (1, 2, 3, 4)
OWNERS = (2, 5, 10, 20)
WINDOWS = {"16-1024": (16, 1024), "4-8": (4, 8)}
HEARD = {"DIFS": 1, "EIFS": 0}
"""How long others wait after a collision → whether stations detect preambles."""
SIZES = {1000: 5000, 1_000_000: 200}
"""Bytes of an answer → answers of a run."""
Cell = tuple[object, ...]


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
        for size, owners, loads in (  # an answer of 1 MB costs 30 ms of a processor
            (1000, (3, 10, 40), (0.1, 0.5, 0.9)),
            (1_000_000, (3, 10), (0.5, 0.9)),
        ):
            for stations, load in product(owners, loads):
                name = f"{size} B N={stations} load={load:g}"
                yield name, (stations, size, load, SIZES[size])
        for stations in (3, 10, 40):
            yield f"1000 B N={stations} rounds", (stations, 1000, 0, SIZES[1000])
        for size in SIZES:
            yield f"{size} B alone", (1, size, 0.01, 50)


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


def run(program: Path, arguments: Cell, seeds: Sequence[int]) -> dict[str, list[float]]:
    """Return the mean and the standard error of each figure over the seeds."""
    found: list[Mapping[str, float]] = []
    for seed in seeds:
        command = [str(program), *map(str, arguments), str(seed)]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(result.stdout))
    columns = {name: [each[name] for each in found] for name in found[0]}
    return {
        name: [float(f"{x:.5g}") for x in (fmean(each), stdev(each) / sqrt(len(each)))]
        for name, each in columns.items()
    }


def version() -> str:
    """Return the version of ns-3, from the names of its libraries."""
    [library] = (package() / "lib64").glob("libns3*-core.so")
    return re.findall(r"libns([\d.]+)-", library.name)[0]


def main(programs: Sequence[str]) -> None:
    """Measure the cells of programs and write them into the file of figures."""
    kept = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    with TemporaryDirectory() as place:
        for program in programs:
            binary = compiled(program, Path(place))
            made = {name: run(binary, each, SEEDS) for name, each in cells(program)}
            stamp = {"ns3": version(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
            kept[program] = stamp | {"seeds": len(SEEDS), "cells": made}
            FIGURES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or ("aloha", "csma", "dcf", "lossy", "tcp"))
