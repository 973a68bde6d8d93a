"""The events that a run kept, replicate by replicate, as the trace had them."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.trace.vocabulary import EVENTS

Events = npt.NDArray[np.void]
_KINDS = {kind.name: kind.value for kind in EventKind}
_DETAILS = {detail.name.replace("_", "-"): detail.value for detail in Detail} | {None: 0}


def tables(result: Result, replicate: int | None = None) -> dict[int, Events]:
    """Return the events of every replicate, or of one, by its number.

    Raises
    ------
    ResultError
        If the result kept no events, or its table is damaged, or lacks this replicate.
    """
    names = ("replicate", "tick", "kind", "owner", "message", "attempt", "detail")
    found = dict(zip(names, result.columns("events", *names), strict=True))
    if replicate is not None:
        rows = found["replicate"] == replicate
        found = {name: column[rows] for name, column in found.items()}
    number = found.pop("replicate")
    if len(number) == 0:
        which = "" if replicate is None else f" of replicate {replicate}"
        raise not_a_result(result.directory, f"no events{which}")
    rows = np.empty(len(number), dtype=EVENTS)
    for name in ("tick", "owner"):
        rows[name] = found[name]
    for name in ("message", "attempt"):  # null, which a frame reads as NaN, is none
        rows[name] = np.nan_to_num(found[name].astype(float))
    try:
        rows["kind"] = [_KINDS[kind] for kind in found["kind"]]
        rows["detail"] = [_DETAILS[_hyphens(detail)] for detail in found["detail"]]
    except KeyError as error:
        raise not_a_result(result.directory, f"an unknown event, {error}") from None
    starts = np.flatnonzero(np.diff(number, prepend=-1) != 0)
    parts = np.split(rows, starts[1:])
    return {int(number[start]): part for start, part in zip(starts, parts, strict=True)}


def _hyphens(detail: object) -> str | None:
    return detail.replace("_", "-") if isinstance(detail, str) else None
