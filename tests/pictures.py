"""``python -m tests.pictures [NAME …]`` draws the pictures of the docs again, each with its table.

Each comes from an entry of the catalogue or from a result that ``python -m scenarios verify`` runs,
as the docs say beside it. ``tests/documents/test_pictures.py`` compares them. ``python -m
analysis.house`` draws ``house.svg``.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from analysis.studies import studies
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.picture import Picture, save
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.sweeps import sweep
from scenarios.beyond import RESULTS

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
OF_ENTRIES = {
    "break-even": ("twenty-small-banks", "break-even"),
    "break-even-narrow": ("twenty-small-banks", "break-even"),
    "fixed-point": ("wifi-contention", "fixed-point"),
    "stale-steps": ("steps-against-staleness", "where-it-ends"),
}
"""By the picture's file: the entry whose sweep it shows, and its name among the entry's."""
OF_RESULTS = {
    "ca-fed": "ca-fed",
    "fedawe-bias": "fedawe-bias",
    "fedawe-waves": "fedawe-waves",
    "muffliato": "muffliato",
    "routing-accuracy": "routing-accuracy",
    "secure-sums": "secure-sums",
    "threat-models": "linear-systems",
    "whom-to-ask": "routing",
}
"""By the picture's file: the result of others whose first variant it shows."""
NARROW = {"break-even-narrow": 3.4}
"""Inches of what is drawn for a phone."""
SOURCES = (*OF_ENTRIES, *OF_RESULTS)


def drawn(name: str, folder: Path) -> Picture:
    """Run what a picture of the docs shows into a folder, and return the picture."""
    if name in OF_ENTRIES:
        found, wanted = OF_ENTRIES[name]
        sweep(entry(found).scenario(), folder, workers=1)
        shown, _ = pictures(Sweep.read(folder), studies(found))
        made = next(picture for picture, _ in shown if picture.name == wanted)
    else:
        [figure] = [each for each in RESULTS if each.name == OF_RESULTS[name]]
        sweep(figure.scenario(next(iter(figure.variants)), full=False), folder, workers=1)
        [made] = figure.pictures(Sweep.read(folder))
    return replace(made, name=name, width=NARROW.get(name))


def main(names: list[str]) -> int:
    """Write these pictures, or all of them, and their tables."""
    for name in names or SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            save(drawn(name, Path(folder) / "sweep"), FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
