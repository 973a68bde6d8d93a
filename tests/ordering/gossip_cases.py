"""Meetings of neighbours: who is free, who is slower, and when an edge falls silent.

Edges are numbered in ascending order; an update is noted under its second owner (on a star, its
only one), a tick under the edge's first.
"""

from collections.abc import Sequence

from asyncdp_sim.network import Latency, Network
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import ScriptedClock
from asyncdp_sim.network.graphs import Edges, GossipGraph, StarGraph
from asyncdp_sim.network.laws import Constant, Law, NoTime
from asyncdp_sim.network.protocols import Gossip
from tests.ordering.scene import Case, dark, stay

LINE = Edges(between=[[1, 2], [2, 3], [3, 4]])


def law(value: float | None) -> Law:
    return NoTime() if value is None else Constant(value=value)


def meet(
    graph: GossipGraph,
    times: Sequence[Sequence[float]],
    *,
    owners: int,
    query: float | None = None,
    compute: float | tuple[float, ...] | None = None,
    answer: float | None = None,
    allowed: tuple[int, ...] | None = None,
    availability: Availability | None = None,
    until: float | None = None,
    loss: tuple[float, ...] | float = 0.0,
) -> Network:
    """A network whose edges wake at given times, one list per edge."""
    several = isinstance(compute, tuple)
    return Network(
        answers_allowed=(10,) * owners if allowed is None else allowed,
        updates=10,
        until=until,
        answers_per_update=None,
        latency=Latency(query=law(query), answer=law(answer)),
        compute=tuple(map(law, compute)) if several else law(compute),
        availability=availability or Always(),
        channel=Ideal(loss=loss),
        protocol=Gossip(graph=graph, clock=ScriptedClock(times=[list(own) for own in times])),
    )


