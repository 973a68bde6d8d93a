"""Reductions of traces: what figures draw and tests assert."""

from asyncdp_sim.measures.summary import (
    SHARE,
    NetworkSummary,
    Ratio,
    busy_ticks,
    gaps,
    repeated,
    shares,
    summarise,
    updates_until_all,
)

__all__ = [
    "SHARE",
    "NetworkSummary",
    "Ratio",
    "busy_ticks",
    "gaps",
    "repeated",
    "shares",
    "summarise",
    "updates_until_all",
]
