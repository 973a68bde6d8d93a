"""Scripted scenarios without randomness, each with what its rule says, worked out by hand.

Here are ties, ends, budgets and presence under ``request``, and the first of ``push``; the other
families have modules of their own.
"""

from asyncdp_sim.network.clocks import DeterministicClock, SaturatedClock
from tests.ordering.broadcast_cases import BROADCASTS
from tests.ordering.buffer_cases import BUFFERS
from tests.ordering.channel_cases import CHANNELS
from tests.ordering.dispatch_cases import DISPATCHES
from tests.ordering.gossip_cases import GOSSIPS
from tests.ordering.loss_cases import LOSSES
from tests.ordering.model_cases import MODELS
from tests.ordering.place_cases import PLACES
from tests.ordering.request_cases import REQUESTS
from tests.ordering.rounds_cases import ROUNDS
from tests.ordering.scene import Case, Together, dark, net, stay
from tests.ordering.servers_cases import SERVERS
from tests.ordering.sum_cases import SUMS

TIES = [
    Case(
        "two_ticks_at_once",
        "Two clocks tick at the same tick: the tick that was scheduled first happens first, here "
        "owner 1's,\nsince the owners start in the order of their numbers. It locks the learner, "
        "owner 2 is refused.",
        net([[1], [1]], compute=0.5),
        end=1.5,
        updates=((1.5, 1),),
        refused=((1, 2),),
    ),
    Case(
        "scheduled_first_happens_first",
        "Order within a class at one tick is the order of scheduling, not of owner numbers: "
        "owner 2's tick\nat 2 was scheduled at 0, owner 1's at 1 (when its clock ticked before), "
        "so owner 2 is served.",
        net([[1, 2], [2]], compute=0.5),
        end=2.5,
        updates=((1.5, 1), (2.5, 2)),
        refused=((2, 1),),
    ),
    Case(
        "two_requests_arrive_at_once",
        "Two requests arrive at the same tick: the one that was sent first (owner 1's) is served, "
        "the other refused.",
        net([[1], [1]], request=0.25, compute=0.5),
        end=1.75,
        updates=((1.75, 1),),
        refused=((1.25, 2),),
    ),
    Case(
        "three_ticks_at_once",
        "Three clocks tick at once and service takes no event: the three exchanges happen at one "
        "tick, one\nafter the other, in the order of scheduling; nobody is refused.",
        net([[1], [1], [1]]),
        end=1,
        updates=((1, 1), (1, 2), (1, 3)),
    ),
]

END_BEFORE_START = [
    Case(
        "tick_at_the_end_of_a_service",
        "Intervals are half-open: at the tick at which owner 1's answer arrives the learner is "
        "free, so owner 2,\nwhose clock ticks then, is served (answer end before clock tick).",
        net([[1], [1.5]], answer=0.5),
        end=2,
        updates=((1.5, 1), (2, 2)),
    ),
    Case(
        "tick_one_tick_before_the_end",
        "One tick before the answer arrives the learner is still locked: owner 2 is refused.",
        net([[1], [1.499999999]], answer=0.5),
        end=1.5,
        updates=((1.5, 1),),
        refused=((1.499999999, 2),),
    ),
    Case(
        "own_tick_at_the_end_of_its_service",
        "The served owner's own clock ticks exactly when its answer arrives: it is free again, so "
        "the tick is\nan attempt and not dropped.",
        net([[1, 1.5]], answer=0.5),
        end=2,
        updates=((1.5, 1), (2, 1)),
    ),
    Case(
        "request_arrives_with_the_answer",
        "A request that arrives exactly when the answer arrives finds the learner free (answer "
        "end before\nrequest arrival), although it was sent during the lock.",
        net([[1], [1.5]], request=0.25, answer=0.5),
        end=2.25,
        updates=((1.75, 1), (2.25, 2)),
    ),
    Case(
        "answer_then_request_then_tick",
        "At 2 three things are due: owner 1's answer ends, owner 2's request arrives, owner 3's "
        "clock ticks, in\nthis order, although the tick was scheduled first (at 0); then "
        "owner 2's answer\nends and owner 3's request arrives at 2.5.",
        net([[1], [1.5], [2]], request=0.5, answer=0.5),
        end=3,
        updates=((2, 1), (2.5, 2), (3, 3)),
    ),
]

