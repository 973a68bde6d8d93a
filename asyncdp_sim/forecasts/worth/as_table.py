"""Figures of what joining is worth to every owner, as plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from asyncdp_sim.forecasts.worth.changes import Change
from asyncdp_sim.forecasts.worth.errors import Errors


def as_table(found: Errors, changes: Sequence[Change]) -> dict[str, Any]:
    """Return all figures as plain values, ready for JSON."""
    at = found.given
    columns = {
        "name": list(found.names),
        "records": found.records.tolist(),
        "joined": found.joined[at].mean(axis=0).tolist(),
        "joined_half_width": found.half_width(at).tolist(),
        "alone": found.alone.tolist(),
        "together": found.together.tolist(),
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
