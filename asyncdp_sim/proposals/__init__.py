"""Proposals: a scenario around a table of one's own, each line of which says why it is so."""

from asyncdp_sim.proposals.block import block
from asyncdp_sim.proposals.timing import Timing
from asyncdp_sim.proposals.whole import whole

__all__ = ["Timing", "block", "whole"]
