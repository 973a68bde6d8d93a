"""``python -m tests.pictures [NAME …]`` draws the pictures of the docs again, each with its table.

A picture has the name of what it shows: an entry of the catalogue, a result that ``python -m
scenarios verify`` runs, or a program below. ``tests/documents/test_pictures.py`` compares them.
Without names, ``house.svg`` is drawn too.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from analysis import house
from analysis.studies import studies
from asyncdp_sim.figures.break_even import FIGURE as BREAK_EVEN
from asyncdp_sim.figures.picture import Picture, save
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import decided, decisions
from scenarios.beyond import RESULTS
from tests.peers.ns3 import picture as ns3

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
SOURCES = tuple(sorted(file.stem for file in FOLDER.glob("*.png")))
WIDTH = 3.4
"""Inches at which they are legible: a phone's screen, and a column of a page."""
PROGRAMS: Mapping[str, Callable[[], Picture]] = {
    "decisions": lambda: decided.picture(decisions.read(ROOT / "scenarios" / "decisions.csv")),
    "ns3": ns3.picture,
}


def drawn(name: str, folder: Path) -> Picture:
    """Run what a picture of the docs shows into a folder, and return the picture."""
    if name in PROGRAMS:
        made = PROGRAMS[name]()
    elif figures := [each for each in RESULTS if each.name == name]:
        [figure] = figures
        sweep(figure.scenario(next(iter(figure.variants)), full=False), folder, workers=1)
        [made] = figure.pictures(Sweep.read(folder))
    else:
        sweep(entry(name).scenario(), folder, workers=1)
        made = studies(name).get(name, BREAK_EVEN).picture(Sweep.read(folder)).of(name)
    return replace(made, name=name, width=WIDTH)


def main(names: list[str]) -> int:
    """Write these pictures, or all of them, and their tables."""
    for name in names or SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            save(drawn(name, Path(folder) / "sweep"), FOLDER)
    if len(names) == 0:
        house.main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
