"""Servers: what learning is told and when, whose streams are drawn from, and what is refused."""

import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Servers
from asyncdp_sim.trace import EventKind
from tests.together import together
from tests.unit.network.server_networks import READS, network, random_net, traced


@pytest.mark.parametrize("read", READS)
def test_first_and_last_models_are_of_the_right_step(read):
    """By the events alone: nobody reads x_k before its server has stepped k times, or later."""
    net = random_net(3, read, Exponential)
    trace = traced(net, events=True)
    stepped = [trace.events[trace.events["attempt"] == j] for j in range(1, net.protocol.count + 1)]
    stepped = [rows["tick"][rows["kind"] == EventKind.server_stepped] for rows in stepped]
    assert all(len(ticks) == net.updates for ticks in stepped)
    for row in trace.exchanges:
        k = int(row["end_k"])  # steps that the model had
        peers = [int(row["peer"])] if row["peer"] > 0 else net.protocol.reached(int(row["owner"]))
        for peer in peers:
            if k > 0:
                assert stepped[peer - 1][k - 1] <= row["read_tick"]
            if read != "client-averaged":
                assert row["read_tick"] <= row["release_tick"] <= stepped[peer - 1][k]


class Told:
    """A learning object that keeps what it is told, and checks what must hold whenever."""

    def __init__(self, net):
        self.net = net
        self.steps = dict.fromkeys(range(1, net.protocol.count + 1), 0)
        self.answers = dict.fromkeys(range(1, net.n_owners + 1), 0)
        self.open = {}
        self.k = 0

    def read(self, owner, message, peer=0):
        each = self.net.protocol.answers_each
        assert sum(who == owner for who, _ in self.open.values()) < each
        for server in [peer] if peer > 0 else self.net.protocol.reached(owner):
            assert self.steps[server] == self.answers[owner] // each  # it has not moved on
        self.open[message] = (owner, peer)

    def release(self, owner, message):
        assert self.open[message][0] == owner

    def apply(self, owner, message, peer=0):
        assert self.open.pop(message) == (owner, peer)
        self.answers[owner] += 1

    def server_step(self, server):
        self.steps[server] += 1
        protocol = self.net.protocol
        near = [h for h in self.answers if server in protocol.reached(h)]
        for owner in near:
            k, slot = divmod(self.answers[owner], protocol.answers_each)
            had = k + (protocol.reached(owner).index(server) < slot)
            assert had >= self.steps[server]  # all its clients have answered

    def update(self):
        self.k += 1
        assert min(self.steps.values()) >= self.k


@together
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("seed", range(4))
def test_learning_is_told_in_an_order_that_can_be_computed(seed, read):
    """Each model is read while its server still has it, and no step lacks an answer."""
    net = random_net(seed, read, Exponential)
    if seed == 3:
        net = net.model_copy(update={"ties": "shuffled"})
    told = Told(net)
    trace = traced(net, learning=told, events=True)
    assert set(told.steps.values()) == {net.updates}
    assert told.k == trace.n_updates == net.updates
    assert told.open == {}
    alone = traced(net)
    assert alone.exchanges.tolist() == trace.exchanges.tolist()
    assert len(trace.exchanges) == net.updates * net.n_owners * net.protocol.answers_each


def test_an_owner_draws_the_same_whoever_else_takes_part():
    """Each has streams of its own: its computing times do not depend on clients or servers."""
    spent = []
    for clients, count in [(3, 2), (6, 4)]:
        protocol = Servers(count=count, read="client-averaged", window=3)
        net = network(protocol, clients, 5, compute=Exponential(mean=1.0))
        rows = traced(net).exchanges
        mine = rows[rows["owner"] == 1]
        spent.append((mine["release_tick"] - mine["read_tick"]).tolist())
    assert spent[0] == spent[1]
    assert len(set(spent[0])) == 5


def test_servers_draw_from_streams_of_their_own():
    law = Exponential(mean=1.0)
    one, two = (
        traced(network(Servers(count=2, read="minimum-wait", window=1, latency=laws), 2, 1))
        for laws in [(law, law), (law, Exponential(mean=9.0))]
    )
    assert one.update_ticks.tolist() != two.update_ticks.tolist()
    first = [trace.exchanges[trace.exchanges["peer"] == 1] for trace in (one, two)]
    assert len(first[0]) > 0
    assert first[0]["release_tick"][0] == first[1]["release_tick"][0]


def test_owners_reach_servers_in_turn():
    protocol = Servers(count=4, reach=3, read="basic", window=1)
    near = [protocol.reached(h) for h in (1, 2, 3, 5)]
    assert near == [(1, 2, 3), (2, 3, 4), (3, 4, 1), (1, 2, 3)]
    whole = parse(Servers, {"kind": "servers", "count": 4, "read": "basic", "window": 1})
    assert whole.reached(3) == (3, 4, 1, 2)
