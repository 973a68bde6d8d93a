"""Pictures as text: what a reader sees of them, and the numbers that are drawn.

A test that has the fixture ``reads`` compares pictures with the file of its name in ``pictures``.
``python -m tests.regenerate`` writes these anew; read the differences like code.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from asyncdp_sim.figures.drawer import Layer, Panel
from asyncdp_sim.figures.picture import Picture

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
MOST_ROWS = 40


def as_read(picture: Picture) -> str:
    """Return all that is written in a picture, its marks, and its table with their labels."""
    keys = [text.get_text() for legend in picture.figure.legends for text in legend.get_texts()]
    subject = f"{picture.subject}. " if picture.subject else ""
    written = {
        picture.name: picture.said.title,
        "caption": picture.caption,
        "label": f"{subject}{picture.label.text}",
        "note": picture.said.note,
        "legend": "; ".join(keys),
    }
    lines = [_flat(f"{part}: {text}") for part, text in written.items() if text]
    for panel, axes in zip(picture.said.panels, picture.figure.axes, strict=True):
        lines += map(_flat, _panel(panel, axes))
    return "\n".join([*lines, *_table(picture)]) + "\n"


def _flat(text: str) -> str:
    return textwrap.fill(
        text.replace("\n", " / "), 100, subsequent_indent="    ", break_on_hyphens=False
    )


def _panel(panel: Panel, axes: Axes) -> Iterator[str]:
    """Yield a panel's title, sides and marks, and the texts that stand in it."""
    yield f"panel: {axes.get_title(loc='left')}"
    for name, side, axis in (("x", panel.x, axes.xaxis), ("y", panel.y, axes.yaxis)):
        ticks = [] if side.ticks is None else [tick.get_text() for tick in axis.get_ticklabels()]
        at = f" at {', '.join(ticks)}" if ticks else ""
        yield f"  {name}, {axis.get_scale()}: {axis.label.get_text()}{at}"
    yield from dict.fromkeys(map(_mark, panel.marks))
    if axes.texts:
        yield f"  texts: {'; '.join(text.get_text() for text in axes.texts)}"


def _mark(mark: Layer) -> str:
    """Return the kind of a mark, how it looks, and its name."""
    look = [str(mark.look[part]) for part in ("linestyle", "marker") if part in mark.look]
    return f"  {' '.join([mark.kind, *look])}: {' = '.join(filter(None, (mark.name, mark.end)))}"


def _table(picture: Picture) -> Iterator[str]:
    """Yield what is the same in all rows, and then the rows."""
    columns = picture.labelled().items()
    cells = [[name, *map(_cell, column.tolist())] for name, column in columns]
    same = [column for column in cells if len(set(column[1:])) == 1 < len(column) - 1]
    yield _flat(f"in all rows: {', '.join(f'{name} = {value}' for name, value, *_ in same)}")
    others = [column for column in cells if column not in same]
    widths = [max(map(len, column)) for column in others]
    rows = list(zip(*others, strict=True))
    for row in rows[:MOST_ROWS]:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
    if len(rows) > MOST_ROWS:
        yield f"… {len(rows) - MOST_ROWS} rows more"


def _cell(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def alike(found: Path, expected: Path) -> None:
    """Require that two texts have the same words, and the same numbers to a millionth."""
    texts = [" ".join(file.read_text("utf-8").split()) for file in (found, expected)]
    words, stated = (NUMBER.sub("#", text) for text in texts)
    numbers = [[float(n.replace(",", "")) for n in NUMBER.findall(text)] for text in texts]
    assert words == stated
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6, abs=1e-12)
