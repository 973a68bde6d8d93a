"""Several servers: who waits for whom, who is ahead, and in which order they agree.

An update of several servers has no owner: it stands as (time, 0); so does a server's step.
"""

from collections.abc import Sequence
from typing import Any

from asyncdp_sim.network import Network
from asyncdp_sim.network.graphs import Edges, ServerGraph
from asyncdp_sim.network.laws import Constant, Law, NoTime
from asyncdp_sim.network.protocols import Servers
from tests.ordering.scene import Case, Mishap


def law(value: float | None) -> Law:
    return NoTime() if value is None else Constant(value=value)


def meet(
    clients: int,
    read: str,
    *,
    window: int,
    updates: int,
    latency: Sequence[float | None] = (None, None),
    exchange: float | None = None,
    graph: ServerGraph | None = None,
    compute: float | tuple[float, ...] | None = None,
    **parts: Any,
) -> Network:
    """Return a network of as many servers as there are latencies; each client talks to two."""
    protocol = Servers(
        count=len(latency),
        reach=2,
        read=read,
        window=window,
        latency=tuple(law(value) for value in latency),
        exchange=law(exchange),
        graph=graph,
    )
    return Network(
        answers_allowed=(updates * protocol.answers_each,) * clients,
        updates=updates,
        answers_per_update=None,
        compute=tuple(map(law, compute)) if isinstance(compute, tuple) else law(compute),
        protocol=protocol,
        **parts,
    )


def steps(*times: float) -> tuple[Mishap, ...]:
    return tuple(("server_stepped", time, 0) for time in times)


SERVERS = [
    Case(
        "servers_first_model_is_taken",
        "Server 1 is 0.5 away, server 2 is 2 away. Both clients go by server 1 and are at their "
        "second answer when server 2\nsteps for the first time, at 3.5: then update 1 is made. "
        "Its models, at 2 and 5.5, come too late to be of use.\nAfter two steps they agree: server "
        "2's mask of 5.5 reaches server 1 at 5.75, whose masked model is there at 6.",
        meet(2, "minimum-wait", window=2, updates=2, latency=(0.5, 2), exchange=0.25, compute=1),
        end=6,
        updates=((3.5, 0), (6, 0)),
        released=((1.5, 1), (1.5, 2), (3.5, 1), (3.5, 2)),
        reads=(0, 0, 2, 2),
        stale=(0, 0, 0, 0),
        mishaps=steps(2, 3.5, 4, 5.5),
        ending="updates",
    ),
    Case(
        "servers_all_models_are_awaited",
        "The same servers, but clients wait for both models: they begin at 2 and 7, when server "
        "2's models arrive. What\nthey read dates from the last of the models, sent at 5.",
        meet(2, "client-averaged", window=2, updates=2, latency=(0.5, 2), exchange=0.25, compute=1),
        end=10.5,
        updates=((5, 0), (10.5, 0)),
        released=((3, 1), (3, 2), (8, 1), (8, 2)),
        reads=(0, 0, 5, 5),
        stale=(0, 0, 0, 0),
        mishaps=steps(3.5, 5, 8.5, 10),
        ending="updates",
    ),
    Case(
        "servers_one_gradient_each",
        "One gradient for each server, computed one after the other from 2 on: client 1 begins "
        "with server 1, client 2\nwith server 2. Server 1 has both at 4.5, server 2 at 6; every "
        "answer goes to one server and has a row of its own.",
        meet(2, "basic", window=9, updates=1, latency=(0.5, 2), compute=1),
        end=6,
        updates=((6, 0),),
        released=((3, 1), (3, 2), (4, 1), (4, 2)),
        reads=(0, 0, 0, 0),
        stale=(0, 0, 0, 0),
        mishaps=steps(4.5, 6),
        ending="updates",
    ),
    Case(
        "servers_ahead_at_the_horizon",
        "Client 1 talks to servers 1 and 2, client 2 to 2 and 3, client 3 to 3 and 1; server 3 is "
        "9 away. Servers 2 and 1\nstep at 1.25 and 2.5, at 1.5 and 3, and no update is made. "
        "Client 1's two answers have arrived and wait for updates 1\nand 2; those to server 3 are "
        "under way.",
        meet(
            3,
            "minimum-wait",
            window=9,
            updates=5,
            latency=(None, None, 9),
            compute=(1, 1.25, 1.5),
            until=3.25,
        ),
        end=3.25,
        released=((1, 1), (1.25, 2), (1.5, 3), (2.25, 1), (2.5, 2), (3, 3)),
        open=(*["buffered"] * 2, *["in_flight"] * 4, *["unreleased"] * 3),
        mishaps=steps(1.25, 1.5, 2.5, 3),
        ending="horizon",
    ),
    Case(
        "servers_whose_messages_take_no_time",
        "Computing alone takes time. An iteration, with a consensus after it, takes an event for "
        "each client's computing and for\neach server's step: masks and models are exchanged "
        "within the last server's.",
        meet(2, "minimum-wait", window=1, updates=3, compute=1),
        end=3,
        updates=((1, 0), (2, 0), (3, 0)),
        released=((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)),
        mishaps=steps(1, 1, 2, 2, 3, 3),
        ending="updates",
    ),
    Case(
        "servers_neighbours_agree",
        "Server 2 is linked to servers 1 and 3, which is 3 away. After each step one message to "
        "every neighbour, of 1.\nServer 1 has heard of server 2 at 2 and is at its second step at "
        "3, before server 3 has made its first, at 4.\nServer 2 hears of it at 5: update 1. Then "
        "client 2 computes, and again server 3 steps at 9 and is heard of at 10.",
        meet(
            2,
            "minimum-wait",
            window=1,
            updates=2,
            latency=(None, None, 3),
            exchange=1,
            compute=1,
            graph=Edges(between=((1, 2), (2, 3))),
        ),
        end=10,
        updates=((5, 0), (10, 0)),
        released=((1, 1), (1, 2), (3, 1), (6, 2)),
        reads=(0, 0, 2, 5),
        stale=(0, 0, 0, 0),
        mishaps=steps(1, 1, 3, 4, 6, 9),
        ending="updates",
    ),
]