GOSSIPS = [
    Case(
        "gossip_star_drops_what_the_lock_refuses",
        "On a star every meeting takes the learner: owner 2's wake-up at 1.2 and owner 1's own at "
        "1.4 find it\nbusy in [1, 1.5) and are dropped; only owners answer, so that an update has "
        "one.",
        meet(StarGraph(), [[1, 1.4], [1.2, 2]], owners=2, compute=0.5),
        end=2.5,
        updates=((1.5, 1), (2.5, 2)),
        dropped=((1.2, 2), (1.4, 1)),
        reads=(1, 2),
        stale=(0, 0),
        ending="silent",
    ),
    Case(
        "gossip_pairs_side_by_side",
        "Owners 1 and 2 meet in [1, 1.5), 3 and 4 in [1.2, 1.7): side by side, which makes the "
        "second pair's\nanswers stale by one. The edge between 2 and 3 wakes at 1.3 and finds "
        "both busy, at 1.6 owner 3 still.",
        meet(LINE, [[1], [1.3, 1.6], [1.2]], owners=4, compute=0.5),
        end=1.7,
        updates=((1.5, 2), (1.7, 4)),
        dropped=((1.3, 2), (1.6, 3)),
        released=((1.5, 1), (1.5, 2), (1.7, 3), (1.7, 4)),
        reads=(1, 1, 1.2, 1.2),
        stale=(0, 0, 1, 1),
        ending="silent",
    ),
    Case(
        "gossip_waits_for_the_slower",
        "Models travel for 0.1; owner 1 computes for 0.2 and owner 2 for 0.5: both answers leave "
        "at 1.6 and\narrive at 1.65, and till then owner 1 is as busy as owner 2.",
        meet(
            LINE,
            [[1, 1.62], [], []],
            owners=4,
            query=0.1,
            compute=(0.2, 0.5, 0.2, 0.2),
            answer=0.05,
        ),
        end=1.65,
        updates=((1.65, 2),),
        dropped=((1.62, 1),),
        released=((1.6, 1), (1.6, 2)),
    ),
    Case(
        "gossip_wakes_at_the_end_of_a_meeting",
        "The meeting of 1 and 2 ends at 1.5, before the edge between 2 and 3 wakes at that tick: "
        "nothing is\ndropped.",
        meet(LINE, [[1], [1.5], []], owners=4, compute=0.5),
        end=2,
        updates=((1.5, 2), (2, 3)),
    ),
    Case(
        "gossip_without_time",
        "Where nothing takes time all three edges that wake at 1 meet, one after the other, in "
        "the order of\nthe edges; owner 2 is in two of the meetings.",
        meet(LINE, [[1], [1], [1]], owners=4),
        end=1,
        updates=((1, 2), (1, 3), (1, 4)),
        stale=(0, 0, 0, 0, 0, 0),
    ),
    Case(
        "gossip_two_wake_at_once",
        "Two edges of owner 2 wake at 1: the first in order has it, the other is dropped.",
        meet(LINE, [[1], [1], []], owners=4, compute=0.5),
        end=1.5,
        updates=((1.5, 2),),
        dropped=((1, 2),),
    ),
    Case(
        "gossip_spent_owner_silences_its_edges",
        "Owner 2 may answer once: its edges are silent from 1.5 on, the wake-ups at 2 and 3 do "
        "not happen.\nOwner 1 then has no neighbour left; 3 and 4 go on till their clock ends.",
        meet(LINE, [[1, 2], [3], [2.5]], owners=4, compute=0.5, allowed=(9, 1, 9, 9)),
        end=3,
        updates=((1.5, 2), (3, 4)),
        ending="silent",
    ),
    Case(
        "gossip_ends_with_the_last_edge",
        "Owner 2 spends its last answer at 1.5, and with that nobody has a neighbour: the run "
        "ends with the\nupdate at 1.75, which was under way.",
        meet(
            Edges(between=[[1, 2], [2, 3]]),
            [[1, 9], [8]],
            owners=3,
            compute=0.5,
            answer=0.25,
            allowed=(9, 1, 9),
        ),
        end=1.75,
        updates=((1.75, 2),),
        ending="silent",
    ),
    Case(
        "gossip_needs_both_online",
        "Owner 2 is offline in [1, 1.5): the edge's wake-up at 1.2 is dropped because of it; an "
        "owner that goes\noffline during a meeting completes it.",
        meet(
            LINE,
            [[0.8, 1.2, 1.6], [], []],
            owners=4,
            compute=0.5,
            availability=dark([[2]], 1, 0.5),
        ),
        end=2.1,
        updates=((1.3, 2), (2.1, 2)),
        missed=((1.2, 2),),
        away=((1, 2),),
        back=((1.5, 2),),
        online=(1.0, 1 - 0.5 / 2.1, 1.0, 1.0),
    ),
    Case(
        "gossip_loses_answers_one_by_one",
        "Whatever owners 1 and 2 send is lost. Their meeting at 1 makes no update, and nobody's "
        "model\nchanges; of 2 and 3 at 2 owner 2 alone hears, and its update is noted under "
        "owner 3; all are charged.",
        meet(LINE, [[1], [2], [3]], owners=4, answer=0.25, loss=(1.0, 1.0, 0.0, 0.0)),
        end=3.25,
        updates=((2.25, 3), (3.25, 4)),
        released=((1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4)),
        reads=(2, 3, 3),
        stale=(0, 0, 0),
        open=("lost", "lost", "lost"),
        mishaps=(
            ("answer_lost noise", 1.25, 1),
            ("answer_lost noise", 1.25, 2),
            ("answer_lost noise", 2.25, 2),
        ),
        ending="silent",
    ),
    Case(
        "gossip_ends_when_all_have_left",
        "All owners leave for good at 1.2, during the meeting of 1 and 2: that update is made, "
        "and the run ends.",
        meet(
            LINE,
            [[1, 2], [2], [2]],
            owners=4,
            compute=0.5,
            availability=stay(lifetime=1.2),
        ),
        end=1.5,
        updates=((1.5, 2),),
        away=((1.2, 1), (1.2, 2), (1.2, 3), (1.2, 4)),
        online=(0.8, 0.8, 0.8, 0.8),
        ending="silent",
    ),
]
