"""The drawn house: rooms of the package by layer, with a name of each layer.

``python -m analysis.house`` writes ``docs/pictures/house.svg`` from the layers in
``pyproject.toml``; what a room is for is the first line of its package.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from asyncdp_sim.figures.style import style

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/pictures/house.svg"
PACKAGE = "asyncdp_sim."
NAMES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Name of a layer, by one of its rooms: two words or more, as a single one is a room's."""
TINT, BESIDE = "#eef3f8", "–"
"""Colour of a layer; between rooms that may use one another."""
_WIDTH, _LEFT, _HEIGHT, _GAP = 3.4, 0.2, 0.36, 0.04
"""Width of the house and of its left margin, height of a layer, space between two, in inches."""
_LETTERS = 7.0
"""Points, at the width of a phone's screen."""


def layers(root: Path = ROOT) -> list[list[str]]:
    """Return the rooms of the package by layer, the lowest first."""
    split = [re.split(r"\s*[|:]\s*", layer) for layer in _contract(root)]
    return [[name.removeprefix(PACKAGE) for name in layer] for layer in split]


def neighbours(root: Path = ROOT) -> list[bool]:
    """Return of each layer, the lowest first, whether its rooms may use one another."""
    return [":" in layer for layer in _contract(root)]


def _contract(root: Path) -> list[str]:
    tools = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]
    [contract] = [c for c in tools["importlinter"]["contracts"] if c["type"] == "layers"]
    return [layer for layer in reversed(contract["layers"]) if layer.startswith(PACKAGE)]


def draw(floors: Sequence[Sequence[str]], joined: Sequence[bool]) -> Figure:
    """Return the picture: a box for each layer, the lowest at the bottom, with its rooms.

    A room imports only from lower layers, which the arrow beside them says, and where its layer is
    joined from the rooms beside it.
    """
    step = _HEIGHT + _GAP
    height = len(floors) * step + 0.46
    with style():
        figure = Figure(figsize=(_WIDTH, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(0, _WIDTH), ylim=(0, height))
        for level, floor in reversed(list(enumerate(floors))):
            [name] = [NAMES[room] for room in floor if room in NAMES]
            box = FancyBboxPatch(
                (_LEFT, level * step + _GAP), _WIDTH - _LEFT - 0.03, _HEIGHT,
                boxstyle="round,pad=0,rounding_size=0.05", fc=TINT, ec="#44617b",
            )  # fmt: skip
            axes.add_patch(box)
            upper, lower = (level * step + _GAP + share * _HEIGHT for share in (0.7, 0.28))
            axes.text(_LEFT + 0.06, upper, name, va="center", fontsize=8, fontweight="bold")
            letter = min(0.062, (_WIDTH - _LEFT - 0.1) / sum(len(room) + 2 for room in floor))
            left = _LEFT + 0.06
            for place, room in enumerate(floor):
                shown: dict[str, Any] = {"va": "center", "fontsize": _LETTERS, "color": "#44617b"}
                axes.text(left, lower, room, **shown)
                left += letter * (len(room) + 2)
                if joined[level] and place < len(floor) - 1:
                    axes.text(left - 1.5 * letter, lower, BESIDE, **shown)
        down = {"arrowstyle": "-|>", "color": "#44617b"}
        axes.annotate("", (0.1, _GAP), xytext=(0.1, height - 0.46), arrowprops=down)
        says = (
            f"A package uses only packages of lower layers,\nand beside it where “{BESIDE}” stands"
        )
        axes.text(0.03, height - 0.07, says, va="top", fontsize=8)
    return figure


def main() -> None:
    """Write the picture."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "house"}):
        draw(layers(), neighbours()).savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