PRIORITIES = [
    Case(
        "gradient_before_request",
        "At 1.6 owner 1's gradient is ready and owner 2's request arrives: the gradient goes "
        "first, so the\nrelease stands before the refusal.",
        net([[1], [1.5]], request=0.1, query=0.2, compute=0.3, answer=0.4),
        end=2,
        updates=((2, 1),),
        refused=((1.6, 2),),
    ),
    Case(
        "query_before_request",
        "At 1.75 owner 1's query arrives (and, computing taking no event, its answer leaves) and "
        "owner 2's\nrequest arrives: the query goes first, so the release stands before the "
        "refusal.",
        net([[1], [1.5]], request=0.25, query=0.5, answer=0.5),
        end=2.25,
        updates=((2.25, 1),),
        refused=((1.75, 2),),
    ),
    Case(
        "request_before_tick",
        "At 1.5 owner 1's request arrives and owner 2's clock, scheduled long before, ticks: the "
        "request goes\nfirst, so the query stands before the tick.",
        net([[1], [1.5]], request=0.5, compute=1),
        end=2.5,
        updates=((2.5, 1),),
        refused=((2, 2),),
    ),
    Case(
        "gradient_before_tick",
        "At 1.5 the owner's gradient is ready and its clock ticks: the gradient goes first, the "
        "budget is spent\nat the release, and the tick finds a silent owner: neither an attempt "
        "nor a dropped tick.",
        net([[1, 1.5, 3]], compute=0.5, answer=0.5, allowed=(1,)),
        end=2,
        updates=((2, 1),),
    ),
    Case(
        "query_before_tick",
        "At 1.5 the query arrives, the answer leaves at once (computing takes no event) and "
        "spends the budget;\nthe owner's tick at 1.5 comes after it and finds a silent owner.",
        net([[1, 1.5, 3]], query=0.5, answer=0.5, allowed=(1,)),
        end=2,
        updates=((2, 1),),
    ),
]

OWN_TICKS = [
    Case(
        "tick_of_the_served_owner",
        "A tick of the owner that is being served is dropped and is not an attempt.",
        net([[1, 1.2]], compute=0.5),
        end=1.5,
        updates=((1.5, 1),),
        dropped=((1.2, 1),),
    ),
    Case(
        "tick_while_the_answer_travels",
        "A tick while the owner's answer is still travelling is dropped; the one after the "
        "arrival is not.",
        net([[1, 1.6, 2.1]], compute=0.5, answer=0.5),
        end=3.1,
        updates=((2, 1), (3.1, 1)),
        dropped=((1.6, 1),),
    ),
    Case(
        "tick_while_the_request_travels",
        "A tick while the owner's request is travelling is dropped: only one request is sent.",
        net([[1, 1.2]], request=0.5, compute=0.25),
        end=1.75,
        updates=((1.75, 1),),
        dropped=((1.2, 1),),
    ),
    Case(
        "refused_owner_is_free_at_once",
        "A refused owner is free again at once: its next tick, one tick later, is an attempt and "
        "not dropped.",
        net([[1], [1.1, 1.100000001, 1.6]], compute=0.5),
        end=2.1,
        updates=((1.5, 1), (2.1, 2)),
        refused=((1.1, 2), (1.100000001, 2)),
    ),
    Case(
        "tick_when_the_refusal_arrives",
        "A request meets the learner before the same owner's clock ticks at that tick: the owner "
        "is refused at\n1.5 and then free to ask again at 1.5.",
        net([[1], [1.25, 1.5]], request=0.25, compute=0.5),
        end=2.25,
        updates=((1.75, 1), (2.25, 2)),
        refused=((1.5, 2),),
    ),
]

