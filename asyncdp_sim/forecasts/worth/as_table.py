"""Figures of what joining is worth to every owner, as plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from asyncdp_sim.forecasts.may_be_off import MayBeOff
from asyncdp_sim.forecasts.worth.changes import Change
from asyncdp_sim.forecasts.worth.errors import Errors
from asyncdp_sim.forecasts.worth.intervals import intervals


def as_table(
    found: Errors, changes: Sequence[Change], off: MayBeOff | None = None
) -> dict[str, Any]:
    """Return all figures as plain values, ready for JSON; half widths are those of sentences."""
    at, known = found.given, intervals(found, off)
    columns = {
        "name": list(found.names),
        "records": found.records.tolist(),
        "joined": found.joined[at].mean(axis=0).tolist(),
        "joined_half_width": known.joined.tolist(),
        "alone": found.alone.tolist(),
        "alone_half_width": known.alone.tolist(),
        "gain": found.gain(at).tolist(),
        "gain_half_width": known.gain.tolist(),
        "together": found.together.tolist(),
        "guessing": found.guessing.tolist(),
        "profits": found.profits(at).tolist(),
        "loses": found.loses(at).tolist(),
        "epsilon_needed": [found.needed(owner) for owner in range(len(found.names))],
    }
    rows = zip(*columns.values(), strict=True)
    return {
        "score": found.score.name,
        "unit": found.unit,
        "runs": found.joined.shape[1],
        "budgets_times": list(found.factors),
        "owners": [dict(zip(columns, row, strict=True)) for row in rows],
        "changes": [asdict(each) for each in changes],
    }
