"""Marks and words that pictures of studies share, and a picture of one panel.

A name stands beside its mark, and not in a legend.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import BLUE, GRAY, THEORY, legible
from asyncdp_sim.results import Result
from asyncdp_sim.sentences.label import Label

DOTS: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5, "color": BLUE}
TRUTH: dict[str, Any] = {"linestyle": "--", "linewidth": 1.0, "color": THEORY}
MEASURED = Layer("line", name="measured (dots), ± 2 standard errors", look=DOTS | {"color": GRAY})
PREDICTED = Layer("line", name="predicted (lines)", look={"color": GRAY})
"""The keys of what is measured in any colour, and predicted."""
PSI = "ψ: how far the loss of all records is above the least possible, as a share of it"
"""For notes; ψ is a fit."""
PUBLIC = Label("No private record is used.", True, 0.0, 0.0, timing_accounted=True, release=True)
NOTHING: Mapping[str, Any] = {}
TEXTS: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("pictures.toml").read_text("utf-8")
)
"""What is written of pictures, by their names: caption, note, and the axes x and y."""


def text(picture: str, part: str = "caption", **values: object) -> str:
    """Return a picture's caption or note, with these values in their places."""
    return " ".join(str(TEXTS[picture][part]).split()).format(**values)


def written(
    x: float,
    y: float,
    text: str,
    where: Literal["above", "below", "right", "left", "over", "inside"] = "above",
    color: str = THEORY,
) -> Layer:
    """Return a name beside a place, in the colour of what it names."""
    return Layer("note", x, y, name=text, look={"color": legible(color)} | TEXTS["beside"][where])


def one_panel(
    name: str,
    title: str,
    marks: Sequence[Layer],
    sides: tuple[Side, Side],
    caption: str,
    table: Columns,
    shown: Sequence[Result] | Label = PUBLIC,
    height: float = 3.2,
    note: str = "",
) -> Picture:
    """Return a picture of one panel, so many inches high, with the label of what was run."""
    said = Declaration([Panel(marks, *sides)], (6.5, height), title, note=note)
    of = shown if isinstance(shown, Label) else label(shown)
    return Picture(name, said, table, caption, of)


def declared(
    name: str,
    title: str,
    marks: Sequence[Layer],
    height: float = 3.2,
    x: Mapping[str, Any] = NOTHING,
    y: Mapping[str, Any] = NOTHING,
    **values: object,
) -> Declaration:
    """Return what is drawn on one panel, with the axes and the note that a picture's name has.

    Parameters
    ----------
    x, y : mapping
        What is calculated of an axis.
    **values
        What is filled into the note.
    """
    note = text(name, "note", **values) if "note" in TEXTS[name] else ""
    panel = Panel(marks, side(name, "x", x), side(name, "y", y))
    return Declaration([panel], (6.5, height), title, note=note)


def side(picture: str, part: str, more: Mapping[str, Any] = NOTHING) -> Side:
    """Return a picture's axis, as it is written, with more that is calculated."""
    said = {**TEXTS[picture].get(part, NOTHING), **more}
    name = str(said.pop("name", "")).replace("{better}", BETTER)
    low, high = [*said.pop("limits", ()), None, None][:2]
    return Side(name, limits=(low, high), **said)


def captioned(
    name: str,
    title: str,
    marks: Sequence[Layer],
    table: Columns,
    shown: Sequence[Result] | Label = PUBLIC,
    height: float = 3.2,
    x: Mapping[str, Any] = NOTHING,
    y: Mapping[str, Any] = NOTHING,
    **values: object,
) -> Picture:
    """Return such a picture, with its table, its caption, and the label of what was run."""
    said = declared(name, title, marks, height, x, y, **values)
    of = shown if isinstance(shown, Label) else label(shown)
    return Picture(name, said, table, text(name, "caption", **values), of)