ZERO_TIME = [
    Case(
        "zero_service_none",
        "Laws of kind none take no event: the whole exchange happens inside the callback of the "
        "clock tick.\nThe kernel sees the four ticks and nothing else.",
        net([[1, 2], [1, 3]]),
        end=3,
        updates=((1, 1), (1, 2), (2, 1), (3, 2)),
        scheduled=4,
    ),
    Case(
        "zero_compute_constant",
        "A constant law of value 0 takes an event: one more per exchange. At one tick it still "
        "goes before the\nother owner's clock tick, so owner 2 is served, not refused.",
        net([[1, 2], [1, 3]], compute=0),
        end=3,
        updates=((1, 1), (1, 2), (2, 1), (3, 2)),
        scheduled=8,
    ),
    Case(
        "zero_everything_constant",
        "Four constant laws of value 0 take four events per exchange, all at the tick of the "
        "request and all\nbefore the other owner's clock tick at that tick.",
        net([[1, 2], [1, 3]], request=0, query=0, compute=0, answer=0),
        end=3,
        updates=((1, 1), (1, 2), (2, 1), (3, 2)),
        scheduled=20,
    ),
    Case(
        "tick_at_time_zero",
        "Time begins at 0 with nobody served: a tick at 0 is an attempt like any other.",
        net([[0], [0.5]], compute=0.5),
        end=1,
        updates=((0.5, 1), (1, 2)),
    ),
]

ENDS = [
    Case(
        "horizon_excludes_its_tick",
        "The horizon is [0, until): the tick at exactly 2 does not happen, and the run ends at 2.",
        net([[1, 2]], compute=0.25, until=2),
        end=2,
        updates=((1.25, 1),),
    ),
    Case(
        "horizon_includes_the_tick_before",
        "One tick before the horizon is inside it: the exchange happens, and the run ends at 2.",
        net([[1, 1.999999999, 3]], until=2),
        end=2,
        updates=((1, 1), (1.999999999, 1)),
    ),
    Case(
        "horizon_excludes_an_answer",
        "An answer that would arrive at exactly the horizon does not: it is released and in "
        "flight.",
        net([[1, 3]], compute=0.5, answer=0.5, until=2),
        end=2,
        open=("in_flight",),
    ),
    Case(
        "update_t_stops_the_run",
        "Update T stops the run at once: owner 2's tick, due at the same tick, does not happen.",
        net([[1, 3], [1.5]], compute=0.5, updates=1),
        end=1.5,
        updates=((1.5, 1),),
    ),
    Case(
        "update_t_between_two_ticks",
        "Update T falls inside owner 1's tick; owner 2's tick at the same tick does not happen.",
        net([[1], [1]], updates=1),
        end=1,
        updates=((1, 1),),
    ),
    Case(
        "answer_in_flight_at_the_end",
        "The run ends while an answer is travelling: it is released (and charged), its outcome "
        "in_flight, dated\nto the end of the run.",
        net([[1.5]], compute=0.25, answer=1, until=2),
        end=2,
        open=("in_flight",),
    ),
    Case(
        "query_under_way_at_the_end",
        "The run ends while a query is travelling: nothing is released, nothing is charged.",
        net([[1.75]], query=0.5, until=2),
        end=2,
        open=("unreleased",),
    ),
    Case(
        "compute_under_way_at_the_end",
        "The run ends while the owner is computing: nothing is released, nothing is charged.",
        net([[1.5]], query=0.1, compute=0.5, until=2),
        end=2,
        open=("unreleased",),
    ),
    Case(
        "request_travelling_at_the_end",
        "The run ends while a request is travelling: an attempt that is neither refused nor an "
        "exchange.",
        net([[1.75]], request=0.5, until=2),
        end=2,
    ),
    Case(
        "clocks_run_out",
        "No owner will ever ask again: the run ends with the last thing under way, before until.",
        net([[1], [2]], compute=0.5, until=10),
        end=2.5,
        updates=((1.5, 1), (2.5, 2)),
    ),
    Case(
        "clocks_run_out_on_a_refusal",
        "Owner 2's last request is refused while owner 1's answer is under way: the run ends with "
        "that answer.",
        net([[1], [1.2]], compute=0.5, until=10),
        end=1.5,
        updates=((1.5, 1),),
        refused=((1.2, 2),),
    ),
]

