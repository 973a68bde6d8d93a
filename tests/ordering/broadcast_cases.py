"""The broadcast protocol: which query an owner answers, when, and what the learner makes of it.

Queries go out at 0, interval, 2·interval, …; without a latency they are heard at that tick.
"""

from asyncdp_sim.network.channels import Aloha, Ideal
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Broadcast
from tests.ordering.scene import Case, Together, dark, losing, net

NEXT_TICK = Broadcast(interval=1)

AT_TICKS = [
    Case(
        "broadcast_newest_query_once",
        "The tick at 1.5 answers the query of 1, the newest (that of 0 is never answered); the "
        "tick at 1.7 finds nothing\nto answer; that at 2.5 answers the query of 2.",
        net([[1.5, 1.7, 2.5]], compute=0.1, protocol=NEXT_TICK),
        end=2.6,
        updates=((1.6, 1), (2.6, 1)),
        reads=(1, 2),
        stale=(0, 0),
        ending="silent",
    ),
    Case(
        "broadcast_before_a_tick",
        "At 1 the query goes out, and is heard, before the owner's clock ticks: that tick answers "
        "it.",
        net([[1]], compute=0.1, protocol=NEXT_TICK),
        end=1.1,
        updates=((1.1, 1),),
        reads=(1,),
    ),
    Case(
        "broadcast_query_latency",
        "Queries travel for 0.25: the tick at 1.2 still answers the query of 0, that at 1.25 the "
        "query of 1, which\narrives just before. The second is stale by the first's update.",
        net([[1.2, 1.25]], query=0.25, protocol=NEXT_TICK),
        end=1.25,
        updates=((1.2, 1), (1.25, 1)),
        reads=(0, 1),
        stale=(0, 1),
    ),
    Case(
        "broadcast_reaches_owners_at_different_times",
        "Queries travel for 0.1 to owner 1 and for 0.6 to owner 2: at 1.5 both clocks tick, owner "
        "1 answers the query\nof 1, owner 2 that of 0.",
        net([[1.5], [1.5]], query=(0.1, 0.6), protocol=NEXT_TICK),
        end=1.5,
        updates=((1.5, 1), (1.5, 2)),
        reads=(1, 0),
        stale=(0, 1),
    ),
    Case(
        "broadcast_holds_the_update_of_its_tick",
        "Owner 1's gradient is ready at 2, before the query of 2 goes out: the query holds its "
        "update, so owner 1's\nnext answer is stale by owner 2's update of 2.1 alone. That "
        "update's query, of 1, is no longer the newest; it is\napplied all the same.",
        net([[1.5, 2.5], [1.6]], compute=0.5, protocol=NEXT_TICK),
        end=3,
        updates=((2, 1), (2.1, 2), (3, 1)),
        reads=(1, 1, 2),
        stale=(0, 1, 1),
    ),
    Case(
        "broadcast_superseded_answers_are_discarded",
        "Owner 1's answer arrives at 2, just before the next query goes out, and is used; owner "
        "2's, at 2.1, answers a\nquery that is no longer the newest, and is turned away.",
        net([[1.5], [1.6]], compute=0.5, protocol=Broadcast(interval=1, superseded="discard")),
        end=2.1,
        updates=((2, 1),),
        mishaps=(("answer_discarded superseded", 2.1, 2),),
        open=("discarded",),
        released=((2, 1), (2.1, 2)),
    ),
    Case(
        "broadcast_superseded_without_an_update",
        "The query of 1 goes out while owner 1 works on that of 0: its answer, at 1.2, is turned "
        "away although the model\nhas not changed since. That of owner 2, to the query of 1, is "
        "used.",
        net([[0.9], [1.4]], compute=0.3, protocol=Broadcast(interval=1, superseded="discard")),
        end=1.7,
        updates=((1.7, 2),),
        mishaps=(("answer_discarded superseded", 1.2, 1),),
        open=("discarded",),
        released=((1.2, 1), (1.7, 2)),
        reads=(1,),
        stale=(0,),
    ),
    Case(
        "broadcast_busy_owner_keeps_the_query",
        "The owner works in [0.5, 1.7). The query of 1 reaches it at work and is kept: its tick at "
        "1.5 is dropped, that\nat 1.8 answers it.",
        net([[0.5, 1.5, 1.8]], compute=1.2, protocol=NEXT_TICK),
        end=3,
        updates=((1.7, 1), (3, 1)),
        dropped=((1.5, 1),),
        reads=(0, 1),
        stale=(0, 1),
    ),
    Case(
        "broadcast_offline_owner_misses_a_query",
        "Offline in [0.75, 1.25), the owner never learns of the query of 1: its tick at 1.5 "
        "answers that of 0, the newest\nit has heard.",
        net([[1.5, 1.6]], protocol=NEXT_TICK, availability=dark([[1]], 0.75, 0.5)),
        end=1.6,
        updates=((1.5, 1),),
        mishaps=(("query_lost offline", 1, 1),),
        away=((0.75, 1),),
        back=((1.25, 1),),
        reads=(0,),
        online=(1.1 / 1.6,),
    ),
    Case(
        "broadcast_as_owners_come_and_go",
        "A query goes out before owners go on or off line at that tick: owner 1, offline in [1, "
        "1.5), has heard the query\nof 1 and answers it at 1.6; owner 2, offline in [0.5, 1), has "
        "not, and answers that of 0 at 1.4.",
        net(
            [[1.6], [1.4]],
            protocol=NEXT_TICK,
            availability=Together((dark([[1]], 1, 0.5), dark([[2]], 0.5, 0.5))),
        ),
        end=1.6,
        updates=((1.4, 2), (1.6, 1)),
        mishaps=(("query_lost offline", 1, 2),),
        away=((0.5, 2), (1, 1), (1.5, 2)),
        back=((1, 2), (1.5, 1)),
        reads=(0, 1),
        stale=(0, 1),
        online=(1.1 / 1.6, 1 / 1.6),
    ),
    Case(
        "broadcast_at_multiples_of_the_interval",
        "An interval of 1/3, 333333333 ticks: query j goes out at j times that; the tick at "
        "0.999999999 answers the\nquery of that tick.",
        net([[0.999999999]], protocol=Broadcast(interval=1 / 3)),
        end=0.999999999,
        updates=((0.999999999, 1),),
        reads=(0.999999999,),
    ),
    Case(
        "broadcast_spares_the_spent",
        "Owner 1 may release one answer, and has at 0.5: the query of 1 is not for it any more.",
        net([[0.5, 1.5], [1.5]], allowed=(1, 5), protocol=NEXT_TICK),
        end=1.5,
        updates=((0.5, 1), (1.5, 2)),
        reads=(0, 1),
    ),
    Case(
        "broadcast_query_lost",
        "The query of 0 is lost for every owner: a tick at 0.5 has nothing to answer, one at 1.5 "
        "the query of 1.",
        net([[0.5, 1.5]], query=0.25, protocol=NEXT_TICK, channel=Ideal(loss_query=losing(1))),
        end=1.5,
        updates=((1.5, 1),),
        mishaps=(("query_lost noise", 0.25, 1),),
        reads=(1,),
    ),
]

