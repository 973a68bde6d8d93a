"""The drawn house: rooms of the package by layer, with what each layer is for.

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
MEANING = {
    "cli": "what a user calls",
    "reports": "pages of results",
    "figures": "pictures and files for others",
    "sweeps": "questions that need many runs",
    "runs": "one run, from file to directory",
    "comparisons": "results against each other",
    "results": "what a run leaves",
    "scenario": "the file that is asked",
    "privacy": "noise, budgets, bounds",
    "learning": "models and gradients",
    "network": "time, records, formulas",
    "core": "ticks, random streams, errors",
}
"""What a layer is for, by one of its rooms."""
_WIDTH, _LEFT, _HEIGHT, _GAP = 3.4, 0.15, 0.22, 0.22
"""Width of the house and of its left margin, height of a room, space between layers, in inches."""
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
    """Return the picture: a row of boxes for each layer, the lowest at the bottom.

    A room imports only from lower rows, which the arrow beside them says.
    """
    height = len(floors) * (_HEIGHT + _GAP) + 0.3
    with style():
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, _WIDTH), ylim=(0, height))
        for level, floor in enumerate(floors):
            y = (level + 0.5) * (_HEIGHT + _GAP)
            [meaning] = [MEANING[room] for room in floor if room in MEANING]
            left, above = _LEFT + 0.05, y + _HEIGHT / 2 + 0.03
            axes.text(left, above, meaning, va="bottom", fontsize=_LETTERS, color="#444444")
            letter = (_WIDTH - _LEFT - 0.05) / sum(len(room) + 3 for room in floor)
            for room in floor:
                corner, step = (left, y - _HEIGHT / 2), letter * (len(room) + 3)
                left += step
                box = FancyBboxPatch(
                    corner, step - 0.05, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.05",
                    fc="#eef3f8", ec="#44617b",
                )  # fmt: skip
                axes.add_patch(box)
                middle = corner[0] + (step - 0.05) / 2
                axes.text(middle, y, room, ha="center", va="center", fontsize=_LETTERS)
        down = {"arrowstyle": "-|>", "color": "#44617b"}
        axes.annotate("", (0.06, 0.1), xytext=(0.06, height - 0.3), arrowprops=down)
        axes.text(0.02, height - 0.25, "imports go down, never up", va="bottom", fontsize=8)
    return figure


def main() -> None:
    """Write the picture."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "house"}):
        draw(layers()).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