BUDGETS = [
    Case(
        "cap_silences_an_owner",
        "An owner's budget is spent at the release of its last answer (1.25), not at the arrival "
        "(1.5): from\nthen on its ticks (1.4, 2) are neither attempts nor dropped. The other owner "
        "goes on.",
        net([[1, 1.4, 2], [3]], compute=0.25, answer=0.25, allowed=(1, 10)),
        end=3.5,
        updates=((1.5, 1), (3.5, 2)),
    ),
    Case(
        "all_spent_ends_the_run",
        "When every owner has spent its budget the run ends with the last answer's arrival, "
        "whatever the clocks\nstill hold.",
        net([[1, 2, 3], [1.5, 2.5, 4]], compute=0.25, answer=0.25, allowed=(1, 2)),
        end=3,
        updates=((1.5, 1), (2, 2), (3, 2)),
    ),
    Case(
        "spent_after_the_last_tick",
        "Owner 1's clock has run out (at 1) before its only answer leaves (1.2): it is gone once, "
        "not twice,\nand owner 2 still asks at 3 and 4.",
        net([[1], [3, 4]], compute=0.2, allowed=(1, 5)),
        end=4.2,
        updates=((1.2, 1), (3.2, 2), (4.2, 2)),
    ),
    Case(
        "refusals_spend_nothing",
        "A refused request releases nothing: owner 2, allowed one answer, is refused twice and "
        "served after.",
        net([[1], [1.1, 1.2, 2, 3]], compute=0.5, allowed=(5, 1)),
        end=2.5,
        updates=((1.5, 1), (2.5, 2)),
        refused=((1.1, 2), (1.2, 2)),
    ),
]

LONGER = [
    Case(
        "request_arrives_during_the_lock",
        "Two requests are travelling at once; the second arrives during the lock that the first "
        "began, and is\nrefused on arrival, though the learner was free when it was sent.",
        net([[1], [1.25]], request=0.5, compute=1),
        end=2.5,
        updates=((2.5, 1),),
        refused=((1.75, 2),),
    ),
    Case(
        "four_durations",
        "Request 0.1, query 0.2, compute 0.3, answer 0.4: read at 1.1, release at 1.6, update at "
        "2; the lock is\n[1.1, 2), so owner 2's request arriving at 2 is served, and owner 3's "
        "arriving at 1.2 is not.",
        net([[1], [1.9], [1.1]], request=0.1, query=0.2, compute=0.3, answer=0.4),
        end=2.9,
        updates=((2, 1), (2.9, 2)),
        refused=((1.2, 3),),
    ),
    Case(
        "three_owners_in_rotation",
        "Three owners whose clocks never meet a lock take turns.",
        net([[1, 4], [2, 5], [3, 6]], compute=0.5),
        end=6.5,
        updates=((1.5, 1), (2.5, 2), (3.5, 3), (4.5, 1), (5.5, 2), (6.5, 3)),
    ),
    Case(
        "deterministic_clocks_back_to_back",
        "Deterministic clocks tick at phase + j/rate, j = 1, 2, …; phases 0 and 0.5 with a service "
        "of 0.5 fill\nthe learner without a gap or a refusal, since intervals are half-open.",
        net(DeterministicClock(rate=1.0, phase=(0.0, 0.5)), compute=0.5, updates=4),
        end=3,
        updates=((1.5, 1), (2, 2), (2.5, 1), (3, 2)),
    ),
    Case(
        "deterministic_clocks_one_starves",
        "With phases 0 and 0.25 owner 2 always meets owner 1's lock: phases decide who is heard.",
        net(DeterministicClock(rate=1.0, phase=(0.0, 0.25)), compute=0.5, updates=3),
        end=3.5,
        updates=((1.5, 1), (2.5, 1), (3.5, 1)),
        refused=((1.25, 2), (2.25, 2), (3.25, 2)),
    ),
    Case(
        "deterministic_rates_differ",
        "Rates 1 and 2, equal phases: at 1 owner 2's tick (scheduled at 0.5, after owner 1's, "
        "scheduled at 0)\nis second and refused; so at 2, where owner 1's was scheduled at 1, "
        "owner 2's at 1.5.",
        net(DeterministicClock(rate=(1.0, 2.0)), compute=0.25, updates=4),
        end=2.25,
        updates=((0.75, 2), (1.25, 1), (1.75, 2), (2.25, 1)),
        refused=((1, 2), (2, 2)),
    ),
]