AFTER_A_DELAY = [
    Case(
        "broadcast_answers_after_a_delay",
        "Every query is answered 0.25 after it is heard, whatever the clocks, and the answers "
        "travel for 0.5: two\nupdates at 0.75 and two at 1.75, the second of each stale by the "
        "first.",
        net(
            [[0.1], [0.1]],
            answer=0.5,
            updates=4,
            protocol=Broadcast(interval=1, answer_at="after-delay", delay=Constant(value=0.25)),
        ),
        end=1.75,
        updates=((0.75, 1), (0.75, 2), (1.75, 1), (1.75, 2)),
        released=((0.25, 1), (0.25, 2), (1.25, 1), (1.25, 2)),
        reads=(0, 0, 1, 1),
        stale=(0, 1, 0, 1),
        ending="updates",
    ),
    Case(
        "broadcast_query_finds_its_owner_at_work",
        "An answer takes 1.5: the query of 0 is answered in [0, 1.5), that of 1 finds the owner at "
        "work and is dropped,\nthat of 2 is answered in [2, 3.5), that of 3 dropped.",
        net(
            [[9]],
            answer=1.5,
            updates=2,
            protocol=Broadcast(interval=1, answer_at="after-delay"),
        ),
        end=3.5,
        updates=((1.5, 1), (3.5, 1)),
        mishaps=(("query_lost busy", 1, 1), ("query_lost busy", 3, 1)),
        reads=(0, 2),
    ),
    Case(
        "broadcast_answers_overlap",
        'With own_tick "overlap" the query of 1 is answered in [1, 2.5) beside the first; that of '
        "2 is on its way at the\nend.",
        net(
            [[9]],
            answer=1.5,
            updates=2,
            protocol=Broadcast(interval=1, answer_at="after-delay", own_tick="overlap"),
        ),
        end=2.5,
        updates=((1.5, 1), (2.5, 1)),
        open=("in_flight",),
        reads=(0, 1),
        stale=(0, 1),
    ),
    Case(
        "broadcast_answers_collide",
        "Without a delay all owners answer the query of 0 at once, and their answers destroy each "
        "other.",
        net(
            [[9], [9]],
            until=0.75,
            protocol=Broadcast(interval=1, answer_at="after-delay"),
            channel=Aloha(airtime=0.5),
        ),
        end=0.75,
        mishaps=(("answer_collided", 0.5, 1), ("answer_collided", 0.5, 2)),
        open=("collided", "collided"),
        released=((0, 1), (0, 2)),
        ending="horizon",
    ),
]

BROADCASTS = [*AT_TICKS, *AFTER_A_DELAY]
