"""The request protocol beyond refusal: queues, retries, and the learner's patience."""

from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Request
from tests.ordering.scene import Case, dark, net

QUEUE = Request(busy="queue")
EVERY_TICK = Request(busy="queue", own_tick="queue")


def again(wait: float) -> Request:
    """Refused requests are sent again after ``wait``."""
    return Request(busy="retry", retry=Constant(value=wait))


QUEUES = [
    Case(
        "queue_is_first_come_first_served",
        "Owner 3 asks at 1.1, owner 2 at 1.2, both while owner 1 is served in [1, 1.5): they wait, "
        "and are served\nin the order of asking, without a gap: [1.5, 2) and [2, 2.5). Nobody is "
        "refused.",
        net([[1], [1.2], [1.1]], compute=0.5, protocol=QUEUE),
        end=2.5,
        updates=((1.5, 1), (2, 3), (2.5, 2)),
        mishaps=(("request_queued", 1.1, 3), ("request_queued", 1.2, 2)),
        reads=(1, 1.5, 2),
        stale=(0, 0, 0),
        ending="silent",
    ),
    Case(
        "queue_turn_before_a_request",
        "At 1.75 owner 1's gradient is ready, owner 2, waiting since 1.45, has its turn, and owner "
        "3's request\narrives, in this order: the query to owner 2 stands before the queueing of "
        "owner 3.",
        net([[1], [1.2], [1.5]], request=0.25, compute=0.5, protocol=QUEUE),
        end=2.75,
        updates=((1.75, 1), (2.25, 2), (2.75, 3)),
        mishaps=(("request_queued", 1.45, 2), ("request_queued", 1.75, 3)),
        reads=(1.25, 1.75, 2.25),
    ),
    Case(
        "queue_tick_while_waiting_is_dropped",
        "A tick while the owner's request waits for its turn is dropped by default; one while it "
        "is served, too.",
        net([[1], [1.2, 1.3, 1.7]], compute=0.5, protocol=QUEUE),
        end=2,
        updates=((1.5, 1), (2, 2)),
        dropped=((1.3, 2), (1.7, 2)),
        mishaps=(("request_queued", 1.2, 2),),
    ),
    Case(
        "queue_every_tick_asks",
        'With own_tick "queue" every tick is a request of its own: owner 1 asks at 1, 1.1 and '
        "1.2, owner 2 at\n1.15, between them in the queue as in time.",
        net([[1, 1.1, 1.2], [1.15]], compute=0.5, protocol=EVERY_TICK),
        end=3,
        updates=((1.5, 1), (2, 1), (2.5, 2), (3, 1)),
        mishaps=(
            ("request_queued", 1.1, 1),
            ("request_queued", 1.15, 2),
            ("request_queued", 1.2, 1),
        ),
        reads=(1, 1.5, 2, 2.5),
    ),
    Case(
        "queue_takes_no_more_than_the_budget",
        "An owner that may release two answers has one request being served and one waiting at "
        "1.2: that tick\nstarts no third one.",
        net([[1, 1.1, 1.2, 5]], compute=0.5, allowed=(2,), protocol=EVERY_TICK),
        end=2,
        updates=((1.5, 1), (2, 1)),
        mishaps=(("request_queued", 1.1, 1),),
        ending="spent",
    ),
    Case(
        "queue_owner_goes_offline_while_waiting",
        "Owner 2 waits from 1.2 and goes offline at 1.25: its turn at 1.5 is served all the same.",
        net([[1], [1.2]], compute=0.5, protocol=QUEUE, availability=dark([[2]], 1.25, 2)),
        end=2,
        updates=((1.5, 1), (2, 2)),
        mishaps=(("request_queued", 1.2, 2),),
        away=((1.25, 2),),
        online=(1.0, 1.25 / 2),
    ),
]

RETRIES = [
    Case(
        "retry_until_served",
        "Owner 2, refused at 1.2, asks again after 0.4: refused at 1.6, served at 2. Each is an "
        "attempt. Its ticks\nmeanwhile (1.3, 1.9) are dropped.",
        net([[1], [1.2, 1.3, 1.9]], compute=0.7, protocol=again(0.4)),
        end=2.7,
        updates=((1.7, 1), (2.7, 2)),
        refused=((1.2, 2), (1.6, 2)),
        dropped=((1.3, 2), (1.9, 2)),
        mishaps=(("retry busy", 1.2, 2), ("retry busy", 1.6, 2)),
    ),
    Case(
        "retry_before_a_tick",
        "At 1.5 owner 1's gradient is ready, owner 2 asks again, and owner 3's clock, scheduled "
        "long before, ticks,\nin this order: owner 2 is served, owner 3 refused at 1.5 and (one "
        "wait of 0.3 later) at 1.8, served at 2.1.",
        net([[1], [1.2], [1.5]], compute=0.5, protocol=again(0.3)),
        end=2.6,
        updates=((1.5, 1), (2, 2), (2.6, 3)),
        refused=((1.2, 2), (1.5, 3), (1.8, 3)),
        mishaps=(("retry busy", 1.2, 2), ("retry busy", 1.5, 3), ("retry busy", 1.8, 3)),
    ),
    Case(
        "retry_of_an_owner_that_went_offline",
        "Owner 2, refused at 1.2, would ask again at 1.6 but is offline in [1.4, 2.4): it gives "
        "up, and its tick at\n2.5 acts.",
        net([[1], [1.2, 2.5]], compute=0.5, protocol=again(0.4), availability=dark([[2]], 1.4, 1)),
        end=3,
        updates=((1.5, 1), (3, 2)),
        refused=((1.2, 2),),
        mishaps=(("retry busy", 1.2, 2),),
        away=((1.4, 2),),
        back=((2.4, 2),),
        online=(1.0, 2 / 3),
    ),
]