PRESENCE = [
    Case(
        "tick_as_its_owner_goes_offline",
        "The clock ticks exactly when its owner goes offline (1): the owner is offline first, the "
        "tick is dropped.\nThe next one, during [1.5, 2.5), acts.",
        net([[1, 2]], availability=dark([[1]], 1, 0.5)),
        end=2,
        updates=((2, 1),),
        missed=((1, 1),),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(0.75,),
    ),
    Case(
        "going_offline_before_a_tick_scheduled_earlier",
        "The second outage begins at 2.5 and was scheduled at 1.5, when the first ended; the tick "
        "at 2.5 was\nscheduled at 0.5. Going offline still goes first: the order of classes comes "
        "before that of scheduling.",
        net([[0.5, 2.5, 3.5]], availability=dark([[1]], 1, 0.5)),
        end=3.5,
        updates=((0.5, 1), (3.5, 1)),
        missed=((2.5, 1),),
        away=((1, 1), (2.5, 1)),
        back=((1.5, 1), (3, 1)),
        online=(2.5 / 3.5,),
    ),
    Case(
        "tick_as_its_owner_comes_back",
        "The outage is [1, 1.5): the tick at 1.5 (scheduled at 0.5, before the outage began) acts.",
        net([[0.5, 1.5]], availability=dark([[1]], 1, 0.5)),
        end=1.5,
        updates=((0.5, 1), (1.5, 1)),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1 / 1.5,),
    ),
    Case(
        "tick_one_tick_before_coming_back",
        "One tick before the end of the outage [1, 1.5) its owner is still offline. That was its "
        "clock's last:\nthe run ends with a dropped tick.",
        net([[0.5, 1.499999999]], availability=dark([[1]], 1, 0.5)),
        end=1.499999999,
        updates=((0.5, 1),),
        missed=((1.499999999, 1),),
        away=((1, 1),),
        online=(1 / 1.499999999,),
    ),
    Case(
        "goes_offline_while_served",
        "Owner 1 is served in [0.75, 1.35) and goes offline at 1: its exchange is completed. Its "
        "tick at 0.9 is\ndropped as busy, that at 1.2, busy and offline, as offline, that at 1.4 "
        "as offline.",
        net([[0.75, 0.9, 1.2, 1.4, 1.6]], compute=0.6, availability=dark([[1]], 1, 0.5)),
        end=2.2,
        updates=((1.35, 1), (2.2, 1)),
        dropped=((0.9, 1),),
        missed=((1.2, 1), (1.4, 1)),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1.7 / 2.2,),
    ),
    Case(
        "lock_of_an_owner_that_is_offline",
        "Owner 1 goes offline at 1 while it is served in [0.75, 1.35): the learner stays locked, "
        "so owner 2,\nwho is online, is refused at 1.2 and served at 1.35.",
        net([[0.75], [1.2, 1.35]], compute=0.6, availability=dark([[1]], 1, 0.5)),
        end=1.95,
        updates=((1.35, 1), (1.95, 2)),
        refused=((1.2, 2),),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1.45 / 1.95, 1.0),
    ),
    Case(
        "request_travelling_as_its_owner_goes_offline",
        "A request sent at 0.75 travels for 0.5; its owner goes offline at 1. The request arrives "
        "at 1.25 and is\nserved: the query finds its owner, offline or not.",
        net([[0.75]], request=0.5, compute=0.25, availability=dark([[1]], 1, 1)),
        end=1.5,
        updates=((1.5, 1),),
        away=((1, 1),),
        online=(1 / 1.5,),
    ),
    Case(
        "request_arrives_as_its_owner_goes_offline",
        "At 1 owner 1's request arrives and owner 1 goes offline: the request goes first, so the "
        "query stands\nbefore the departure.",
        net([[0.75]], request=0.25, compute=0.5, availability=dark([[1]], 1, 1)),
        end=1.5,
        updates=((1.5, 1),),
        away=((1, 1),),
        online=(1 / 1.5,),
    ),
    Case(
        "answer_arrives_as_its_owner_comes_back",
        "At 1.5 owner 1's answer arrives, it comes back, and its clock ticks, in this order: the "
        "tick acts.",
        net([[0.75, 1.5]], answer=0.75, availability=dark([[1]], 1, 0.5)),
        end=2.25,
        updates=((1.5, 1), (2.25, 1)),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1.75 / 2.25,),
    ),
    Case(
        "two_groups_overlap",
        "Owner 1 belongs to a group that is dark in [1, 2) and to one that is dark in [1.5, 2.5): "
        "it goes offline\nonce, at 1, and comes back once, at 2.5, when both are over. Owner 2, in "
        "the first alone, is back at 2.",
        net(
            [[0.5, 2.25, 2.5, 2.75], [1.75, 2.1]],
            availability=Together((dark([[1, 2]], 1, 1), dark([[1]], 1.5, 1))),
        ),
        end=2.75,
        updates=((0.5, 1), (2.1, 2), (2.5, 1), (2.75, 1)),
        missed=((1.75, 2), (2.25, 1)),
        away=((1, 1), (1, 2)),
        back=((2, 2), (2.5, 1)),
        online=(1.25 / 2.75, 1.75 / 2.75),
    ),
    Case(
        "one_outage_begins_as_another_ends",
        "Owner 1's groups are dark in [1, 2) and [2, 3): at 2 the first outage to have been "
        "scheduled to end or begin\ngoes first (the second group's, at 0), so the owner never "
        "comes back in between; its tick at 2 is dropped.",
        net(
            [[0.5, 2, 3.25]],
            availability=Together((dark([[1]], 1, 1), dark([[1]], 2, 1))),
            until=2.75,
        ),
        end=2.75,
        updates=((0.5, 1),),
        missed=((2, 1),),
        away=((1, 1),),
        online=(1 / 2.75,),
    ),
    Case(
        "same_outage_in_two_groups",
        "An owner in two groups with one schedule goes offline once and comes back once.",
        net([[0.5, 1.25, 1.5]], availability=dark([[1], [1]], 1, 0.5)),
        end=1.5,
        updates=((0.5, 1), (1.5, 1)),
        missed=((1.25, 1),),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1 / 1.5,),
    ),
    Case(
        "coming_back_at_the_horizon",
        "The horizon is [0, until): the end of the outage [1, 2) at exactly 2 does not happen; the "
        "owner was\nonline for half of the run.",
        net([[0.5, 1.5, 2]], availability=dark([[1]], 1, 1), until=2),
        end=2,
        updates=((0.5, 1),),
        missed=((1.5, 1),),
        away=((1, 1),),
        online=(0.5,),
    ),
    Case(
        "late_joiner_leaves_for_good",
        "Joins at 1 and leaves at 1 + 2: the tick at 0.5 is dropped, those at 1 (it joins first) "
        "and 2 act. It has\nleft before its clock ticks at 3, and the run ends there, though the "
        "clock would go on.",
        net([[0.5, 1, 2, 3, 4]], availability=stay(join=1, lifetime=2), until=10),
        end=3,
        updates=((1, 1), (2, 1)),
        missed=((0.5, 1),),
        away=((0, 1), (3, 1)),
        back=((1, 1),),
        online=(2 / 3,),
    ),
    Case(
        "joins_at_time_zero",
        "A constant of 0 takes an event: the owner starts offline and joins at 0, before its clock "
        "ticks at 0.",
        net([[0, 1]], availability=stay(join=0)),
        end=1,
        updates=((0, 1), (1, 1)),
        away=((0, 1),),
        back=((0, 1),),
    ),
    Case(
        "exchange_under_way_at_leaving",
        "The owner leaves at 2 while it is served in [1.75, 2.25): the exchange is completed and "
        "ends the run. The\ntick at 1.9 is dropped as busy; that at 2.1 finds an owner that has "
        "left: neither an attempt nor dropped.",
        net([[1.75, 1.9, 2.1, 3]], compute=0.5, availability=stay(lifetime=2), until=10),
        end=2.25,
        updates=((2.25, 1),),
        dropped=((1.9, 1),),
        away=((2, 1),),
        online=(2 / 2.25,),
    ),
    Case(
        "run_ends_when_all_have_left",
        "Both owners leave at 2, and nothing is under way: the run ends then, before until, "
        "whatever the clocks\nstill hold.",
        net([[1, 3], [1.5, 5]], compute=0.25, availability=stay(lifetime=2), until=10),
        end=2,
        updates=((1.25, 1), (1.75, 2)),
        away=((2, 1), (2, 2)),
    ),
    Case(
        "leaves_with_budget_left",
        "The owner may release three answers, has released two when it leaves at 2, and keeps the "
        "third.",
        net([[1, 1.5, 3]], allowed=(3,), availability=stay(lifetime=2)),
        end=2,
        updates=((1, 1), (1.5, 1)),
        away=((2, 1),),
    ),
    Case(
        "spent_before_leaving",
        "The budget is spent at 1 and nothing is under way: the run ends there, not when the owner "
        "leaves.",
        net([[1, 1.5]], allowed=(1,), availability=stay(lifetime=2)),
        end=1,
        updates=((1, 1),),
    ),
]

