"""Reductions of traces: what figures draw and tests assert."""

from asyncdp_sim.measures.summary import (
    SHARE,
    NetworkSummary,
    Ratio,
    busy_ticks,
    gaps,
    shares,
    summarise,
    updates_until_all,
)
