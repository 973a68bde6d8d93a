"""The learner amid its owners: who may talk to whom, and whom it talks to at each update.

Async's figures 1 (the star) and 2 (one owner i_k at a time, in red), of a run.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.one_panel import text
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label
from asyncdp_sim.figures.style import FEW_OWNERS
from asyncdp_sim.figures.traces import first_with_updates, window
from asyncdp_sim.results import Result

RED, QUIET, LINE = "#d00000", "#777777", "#bbbbbb"
STEPS, ACROSS = 10, 5
MOST = 2 * FEW_OWNERS
"""More owners than that hide one another on a circle."""
ROOM = 1.3
TALL = Side(limits=(-ROOM, ROOM))


def structure(result: Result, *, name: str = "structure") -> Picture:
    """Draw the learner, its owners, and how many answers of each one were used.

    Parameters
    ----------
    result : Result
        Of at most 24 owners.
    name : str
        Of the picture's file.

    Raises
    ------
    ValueError
        If there are more owners.
    """
    places = _places(result.n_owners)
    owner, records, used = (result.of_owners(each)[0] for each in ("owner", "records", "updates"))
    marks = _star(places, widths=0.6 + 2.4 * used / max(1, used.max()))
    for (x, y), many, spoken in zip(1.17 * places, records, used, strict=True):
        side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        look = {"xytext": (0, 0), "ha": side, "va": "bottom" if y > 0 else "top"}
        marks.append(Layer("note", x, y, name=f"{many:,} records\n{spoken:,} answers", look=look))
    most = int(np.argmax(used))
    title = f"Owner {owner[most]} gave most used answers: {used[most]:,} of {used.sum():,}"
    wide = Side(limits=(-1.6 * ROOM, 1.6 * ROOM))
    said = Declaration([Panel(marks, wide, TALL, bare=True)], (5.2, 3.4), title)
    caption = text("structure", replicate=result.replicates[0])
    table = {"owner": owner, "records": records, "updates": used}
    return Picture(name, said, table, caption, label([result]))


def sequence(result: Result, *, first: int = 1, name: str = "sequence") -> Picture:
    """Draw ten updates one after the other, each with its owner i_k in red.

    Parameters
    ----------
    result : Result
        With updates, of at most 24 owners.
    first : int
        The first k.
    name : str
        Of the picture's file.

    Raises
    ------
    ResultError
        If the result kept no updates.
    ValueError
        If there are more owners.
    """
    places, chosen = _places(result.n_owners), first_with_updates(result)
    rows: dict[str, npt.NDArray[Any]] = window(result, chosen, first, first + STEPS - 1)
    down = -(-len(rows["k"]) // ACROSS)
    panels = [
        Panel(_star(places, spoke=int(spoke)), TALL, TALL,
              f"$k={k}$, $i_k={spoke}$\n$t_k={number(float(time))}$", bare=True)
        for k, time, spoke in zip(rows["k"], rows["time"], rows["owner"], strict=True)
    ]  # fmt: skip
    title = f"{len(np.unique(rows['owner']))} owners made these {len(panels)} updates"
    said = Declaration(panels, (7.2, 1.7 * down + 0.3), title, ACROSS)
    caption = text("sequence", first=rows["k"][0], last=rows["k"][-1], replicate=chosen)
    return Picture(name, said, rows, caption, label([result]))


def _places(n_owners: int) -> Array:
    """Return where owners stand around the learner, from the top and clockwise, shape (N, 2)."""
    if n_owners > MOST:
        raise ValueError(f"at most {MOST} owners have room around a learner, given {n_owners}")
    angle = np.pi / 2 - 2 * np.pi * np.arange(n_owners) / n_owners
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _star(places: Array, *, spoke: int = 0, widths: Array | None = None) -> list[Layer]:
    """Return the learner's lines to its owners; of one that speaks now, in red."""
    small, marks = 11 if len(places) <= FEW_OWNERS else 8, list[Layer]()
    middle: dict[str, Any] = {"xytext": (0, 0), "ha": "center", "fontsize": 6.5, "zorder": 3}
    for owner, (x, y) in enumerate(places, start=1):
        red = owner == spoke
        broad = 0.7 if widths is None else float(widths[owner - 1])
        line = {"color": RED if red else LINE, "linewidth": 2.0 if red else broad, "zorder": 1}
        dot = {"marker": "o", "markersize": small, "color": RED if red else QUIET, "zorder": 2}
        marks += [
            Layer("line", [0, x], np.array([0, y]), look=line),
            Layer("line", [x], np.array([y]),
                  look=dot | {"markerfacecolor": RED if red else "white"}),
            Layer("note", x, y, name=f"{owner}",
                  look=middle | {"color": "white" if red else "black"}),
        ]  # fmt: skip
    square = {"marker": "s", "markersize": small, "color": "black", "zorder": 2}
    learner = Layer("line", [0], np.array([0.0]), look=square)
    return [*marks, learner, Layer("note", 0, 0, name="L", look=middle | {"color": "white"})]