PUSHES = [
    Case(
        "push_nobody_is_locked_out",
        "Under push every tick reads: owner 2 reads at 1.2 while owner 1 computes, and its answer "
        "of 1.7 is stale\nby owner 1's update of 1.5.",
        net([[1], [1.2]], compute=0.5, push="drop"),
        end=1.7,
        updates=((1.5, 1), (1.7, 2)),
    ),
    Case(
        "push_own_tick_is_dropped",
        "A tick while the owner's own job is under way is dropped by default.",
        net([[1, 1.2, 2]], compute=0.5, push="drop"),
        end=2.5,
        updates=((1.5, 1), (2.5, 1)),
        dropped=((1.2, 1),),
    ),
    Case(
        "push_own_ticks_overlap",
        'With own_tick "overlap" the same tick starts a job of its own, beside the first.',
        net([[1, 1.2, 2]], compute=0.5, push="overlap"),
        end=2.5,
        updates=((1.5, 1), (1.7, 1), (2.5, 1)),
    ),
    Case(
        "push_open_jobs_take_the_budget",
        "An owner that may release one answer and has a job under way for it starts no second one.",
        net([[1, 1.2]], compute=0.5, push="overlap", allowed=(1,)),
        end=1.5,
        updates=((1.5, 1),),
    ),
    Case(
        "push_gradient_is_ready_at_a_tick",
        "A gradient is ready before a clock ticks at the same tick: owner 2 reads at 1.5 what "
        "owner 1's update\nof 1.5 has left.",
        net([[1], [1.5]], compute=0.5, push="drop"),
        end=2,
        updates=((1.5, 1), (2, 2)),
    ),
    Case(
        "saturated_owners_begin_at_once",
        "A saturated owner begins its next job at the tick at which the last one ends; all begin "
        "at 0, owner 1\nfirst, and keep that order.",
        net(SaturatedClock(), compute=0.5, push="drop", updates=4),
        end=1,
        updates=((0.5, 1), (0.5, 2), (1, 1), (1, 2)),
        open=("unreleased",),
    ),
]

CASES = [
    *TIES,
    *END_BEFORE_START,
    *PRIORITIES,
    *OWN_TICKS,
    *ZERO_TIME,
    *ENDS,
    *BUDGETS,
    *LONGER,
    *PRESENCE,
    *PUSHES,
    *REQUESTS,
    *LOSSES,
    *CHANNELS,
    *BROADCASTS,
    *PLACES,
    *BUFFERS,
    *ROUNDS,
    *DISPATCHES,
    *SUMS,
    *GOSSIPS,
    *SERVERS,
    *MODELS,
]
"""All scenarios of the golden files."""
