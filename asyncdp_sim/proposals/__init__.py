"""Proposals: a scenario around the user's table, with the reason for each line."""

from asyncdp_sim.proposals.block import block
from asyncdp_sim.proposals.whole import Timing, whole

__all__ = ["Timing", "block", "whole"]
