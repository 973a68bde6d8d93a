"""Messages that are lost by script, answers that are sent again, and acknowledgements."""

from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.protocols import Request
from tests.ordering.request_cases import again
from tests.ordering.scene import Case, losing, net

LOST = [
    Case(
        "request_lost_owner_is_free_at_once",
        "The owner's first request is lost: an attempt, not refused. Its owner is free at once, so "
        "the tick one tick\nlater is an attempt.",
        net([[1, 1.000000001]], compute=0.5, channel=Ideal(loss_request=losing(1))),
        end=1.500000001,
        updates=((1.500000001, 1),),
        mishaps=(("request_lost noise", 1, 1),),
    ),
    Case(
        "request_lost_and_sent_again",
        "A lost request is sent again after the time of retry, 0.4, as a refused one is; no detail "
        "says busy, since\nthe learner was free.",
        net([[1]], compute=0.5, protocol=again(0.4), channel=Ideal(loss_request=losing(1))),
        end=1.9,
        updates=((1.9, 1),),
        mishaps=(("request_lost noise", 1, 1), ("retry", 1, 1)),
        reads=(1.4,),
    ),
    Case(
        "query_lost_frees_the_learner",
        "Owner 1's query, lost at its arrival (1.25), frees the learner at that tick: owner 2's "
        "clock ticks then and\nis served. Nothing was released.",
        net([[1], [1.25]], query=0.25, compute=0.5, channel=Ideal(loss_query=(1.0, 0.0))),
        end=2,
        updates=((2, 2),),
        mishaps=(("query_lost noise", 1.25, 1),),
        open=("abandoned",),
        released=((2, 2),),
    ),
    Case(
        "query_lost_and_waited_for",
        "With a timeout nobody learns of the lost query: the learner waits from 1 to 2 and refuses "
        "owner 2 at 1.75.",
        net(
            [[1], [1.75, 2]],
            query=0.25,
            compute=0.5,
            protocol=Request(timeout=1),
            channel=Ideal(loss_query=(1.0, 0.0)),
        ),
        end=2.75,
        updates=((2.75, 2),),
        refused=((1.75, 2),),
        mishaps=(("query_lost noise", 1.25, 1), ("timeout", 2, 1)),
        open=("abandoned",),
    ),
    Case(
        "push_answer_lost",
        "Under push a lost answer is released and charged, and leads to no update; the owner is "
        "free when it is lost\n(1.5), so the tick then acts.",
        net([[1, 1.5]], answer=0.5, push="drop", channel=Ideal(loss=losing(1))),
        end=2,
        updates=((2, 1),),
        mishaps=(("answer_lost noise", 1.5, 1),),
        open=("lost",),
        released=((1, 1), (1.5, 1)),
    ),
]

