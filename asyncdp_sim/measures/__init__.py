"""Reductions of traces: what figures draw and tests assert."""

from asyncdp_sim.measures.reductions import busy_ticks, gaps, repeated, shares, updates_until_all
from asyncdp_sim.measures.summary import SHARE, NetworkSummary, Ratio, summarise

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
