"""Networks of several servers, and when everything happens in them by max and min alone."""

import numpy as np

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Latency, Network, simulate
from asyncdp_sim.network.laws import Constant, Exponential, NoTime
from asyncdp_sim.network.protocols import Servers

READS = ["minimum-wait", "client-averaged", "basic"]


def constants(*values):
    return tuple(Constant(value=value) for value in values)


def network(protocol, clients=3, updates=6, query=NoTime(), answer=NoTime(), **more):  # noqa: B008
    fields = {
        "answers_allowed": (updates * protocol.answers_each,) * clients,
        "updates": updates,
        "answers_per_update": None,
        "latency": Latency(query=query, answer=answer),
        "protocol": protocol,
    }
    return Network(**fields | more)


def traced(net, seed=1, **more):
    return simulate(net, Streams(seed).within("replicate", 1), **more)


def units(ticks):
    return [tick / 1e9 for tick in ticks.tolist()]


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
    more = {"query": laws(clients, 0.3), "answer": laws(clients, 0.3)}
    return network(protocol, clients, 13, compute=laws(clients, 1.0), **more)


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
