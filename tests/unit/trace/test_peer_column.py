"""The column ``peer`` of ``updates``: whose model was read, where there are several."""

import numpy as np

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.results.columns import update_columns


def columns(**protocol: object) -> dict[str, np.ndarray]:
    asked = parse(Protocol, protocol)
    several = None if asked.makes_updates else 1
    network = Network(
        answers_allowed=(20,) * 3, updates=10, protocol=asked, answers_per_update=several
    )
    return update_columns([simulate(network, Streams(1).within("replicate", 1))], [1])


def test_neighbours_name_each_other():
    found = columns(kind="gossip", graph={"kind": "ring"})
    pairs: dict[int, set[tuple[int, int]]] = {}
    for k, owner, peer in zip(found["k"], found["owner"], found["peer"], strict=True):
        pairs.setdefault(int(k), set()).add((int(owner), int(peer)))
    for both in pairs.values():
        assert {(peer, owner) for owner, peer in both} == both
        assert len(both) == 2


def test_clients_name_the_server_that_they_read():
    found = columns(kind="servers", count=2, read="minimum-wait", window=2)
    assert set(found["peer"].tolist()) <= {1, 2}


def test_one_learner_needs_no_name():
    assert "peer" not in columns(kind="request")
    assert "peer" not in columns(kind="rounds")
