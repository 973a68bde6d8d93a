"""The drawn house: rooms of the package by layer, and which of them import which.

``python -m analysis.house`` writes ``docs/pictures/house.svg`` from the layers in
``pyproject.toml`` and from the imports of the package as they are.
"""

import tomllib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import grimp
import matplotlib as mpl
import networkx as nx
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/pictures/house.svg"
PACKAGE = "asyncdp_sim."
_WIDTH, _HEIGHT, _GAP, _BOX = 9.0, 0.36, 0.42, 1.6
"""Width of the house, height of a room, space between layers, and widest box, in inches."""


def layers(root: Path = ROOT) -> list[list[str]]:
    """Return the rooms of the package by layer, the lowest first."""
    tools = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]
    [contract] = [c for c in tools["importlinter"]["contracts"] if c["type"] == "layers"]
    split = [layer.replace("|", ":").split(":") for layer in reversed(contract["layers"])]
    named = [[name.strip() for name in layer] for layer in split]
    inside = [[n.removeprefix(PACKAGE) for n in layer if n.startswith(PACKAGE)] for layer in named]
    return [layer for layer in inside if len(layer) > 0]


def imports(rooms: Sequence[str]) -> "nx.DiGraph[str]":
    """Return an arrow for each import from one room of another."""
    graph = grimp.build_graph(PACKAGE.removesuffix("."))
    inside = {room: {PACKAGE + room, *graph.find_descendants(PACKAGE + room)} for room in rooms}
    room_of = {module: room for room in rooms for module in inside[room]}
    arrows: nx.DiGraph[str] = nx.DiGraph()
    arrows.add_nodes_from(rooms)
    for module, room in room_of.items():
        targets = {room_of.get(name) for name in graph.find_modules_directly_imported_by(module)}
        arrows.add_edges_from((room, other) for other in targets - {None, room})
    return arrows


def draw(floors: Sequence[Sequence[str]], arrows: "nx.DiGraph[str]") -> Figure:
    """Return the picture: a row of boxes for each layer, the lowest at the bottom.

    Not drawn are arrows to the lowest layer, which all import, and those that follow from others
    (a imports b, b imports c, so a may import c).
    """
    ground = set(floors[0])
    above = nx.subgraph_view(arrows, filter_node=lambda room: room not in ground)
    shown = nx.transitive_reduction(above)
    height = len(floors) * (_HEIGHT + _GAP)
    figure = Figure(figsize=(_WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, _WIDTH)
    axes.set_ylim(0, height)
    middle: dict[str, tuple[float, float]] = {}
    for level, floor in enumerate(floors):
        step = _WIDTH / len(floor)
        for place, room in enumerate(floor):
            x, y = (place + 0.5) * step, (level + 0.5) * (_HEIGHT + _GAP)
            middle[room] = x, y
            width = min(step - 0.1, _BOX)
            corner = (x - width / 2, y - _HEIGHT / 2)
            axes.add_patch(Rectangle(corner, width, _HEIGHT, fc="#eef3f8", ec="#44617b", zorder=2))
            axes.text(x, y, room, ha="center", va="center", fontsize=9, zorder=3)
    for a, b in shown.edges:
        (x0, y0), (x1, y1) = middle[a], middle[b]
        if y0 == y1:  # around the boxes between them
            ends, bend = ((x0, y0 - _HEIGHT / 2), (x1, y1 - _HEIGHT / 2)), "arc3,rad=0.2"
            bend = bend if x0 < x1 else "arc3,rad=-0.2"
        else:
            ends, bend = ((x0, y0 - _HEIGHT / 2), (x1, y1 + _HEIGHT / 2)), "arc3"
        style = {"arrowstyle": "-|>", "color": "#8a9aa8", "lw": 0.8, "connectionstyle": bend}
        axes.annotate("", xy=ends[1], xytext=ends[0], arrowprops=style, zorder=1)
    return figure


if __name__ == "__main__":
    floors = layers()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "house"}):
        draw(floors, imports(list(chain(*floors)))).savefig(PICTURE, metadata={"Date": None})
