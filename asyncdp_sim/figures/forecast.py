"""A forecast's pictures: the expected ψ over time, and the gain of each owner."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.files import file_bytes, from_json, unreadable
from asyncdp_sim.core.words import as_float, known, numbers
from asyncdp_sim.figures.kit.drawer import BETTER, Declaration, Layer, Panel, Side, draw
from asyncdp_sim.figures.kit.outcomes import owner_table
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.style import (
    BAND,
    BLUE,
    FEW_OWNERS,
    THEORY,
    VERMILION,
    plain_text,
    time_axis,
)
from asyncdp_sim.privacy.label import Label
from asyncdp_sim.results import not_a_result
from asyncdp_sim.scenario import Participants

OF_OWNERS = {"owner", "records", "gain", "low", "high", "verdict"}
LOOKS = (
    ("gains", VERMILION, "^"),
    ("does worse", BLUE, "o"),
    ("no material difference", "#999999", "s"),
    ("undecided", "#333333", "D"),
)
"""Colour and shape of each verdict."""
LEVELS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("target", "target", {"color": VERMILION, "linestyle": ":"}),
)
KEYS = ("psi", "quantiles", "curve", "times", "owners", "data", "method", "not_for_release")

_COMMAND = "asyncdp forecast SCENARIO --json > FILE.json"


def read(file: Path) -> dict[str, Any]:
    """Return what ``asyncdp forecast --json`` printed.

    Raises
    ------
    ResultError
        If the file is something else.
    """
    content, remedy = "JSON that is no forecast of one scenario", f"to write one: {_COMMAND}"
    try:
        read = from_json(file_bytes(file))
        if isinstance(read, dict) and "moments" in read:  # of an older version
            read["data"] = read["moments"]
        if isinstance(read, dict) and all(key in read for key in KEYS) and _whole(read):
            return read
    except OSError as error:
        content, remedy = repr(str(file)), f"{unreadable(error)}; {remedy}"
    except ValueError:
        content = "a file that is not JSON"
    raise not_a_result(file, content, remedy)


def _whole(found: dict[str, Any]) -> bool:
    """Return whether the parts of a forecast are what they should be."""
    curve, times, levels, rows = (found[key] for key in ("curve", "times", "quantiles", "owners"))
    if not (isinstance(curve, list) and isinstance(times, list) and isinstance(rows, list)):
        return False
    owners = all(isinstance(owner, dict) and owner.keys() >= OF_OWNERS for owner in rows)
    spread = isinstance(levels, dict) and {"0.05", "0.95"} <= levels.keys()
    return owners and spread and len(curve) == len(times) > 0


def pictures(found: dict[str, Any]) -> list[Picture]:
    """Draw a forecast."""
    return [over_time(found)] + ([owners(found)] if len(found["owners"]) > 0 else [])


def over_time(found: dict[str, Any]) -> Picture:
    """Draw the expected ψ against time, the spread of ψ at the end, and the target."""
    times, curve = (np.array([known(v) for v in found[key]]) for key in ("times", "curve"))
    levels = {float(level): known(value) for level, value in found["quantiles"].items()}
    spread = {"color": BAND, "linewidth": 4}
    marks = [
        Layer("line", times, curve, name="expected $\\psi$", look={"color": BLUE}),
        Layer("strokes", times[-1:], None, levels[0.05], levels[0.95], "5–95 % at the end",
             look=spread),
    ]  # fmt: skip
    for key, name, look in LEVELS:
        if np.isfinite(value := known(found.get(key))):
            marks.append(Layer("level", y=value, name=name, look=look))
    psi = Side(f"relative fitness $\\psi$\n{BETTER}", log=True, grid=True)
    panel = Panel(marks, Side(time_axis(found.get("time_unit"))), psi)
    figure = draw(Declaration([panel], columns=4))
    caption = (
        f"Expected relative fitness ψ over time ({found['method']}; {found['data']}). The bar "
        "at the end contains ψ of 90 % of runs."
    )
    table = {"time": times, "expected_psi": curve}
    return Picture("forecast-over-time", figure, table, caption, _label(found), exact=False)


def owners(found: dict[str, Any]) -> Picture:
    """Draw every owner's gain with its 95 % interval, the largest first."""
    rows = sorted(found["owners"], key=lambda owner: -np.nan_to_num(known(owner["gain"])))
    names = tuple(str(owner["name"]) for owner in rows if owner.get("name") is not None)
    people = Participants(tuple(owner["owner"] for owner in rows), names)
    gain, low, high = (
        np.array([known(owner[key]) for owner in rows]) for key in ("gain", "low", "high")
    )
    verdicts = np.array([owner["verdict"] for owner in rows])
    places = np.arange(1, len(rows) + 1)
    marks = [Layer("level", y=0.0, look={"color": THEORY, "linewidth": 1.0})]
    for verdict, shade, sign in LOOKS:
        here = verdicts == verdict
        look: dict[str, Any] = {"color": shade, "marker": sign, "markersize": 5}
        if here.any():
            marks.append(
                Layer("line", places[here], gain[here], low[here], high[here], verdict,
                      look={**look, "linestyle": "none"})
            )  # fmt: skip
    counts = [int(np.sum(verdicts == name)) for name, _, _ in LOOKS]
    budgets = [epsilon for owner in rows if (epsilon := as_float(owner.get("epsilon")))]
    title = f"{counts[0]} of {len(rows)} owners gain by joining, {counts[1]} do worse"
    title += f" at ε = {numbers(budgets)}" if budgets else ""
    few = len(rows) <= FEW_OWNERS
    labels = [plain_text(label) for label in people.labels] if few else ()
    across = Side("owners, by gain", ticks=places.tolist() if few else (), labels=labels)
    unit = f" ({found['unit']})" if found.get("unit") else ""
    up = Side(f"gain: smaller {found['score']}{unit}", grid=True)
    figure = draw(Declaration([Panel(marks, across, up)], title=title, columns=4))
    caption = (
        f"Gain of each owner by joining, with 95 % intervals. Of {len(rows)} owners {counts[0]} "
        f"gain, {counts[1]} do worse, {counts[2]} have no material difference, {counts[3]} are "
        f"undecided ({found['data']})."
    )
    records = np.array([owner["records"] for owner in rows], dtype=float)
    table = {**owner_table(people), "records": records, "gain": gain, "low": low, "high": high}
    table["verdict"] = verdicts
    return Picture("forecast-owners", figure, table, caption, _label(found), exact=False)


def _label(found: dict[str, Any]) -> Label:
    """Return the label of a forecast, which is about the data that it read."""
    private = bool(found["not_for_release"])
    text = "Forecast, not a run. No private record was read."
    if private:
        text = "Forecast, not a run. NOT FOR RELEASE: it uses private data."
    return Label(
        text, not private, inf if private else 0.0, None if private else 0.0, True, private
    )