TIMEOUTS = [
    Case(
        "timeout_frees_the_learner",
        "Owner 1's answer leaves at 1 and travels for 0.8; the learner waits until 1.5 and is then "
        "free, so owner 2,\nwhose clock ticks then, is served in [1.5, 1.7). The late answer is "
        "turned away at 1.8, though it was\ncharged; until then its owner's ticks are dropped.",
        net([[1, 1.6], [1.5]], answer=(0.8, 0.2), protocol=Request(timeout=0.5)),
        end=1.8,
        updates=((1.7, 2),),
        dropped=((1.6, 1),),
        mishaps=(("timeout", 1.5, 1), ("answer_discarded late", 1.8, 1)),
        open=("discarded",),
        released=((1, 1), (1.5, 2)),
    ),
    Case(
        "late_answer_leaves_the_lock_alone",
        "Given up at 1.5, owner 1's answer arrives at 1.8, while the learner serves owner 2 in "
        "[1.5, 2): it does not free\nthe learner, so owner 3 is refused at 1.9.",
        net([[1], [1.5], [1.9]], answer=(0.8, 0.5, 0.5), protocol=Request(timeout=0.5)),
        end=2,
        updates=((2, 2),),
        refused=((1.9, 3),),
        mishaps=(("timeout", 1.5, 1), ("answer_discarded late", 1.8, 1)),
        open=("discarded",),
    ),
    Case(
        "timeout_before_the_answer_is_ready",
        "Owner 1 computes in [1, 1.8), the learner waits until 1.5. The answer is not sent: "
        "nothing is released,\nnothing is charged.",
        net([[1], [1.5]], compute=(0.8, 0.2), protocol=Request(timeout=0.5)),
        end=1.8,
        updates=((1.7, 2),),
        mishaps=(("timeout", 1.5, 1),),
        open=("abandoned",),
        released=((1.7, 2),),
    ),
    Case(
        "answer_arrives_exactly_at_the_timeout",
        "The answer arrives at 1.5, when the learner's patience ends: it is in time. One tick more "
        "(owner 2's\nanswer, due at 2.500000001) is too late.",
        net([[1], [2]], answer=(0.5, 0.500000001), protocol=Request(timeout=0.5)),
        end=2.500000001,
        updates=((1.5, 1),),
        mishaps=(("timeout", 2.5, 2), ("answer_discarded late", 2.500000001, 2)),
        open=("discarded",),
    ),
    Case(
        "gradient_ready_exactly_at_the_timeout",
        "The gradient is ready at 1.5, when the learner's patience ends, and the answer takes no "
        "time: it is in time\n(a computation ends before the learner gives up).",
        net([[1]], compute=0.5, protocol=Request(timeout=0.5)),
        end=1.5,
        updates=((1.5, 1),),
    ),
    Case(
        "owner_vanishes_while_it_computes",
        "Owner 1 computes in [1, 1.5) and goes offline at 1.25: with offline = vanish it does not "
        "send. The learner\nwaits until 1.75 and then serves owner 2, whose clock ticks at that "
        "tick.",
        net(
            [[1], [1.75]],
            compute=0.5,
            protocol=Request(timeout=0.75, offline="vanish"),
            availability=dark([[1]], 1.25, 2),
        ),
        end=2.25,
        updates=((2.25, 2),),
        mishaps=(("timeout", 1.75, 1),),
        away=((1.25, 1),),
        open=("abandoned",),
        released=((2.25, 2),),
        online=(1.25 / 2.25, 1.0),
    ),
    Case(
        "turn_of_an_owner_that_has_vanished",
        "Owner 2 waits from 1.1 and goes offline at 1.25: with offline = vanish its query of 1.5 "
        "finds nobody, and\nthe learner waits for it until 2.25. Owner 3, waiting from 2, is "
        "served then.",
        net(
            [[1], [1.1], [2]],
            compute=0.5,
            protocol=Request(busy="queue", timeout=0.75, offline="vanish"),
            availability=dark([[2]], 1.25, 5),
        ),
        end=2.75,
        updates=((1.5, 1), (2.75, 3)),
        mishaps=(
            ("request_queued", 1.1, 2),
            ("query_lost offline", 1.5, 2),
            ("request_queued", 2, 3),
            ("timeout", 2.25, 2),
        ),
        away=((1.25, 2),),
        open=("abandoned",),
        online=(1.0, 1.25 / 2.75, 1.0),
        reads=(1, 2.25),
    ),
]

REQUESTS = [*QUEUES, *RETRIES, *TIMEOUTS]
