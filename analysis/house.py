"""The drawn house: rooms of the package by layer, with a name of each layer.

``python -m analysis.house`` writes ``docs/pictures/house.svg`` from the layers in
``pyproject.toml``; what a room is for is the first line of its package.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from asyncdp_sim.figures.style import style

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/pictures/house.svg"
PACKAGE = "asyncdp_sim."
NAMES = {
    "cli": "Commands and Python functions",
    "reports": "Web pages of results",
    "figures": "Pictures, proposed scenarios, apps",
    "sweeps": "Questions that need many runs",
    "runs": "One run: simulate, learn, account",
    "comparisons": "Differences between results",
    "results": "Results on disk, gains, sentences",
    "scenario": "The scenario file",
    "privacy": "Noise and ε, statistics, predictions",
    "learning": "Models and their updates",
    "network": "Simulated network, records, formulas",
    "core": "Simulated time, random numbers, files",
}
"""Name of a layer, by one of its rooms: two words or more, as a single one is a room's."""
TINTS = {"cli": "#fdf1e3", "sweeps": "#eaf4ea", "results": "#eef3f8", "learning": "#f3eef7"}
"""Colour of a layer and of those below it, by one of its rooms."""
_WIDTH, _LEFT, _HEIGHT, _GAP = 3.4, 0.2, 0.36, 0.04
"""Width of the house and of its left margin, height of a layer, space between two, in inches."""
_LETTERS = 7.0
"""Points, at the width of a phone's screen."""


def layers(root: Path = ROOT) -> list[list[str]]:
    """Return the rooms of the package by layer, the lowest first."""
    tools = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]
    [contract] = [c for c in tools["importlinter"]["contracts"] if c["type"] == "layers"]
    split = [re.split(r"\s*[|:]\s*", layer) for layer in reversed(contract["layers"])]
    inside = [[n.removeprefix(PACKAGE) for n in layer if n.startswith(PACKAGE)] for layer in split]
    return [layer for layer in inside if len(layer) > 0]


def draw(floors: Sequence[Sequence[str]]) -> Figure:
    """Return the picture: a box for each layer, the lowest at the bottom, with its rooms.

    A layer imports only from lower ones, which the arrow beside them says.
    """
    step = _HEIGHT + _GAP
    height, tint = len(floors) * step + 0.3, ""
    with style():
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, _WIDTH), ylim=(0, height))
        for level, floor in reversed(list(enumerate(floors))):
            [name] = [NAMES[room] for room in floor if room in NAMES]
            tint = next((TINTS[room] for room in floor if room in TINTS), tint)
            box = FancyBboxPatch(
                (_LEFT, level * step + _GAP), _WIDTH - _LEFT - 0.03, _HEIGHT,
                boxstyle="round,pad=0,rounding_size=0.05", fc=tint, ec="#44617b",
            )  # fmt: skip
            axes.add_patch(box)
            upper, lower = (level * step + _GAP + share * _HEIGHT for share in (0.7, 0.28))
            axes.text(_LEFT + 0.06, upper, name, va="center", fontsize=8, fontweight="bold")
            letter = min(0.062, (_WIDTH - _LEFT - 0.1) / sum(len(room) + 2 for room in floor))
            left = _LEFT + 0.06
            for room in floor:
                axes.text(left, lower, room, va="center", fontsize=_LETTERS, color="#44617b")
                left += letter * (len(room) + 2)
        down = {"arrowstyle": "-|>", "color": "#44617b"}
        axes.annotate("", (0.1, _GAP), xytext=(0.1, height - 0.3), arrowprops=down)
        says = "A layer uses only the layers below it"
        axes.text(0.03, height - 0.07, says, va="top", fontsize=8)
    return figure


def main() -> None:
    """Write the picture."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "house"}):
        draw(layers()).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