AGAIN = [
    Case(
        "resend_same_is_not_charged",
        "The answer released at 1.25 is lost at 1.75 and sent again at that tick, without a new "
        "computation and\nwithout a new charge: a budget of one answer is enough.",
        net(
            [[1, 2]],
            compute=0.25,
            answer=0.5,
            allowed=(1,),
            channel=Ideal(loss=losing(1), retransmissions=1),
        ),
        end=2.25,
        updates=((2.25, 1),),
        mishaps=(("answer_lost noise", 1.75, 1), ("answer_resent", 1.75, 1)),
        released=((1.25, 1),),
        reads=(1,),
        ending="spent",
    ),
    Case(
        "resend_fresh_is_a_new_answer",
        "A fresh answer to the same query (read at 1) is computed from 1.75, when the first is "
        "lost, to 2: a message\nof its own, charged again. It is no new attempt of the owner's.",
        net(
            [[1]],
            compute=0.25,
            answer=0.5,
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
        ),
        end=2.5,
        updates=((2.5, 1),),
        mishaps=(("answer_lost noise", 1.75, 1),),
        open=("lost",),
        released=((1.25, 1), (2, 1)),
        reads=(1,),
    ),
    Case(
        "resend_fresh_needs_budget",
        "Owner 1 may release one answer: lost at 1.75, there is no second one, and the learner is "
        "free for owner 2,\nwho may release two and uses them for one update.",
        net(
            [[1], [1.75]],
            compute=0.25,
            answer=0.5,
            allowed=(1, 2),
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
        ),
        end=3.25,
        updates=((3.25, 2),),
        mishaps=(("answer_lost noise", 1.75, 1), ("answer_lost noise", 2.5, 2)),
        open=("lost", "lost"),
        released=((1.25, 1), (2, 2), (2.75, 2)),
        ending="spent",
    ),
    Case(
        "last_loss_frees_the_learner",
        "Owner 1's answer is lost at 1.5 and, sent again, at 2. The learner is locked until the "
        "last of them is lost:\nowner 2 is refused at 1.5 and served at 2.",
        net(
            [[1], [1.5, 2]],
            answer=0.5,
            channel=Ideal(loss=(1.0, 0.0), retransmissions=1),
        ),
        end=2.5,
        updates=((2.5, 2),),
        refused=((1.5, 2),),
        mishaps=(
            ("answer_lost noise", 1.5, 1),
            ("answer_resent", 1.5, 1),
            ("answer_lost noise", 2, 1),
        ),
        open=("lost",),
        released=((1, 1), (2, 2)),
    ),
    Case(
        "timeout_before_a_resend",
        "With a timeout of 0.75 the owner learns at 1.75 of the loss at 1.5, and sends again then; "
        "the learner waits\nonce more, until 2.5, and has the answer at 2.25. Owner 2 is refused "
        "at 2.",
        net(
            [[1], [2]],
            answer=0.5,
            protocol=Request(timeout=0.75),
            channel=Ideal(loss=losing(1), retransmissions=1),
        ),
        end=2.25,
        updates=((2.25, 1),),
        refused=((2, 2),),
        mishaps=(
            ("answer_lost noise", 1.5, 1),
            ("timeout", 1.75, 1),
            ("answer_resent", 1.75, 1),
        ),
        released=((1, 1),),
    ),
    Case(
        "timeout_after_the_last_loss",
        "Both transmissions are lost (1.5, 2.25); the learner, waiting from 1.75 anew, gives up at "
        "2.5, not before:\nowner 2 is refused at 2.4 and served at 2.5.",
        net(
            [[1], [2.4, 2.5]],
            answer=0.5,
            protocol=Request(timeout=0.75),
            channel=Ideal(loss=(1.0, 0.0), retransmissions=1),
        ),
        end=3,
        updates=((3, 2),),
        refused=((2.4, 2),),
        mishaps=(
            ("answer_lost noise", 1.5, 1),
            ("timeout", 1.75, 1),
            ("answer_resent", 1.75, 1),
            ("answer_lost noise", 2.25, 1),
            ("timeout", 2.5, 1),
        ),
        open=("lost",),
        released=((1, 1), (2.5, 2)),
    ),
    Case(
        "timeout_before_a_fresh_answer",
        "The answer released at 1.25 is lost at 1.5; the owner learns of it at 1.75, computes "
        "until 2, and the fresh\nanswer arrives at 2.25, before the second timeout at 2.5.",
        net(
            [[1]],
            compute=0.25,
            answer=0.25,
            protocol=Request(timeout=0.75),
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
        ),
        end=2.25,
        updates=((2.25, 1),),
        mishaps=(("answer_lost noise", 1.5, 1), ("timeout", 1.75, 1)),
        open=("lost",),
        released=((1.25, 1), (2, 1)),
    ),
    Case(
        "push_resend_is_stale",
        "Owner 2's answer, read at 1.4, is lost at 1.9 and arrives when sent again, at 2.4: stale "
        "by owner 1's update of\n2, itself sent twice. Ticks (1.7) during a resend are dropped.",
        net(
            [[1, 1.7], [1.4]],
            answer=0.5,
            push="drop",
            channel=Ideal(loss=losing(1), retransmissions=1),
        ),
        end=2.4,
        updates=((2, 1), (2.4, 2)),
        dropped=((1.7, 1),),
        mishaps=(
            ("answer_lost noise", 1.5, 1),
            ("answer_resent", 1.5, 1),
            ("answer_lost noise", 1.9, 2),
            ("answer_resent", 1.9, 2),
        ),
        released=((1, 1), (1.4, 2)),
        stale=(0, 1),
    ),
]

ACKNOWLEDGED = [
    Case(
        "busy_until_the_acknowledgement",
        "Owner 1's answer arrives at 1.5 and frees the learner, who serves owner 2 in [1.5, 2); "
        "owner 1 is busy until the\nacknowledgement arrives at 1.75: its tick at 1.6 is dropped, "
        "that at 1.75 an attempt (and refused).",
        net([[1, 1.6, 1.75], [1.5]], answer=0.5, acknowledgement=0.25),
        end=2.25,
        updates=((1.5, 1), (2, 2)),
        refused=((1.75, 1),),
        dropped=((1.6, 1),),
    ),
    Case(
        "lost_acknowledgement_sends_a_duplicate",
        "The acknowledgement, due at 1.75, is lost: the owner sends its answer again; the learner "
        "has used it at 1.5\nand turns the duplicate away at 2.25; the second acknowledgement "
        "arrives at 2.5.",
        net(
            [[1, 2.4, 2.5]],
            answer=0.5,
            acknowledgement=0.25,
            updates=2,
            channel=Ideal(loss_acknowledgement=losing(1), retransmissions=1),
        ),
        end=3,
        updates=((1.5, 1), (3, 1)),
        dropped=((2.4, 1),),
        mishaps=(
            ("acknowledgement_lost", 1.75, 1),
            ("answer_resent", 1.75, 1),
            ("answer_discarded duplicate", 2.25, 1),
        ),
        released=((1, 1), (2.5, 1)),
        ending="updates",
    ),
    Case(
        "lost_acknowledgement_of_the_last_attempt",
        "Without retransmissions the owner, whose acknowledgement is lost at 1.75, is free then: "
        "its tick acts.",
        net(
            [[1, 1.7, 1.75]],
            answer=0.5,
            acknowledgement=0.25,
            channel=Ideal(loss_acknowledgement=losing(1)),
        ),
        end=2.5,
        updates=((1.5, 1), (2.25, 1)),
        dropped=((1.7, 1),),
        mishaps=(("acknowledgement_lost", 1.75, 1),),
    ),
]

LOSSES = [*LOST, *AGAIN, *ACKNOWLEDGED]
