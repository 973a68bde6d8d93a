"""Numbers at the ends of their domains, of graphs that are drawn."""

from contextlib import suppress
from itertools import product

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network.graphs import GossipGraph
from asyncdp_sim.network.topology import Topology
from tests.conformance.members import examples

GRAPHS = [*examples(Topology), *examples(GossipGraph)]
LEAST, MOST = (5e-324, 1e-300, 1e-9), (1e9, 1.7e308)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: f"{type(graph).__name__}")
@pytest.mark.parametrize("number", [*LEAST, *MOST])
def test_a_graph_of_them_is_drawn_or_refused(graph, number):
    """Found by attack: a reach of 5e-324 times the largest distance was 0, and divided by."""
    numbers = range(1, 9) if "graph" in type(graph).model_fields else (None,)
    for name, field in type(graph).model_fields.items():
        for owners, drawn in product((1, 5), numbers if field.annotation is float else ()):
            chosen = {name: number} | ({} if drawn is None else {"graph": drawn})
            with suppress(SpecError):
                type(graph)(**{**dict(graph), **chosen}).faults(owners)
