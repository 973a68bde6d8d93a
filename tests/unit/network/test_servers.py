"""Servers that step on their own: when, what learning receives, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal
from asyncdp_sim.network.protocols import Servers
from asyncdp_sim.network.protocols.servers import Server, Stage
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.trace import Ending, ExchangeOutcome
from tests import traces
from tests.together import together

# Networks of several servers, and when everything happens in them by max and min alone.

READS = ["minimum-wait", "client-averaged", "basic"]


def network(protocol, clients=3, updates=6, latency=(), **more):
    answers = updates * protocol.answers_each
    parts = {"updates": updates, "latency": dict(latency), "protocol": protocol}
    return traces.network(clients, answers, **parts, **more)


def random_net(seed, read, law=Constant):
    """Return a network whose durations are different for all, and constant unless said."""
    rng = np.random.default_rng(seed)
    count, clients = int(rng.integers(2, 6)), int(rng.integers(4, 9))
    reach = "all" if rng.random() < 0.3 else int(rng.integers(2, count + 1))

    def laws(number, most):
        drawn = rng.uniform(0, most, number)
        return tuple(
            Constant(value=x) if law is Constant else Exponential(mean=x + 0.01) for x in drawn
        )

    protocol = Servers(
        count=count,
        reach=reach,
        read=read,
        window=int(rng.integers(1, 5)),
        latency=laws(count, [0.2, 3.0][seed % 2]),
        exchange=laws(1, 1.0)[0],
    )
    latency = {"query": laws(clients, 0.3), "answer": laws(clients, 0.3)}
    return network(protocol, clients, 13, latency, compute=laws(clients, 1.0))


def by_recursion(net):
    """Return when updates are made, and (read, release, end) of each row, by max and min alone."""
    p, e, clients = net.protocol, net.protocol.exchange.value, range(1, net.n_owners + 1)
    s, q, a, c = (
        {i: round(law.value * 10**9) for i, law in enumerate(laws, 1)}
        for laws in (p.latency, net.latency.query, net.latency.answer, net.compute)
    )
    e, servers = round(e * 10**9), range(1, p.count + 1)
    through = dict.fromkeys(servers, 0)
    updates, rows = [], []
    for k in range(1, net.updates + 1):
        step = dict(through)
        for h in clients:
            near = p.reached(h)
            come = {server: through[server] + s[server] + q[h] for server in near}
            first = min(come.values())
            begin = first if p.read == "minimum-wait" else max(come.values())
            for slot, server in enumerate(near, 1):
                sent = begin + c[h] * (slot if p.read == "basic" else 1)
                step[server] = max(step[server], sent + a[h] + s[server])
                if p.read == "basic":
                    rows.append((k, h, through[server], sent, sent + a[h] + s[server]))
            if p.read != "basic":
                known = [j for j in near if p.read == "client-averaged" or come[j] == first]
                read = max(through[server] for server in known)
                rows.append((k, h, read, sent, sent + a[h] + max(s[j] for j in near)))
        if k % p.window == 0:
            said = {j: max([step[j], *(step[i] + e for i in servers if i != j)]) for j in servers}
            step = {j: max([said[j], *(said[i] + e for i in servers if i != j)]) for j in servers}
        through = step
        updates.append(max(through.values()))
    return updates, rows


# Servers that step on their own: when, and how far ahead of each other.

ORACLE = pytest.mark.oracle("times of the steps of POLAR's servers")


@together
@ORACLE
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("seed", range(8))
def test_every_tick_by_a_recursion(seed, read):
    net = random_net(seed, read)
    trace = traces.traced(net)
    updates, rows = by_recursion(net)
    assert trace.update_ticks.tolist() == updates
    found = trace.exchanges
    names = ("end_k", "owner", "read_tick", "release_tick", "end_tick")
    assert sorted((row[0] + 1, *row[1:]) for row in found[list(names)].tolist()) == sorted(rows)
    assert np.array_equal(found["read_k"], found["end_k"])
    assert trace.ending is Ending.updates


def test_the_recursion_sees_servers_that_do_not_wait_for_all_masked_models(monkeypatch):
    def hasty(server):
        if server._stage is Stage.masking and server._received[Stage.masking, server._steps] > 0:
            server._continue()

    monkeypatch.setattr(Server, "_agree", hasty)
    net = random_net(2, "minimum-wait")
    assert traces.traced(net).update_ticks.tolist() != by_recursion(net)[0]


def test_rows_of_later_updates_may_arrive_first():
    """A slow third server holds update 1 back, while clients of 1 and 2 are two steps ahead."""
    away = [Constant(value=0), Constant(value=0), Constant(value=9)]
    protocol = Servers(count=3, reach=2, read="minimum-wait", window=9, latency=away)
    net = network(protocol, 3, 5, compute=Constant(value=1))
    trace = traces.traced(net)
    rows = trace.exchanges
    assert not trace.in_order
    assert np.any(np.diff(rows["end_tick"]) < 0)
    assert np.all(np.diff(rows["end_k"]) >= 0)
    assert np.all(rows["end_tick"] <= trace.update_ticks[rows["end_k"]])
    with pytest.raises(InvariantError, match="go back in time"):
        replace(trace, in_order=True)
    cut = traces.traced(net.model_copy(update={"until": 6.5}))
    assert (cut.ending, cut.n_updates) == (Ending.horizon, 0)
    ahead = cut.exchanges[cut.exchanges["outcome"] == ExchangeOutcome.buffered]
    # client 1's alone need no third server
    assert ahead[["owner", "end_k"]].tolist() == [(1, k) for k in range(5)]
    cut_short = cut.exchanges[cut.exchanges["outcome"] == ExchangeOutcome.in_flight]
    assert cut_short["read_k"].tolist() == cut_short["end_k"].tolist()
    with pytest.raises(InvariantError):
        replace(cut, in_order=True)


@ORACLE
@pytest.mark.parametrize("read", READS)
def test_a_step_takes_constant_time_as_predicted(read):
    laws = {"latency": Constant(value=0.25), "exchange": Constant(value=0.5)}
    protocol = Servers(count=4, reach=3, read=read, window=5, **laws)
    latency = {"query": Constant(value=0.125), "answer": Constant(value=0.0625)}
    net = network(protocol, 7, 20, latency, compute=Constant(value=1), numbers=3)
    gradients = 3 if read == "basic" else 1
    exact = 5 / (5 * (0.125 + gradients + 0.0625 + 0.5) + 1)
    predicted = {each.quantity: each.value for each in predict(net)}
    assert predicted["throughput"] == pytest.approx(exact, rel=1e-15)
    assert predicted["mean_staleness"] == 0
    trace = traces.traced(net)
    assert trace.n_updates / (trace.end_tick / 1e9) == pytest.approx(exact, rel=1e-15)


def test_the_first_model_is_not_waited_for_longer_than_all():
    """Lognormal latencies: minimum-wait makes more steps in the same time, in every replicate."""
    law = Lognormal(mean=0.5, cv=2.0)
    rates = []
    for read in READS[:2]:
        protocol = Servers(count=5, read=read, window=10, latency=law)
        net = network(protocol, 6, 40, compute=Constant(value=0.1))
        rates.append([traces.traced(net, seed).end_tick for seed in range(5)])
    assert np.all(np.array(rates[0]) < 0.85 * np.array(rates[1]))


# Servers: what learning is told and when, whose streams are drawn from, and what is refused.


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
    trace = traces.traced(net, learning=told)
    assert set(told.steps.values()) == {net.updates}
    assert told.k == trace.n_updates == net.updates
    assert told.open == {}
    assert traces.traced(net).exchanges.tolist() == trace.exchanges.tolist()
    assert len(trace.exchanges) == net.updates * net.n_owners * net.protocol.answers_each


def test_an_owner_draws_the_same_whoever_else_takes_part():
    """Each has streams of its own: its computing times do not depend on clients or servers."""
    spent = []
    for clients, count in [(3, 2), (6, 4)]:
        protocol = Servers(count=count, read="client-averaged", window=3)
        net = network(protocol, clients, 5, compute=Exponential(mean=1.0))
        rows = traces.traced(net).exchanges
        mine = rows[rows["owner"] == 1]
        spent.append((mine["release_tick"] - mine["read_tick"]).tolist())
    assert spent[0] == spent[1]
    assert len(set(spent[0])) == 5


def test_servers_draw_from_streams_of_their_own():
    law = Exponential(mean=1.0)
    one, two = (
        traces.traced(network(Servers(count=2, read="minimum-wait", window=1, latency=laws), 2, 1))
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
