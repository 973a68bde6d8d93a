"""Topology: distances of owners from the learner, and links that fail, one kind per file."""

from typing import Annotated

from asyncdp_sim.families import FAMILY
from asyncdp_sim.network.topology.failures import LinkFailures
from asyncdp_sim.network.topology.graph_file import GraphFile
from asyncdp_sim.network.topology.random_graphs import Geometric, ScaleFree, Waxman
from asyncdp_sim.network.topology.star import Star

Topology = Annotated[Star | Waxman | Geometric | ScaleFree | GraphFile, FAMILY]
"""Every kind of topology; a new one joins by its line here."""

__all__ = [
    "Geometric",
    "GraphFile",
    "LinkFailures",
    "ScaleFree",
    "Star",
    "Topology",
    "Waxman",
]
