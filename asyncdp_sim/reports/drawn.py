"""Figures of a page as inline SVG; the space–time diagram is wide enough to move about in."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.kit.layout import fit
from asyncdp_sim.figures.kit.picture import Picture, inline
from asyncdp_sim.figures.kit.style import style
from asyncdp_sim.figures.spacetime import diagram
from asyncdp_sim.network import simulate
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.theory.prediction import Unknown

BUDGET = 3_000_000
"""Characters of all figures together."""
WIDTH = 3.4
"""Inches at which figures are drawn: letters are legible on a phone."""


DrawnFigure = dict[str, Any]
"""The text and the view box of an ``svg`` element, its size in points, and what it shows."""


def figures(opened: Result | Sweep, without: str) -> tuple[list[DrawnFigure], list[str]]:
    """Return the figures of a directory but for one, and notes on what is not drawn."""
    entries, notes = pictures(opened)
    return in_columns([picture for picture, _ in entries if picture.name != without]), notes


def in_columns(pictures: Sequence[Picture]) -> list[DrawnFigure]:
    """Return pictures at the width of a phone, which is that of a column of the page."""
    share = BUDGET // max(1, len(pictures))
    for picture in pictures:
        with style():
            fit(picture.figure, WIDTH)
    return [drawn(picture, number, share) for number, picture in enumerate(pictures, start=1)]


def drawn(picture: Picture, number: int, largest: int, prefix: str = "figure") -> DrawnFigure:
    """Return one picture as an element of the page.

    Settings stand once on the page, and the label in the drawing.
    """
    inner, (width, height) = inline(picture, f"{prefix}-{number}", largest)
    return {
        "inner": inner,
        "width": width,
        "height": height,
        "box": f"0 0 {width:g} {height:g}",
        "alt": picture.caption,
        "caption": f"Figure {number}. {picture.caption}",
    }


MESSAGES = 240
"""Drawn at most."""
INCHES = 0.16
"""Of width for each."""
UPDATES = 240
"""Simulated at most where a run kept no events: a message each, or more."""
LARGEST_NETWORK = 2_000
"""Owners beyond which a run that kept no events is not simulated again."""
LARGEST = 1_200_000
"""Characters of the diagram."""
LONG = 1e9


def spacetime(result: Result) -> dict[str, Any]:
    """Return the diagram of a result's first replicate with where its events are from, or why not.

    The ``figure`` is None where there is none; the ``note`` says the rest.
    """
    if result.summary["simulated_time"] == 0:
        return {"figure": None, "note": "nothing takes time"}
    happened, origin = None, "as the run kept them"
    if not result.has_events:
        traced = _again(result)
        if isinstance(traced, Unknown):
            return {"figure": None, "note": traced.reason}
        happened, origin = traced, "simulated again from the seed, as the run kept none"
    picture = diagram(result, happened=happened, window=LONG, most=MESSAGES, inches=INCHES)
    picture.figure.axes[0].yaxis.set_gid("rows")
    note = f"At most {MESSAGES} messages from the start of the run, {origin}."
    return {"figure": drawn(picture, 1, LARGEST, "spacetime"), "note": note}


def _again(result: Result) -> npt.NDArray[np.void] | Unknown:
    """Return the first events of a result's first replicate, simulated again, or why not."""
    network = result.network
    if isinstance(network, Unknown):
        return network
    if network.stops:
        return Unknown("no events were kept, and when things happen depends on the model")
    if network.n_owners > LARGEST_NETWORK:
        return Unknown(f"no events were kept of {network.n_owners:,} owners")
    window = network.model_copy(update={"updates": min(network.updates, UPDATES)})
    scope = Streams(int(result.manifest["seed"])).within("replicate", result.replicates[0])
    events = simulate(window, scope, events=True).events
    if events is None or len(events) == 0:
        return Unknown("nothing happened")
    return events
