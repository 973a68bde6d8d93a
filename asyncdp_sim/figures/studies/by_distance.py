"""Study of privacy over distance: each owner's record against each other owner of a gossip graph.

The networks of ``privacy-over-distance`` of the catalogue are simulated again.
"""

import numpy as np

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.studies.over_distance import Pairs, over_distance
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario, load


def pairs(scenario: Scenario, name: str) -> Pairs:
    """Return what every owner has learned of every other, in all replicates of a scenario.

    Raises
    ------
    SpecError
        If its observer is no node.
    """
    observer, n_owners = scenario.privacy.listener, scenario.owners.count
    # Only it knows pairs, not owners alone; what is no node is refused, and nothing chosen.
    if not isinstance(observer, NodeObserver):
        given = f"{observer.kind!r}"
        raise SpecError([Fault("privacy.observer.kind", given, "allowed is node")])
    accountant = scenario.accountant
    multiplier = accountant.multiplier
    if multiplier is None:
        raise ValueError("an observer that is a node needs Gaussian noise")
    streams = Streams(scenario.run.seed)
    traces = [
        simulate(scenario.network, streams.within("replicate", r + 1))
        for r in range(scenario.run.replicates)
    ]
    squared = [observer.squared(multiplier, trace)[:, :n_owners] for trace in traces]
    apart = ~np.eye(n_owners, dtype=np.bool_)
    hops = distances(scenario)[apart]
    return Pairs(
        name,
        np.tile(hops, len(traces)),
        np.concatenate([each[apart] for each in squared]),
        float(accountant.epsilon.max()),
        accountant.delta,
    )


def distances(scenario: Scenario) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the hops between owners on the graph of a scenario's gossip, (N, N)."""
    import networkx as nx

    n_owners = scenario.owners.count
    graph = scenario.protocol.graph.build(n_owners)  # type: ignore[union-attr]
    found = dict(nx.all_pairs_shortest_path_length(graph))
    owners = range(1, n_owners + 1)
    return np.array([[found[a][b] for b in owners] for a in owners], dtype=np.int64)


def by_distance(sweep: Sweep) -> Picture:
    """Simulate the networks of a sweep again, and draw what owners learn by distance.

    Raises
    ------
    SpecError
        If a cell has another observer.
    """
    graphs = [
        pairs(load(cell.result.directory / "scenario.toml")[0], cell.label(sweep.paths))
        for cell in sweep.cells
    ]
    return over_distance(graphs, [cell.result for cell in sweep.cells])
