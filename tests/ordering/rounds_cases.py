"""Synchronous rounds: who is waited for, until when, and what becomes of those who are late.

An update of a round has no owner: it stands as (time, 0).
"""

from collections.abc import Sequence
from typing import Any

from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Churn
from asyncdp_sim.network.channels import Aloha, Ideal, Tdma
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.streams import Scope
from tests.ordering.scene import Case, Together, dark, losing, net


class Some(Churn):
    """Only some owners join late or leave; the others are online all the time."""

    who: tuple[int, ...]

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        super().begin([owners[number - 1] for number in self.who], learner, streams)


def joins(owner: int, at: float) -> Some:
    return Some(who=(owner,), join=Constant(value=at))


def leaves(owner: int, at: float) -> Some:
    return Some(who=(owner,), lifetime=Constant(value=at))


def meet(owners: int, deadline: float | None = None, **parts: Any) -> Network:
    """Return a network whose owners have no clocks and are asked in rounds."""
    return net([[]] * owners, protocol=Rounds(deadline=deadline), **parts)


LENGTHS = [
    Case(
        "rounds_last_as_long_as_the_slowest",
        "All are asked at 0, from one model; the slowest, owner 3, ends the round at 2: the three "
        "answers make one update,\nand the next round begins at that tick.",
        meet(3, compute=(0.5, 1, 2), updates=2),
        end=4,
        updates=((2, 0), (4, 0)),
        released=((0.5, 1), (1, 2), (2, 3), (2.5, 1), (3, 2), (4, 3)),
        reads=(0, 0, 0, 2, 2, 2),
        stale=(0, 0, 0, 0, 0, 0),
        ending="updates",
    ),
    Case(
        "rounds_without_duration",
        "Nothing takes time but owner 2's coming, at 1. Then three rounds follow each other at "
        "that tick, one event each\n(two more events are owner 2's joining and its query's turn); "
        "owner 2 has two answers, owner 1 three.",
        meet(2, allowed=(3, 2), availability=joins(2, 1)),
        end=1,
        updates=((1, 0), (1, 0), (1, 0)),
        released=((0, 1), (1, 2), (1, 1), (1, 2), (1, 1)),
        reads=(0, 0, 1, 1, 1),
        away=((0, 2),),
        back=((1, 2),),
        online=(1.0, 0.0),
        scheduled=5,
        ending="spent",
    ),
    Case(
        "rounds_cut_short_by_the_horizon",
        "The run ends before owner 2's answer. Owner 1's, released and charged at 0.5, is used by "
        "no update.",
        meet(2, compute=(0.5, 2), until=1.2),
        end=1.2,
        open=("buffered", "unreleased"),
        released=((0.5, 1),),
        ending="horizon",
    ),
    Case(
        "rounds_do_not_wait_for_acknowledgements",
        "The round is over when the answers are there, at 0.6. Owners wait for acknowledgements, "
        "0.5: owner 1 gets to the\nnext query, asked at 0.6, at 1, owner 2 at 1.1.",
        meet(2, compute=(0.5, 0.6), acknowledgement=0.5, updates=2),
        end=1.7,
        updates=((0.6, 0), (1.7, 0)),
        released=((0.5, 1), (0.6, 2), (1.5, 1), (1.7, 2)),
        reads=(0, 0, 0.6, 0.6),
    ),
]

DEADLINES = [
    Case(
        "rounds_answer_exactly_at_the_deadline",
        "Owner 2's answer arrives exactly at the deadline and is in time (answers and gradients "
        "before timeouts). The timer\nof the round that is over does nothing to the next.",
        meet(2, 1, compute=(0.5, 1), updates=2),
        end=2,
        updates=((1, 0), (2, 0)),
        released=((0.5, 1), (1, 2), (1.5, 1), (2, 2)),
        reads=(0, 0, 1, 1),
    ),
    Case(
        "rounds_one_tick_late",
        "Owner 2's gradient is ready one tick after the deadline: its answer is not sent and costs "
        "nothing. It then begins\non the next query, too late again for that round's deadline, 2.",
        meet(2, 1, compute=(0.5, 1.000000001), updates=2),
        end=2,
        updates=((1, 0), (2, 0)),
        mishaps=(("timeout", 1, 2), ("timeout", 2, 2)),
        open=("abandoned", "unreleased"),
        released=((0.5, 1), (1.5, 1)),
        reads=(0, 1),
    ),
    Case(
        "rounds_late_answer_is_turned_away",
        "Owner 2's answer, under way at the deadline, is turned away at 1.5, though it was "
        "charged. Until then owner 2 is at\nwork; it answers the query of the second round from "
        "1.5 on, late again.",
        meet(2, 1, answer=(0.25, 1.5), updates=2),
        end=2,
        updates=((1, 0), (2, 0)),
        mishaps=(("timeout", 1, 2), ("answer_discarded late", 1.5, 2), ("timeout", 2, 2)),
        open=("discarded", "in_flight"),
        released=((0, 1), (0, 2), (1, 1), (1.5, 2)),
        reads=(0, 1),
    ),
    Case(
        "rounds_late_owner_gets_to_the_next_query",
        "First transmissions are lost and repeated, free of charge. Owner 2's second arrives at "
        "1.5, after the deadline\n1.4; only then it gets to the query of 1.4, and its answer of "
        "2.25 ends the second round.",
        meet(
            2,
            1.4,
            answer=(0.5, 0.75),
            updates=2,
            channel=Ideal(loss=losing(1), retransmissions=1),
        ),
        end=2.25,
        updates=((1.4, 0), (2.25, 0)),
        mishaps=(
            ("answer_lost noise", 0.5, 1),
            ("answer_resent", 0.5, 1),
            ("answer_lost noise", 0.75, 2),
            ("answer_resent", 0.75, 2),
            ("timeout", 1.4, 2),
            ("answer_discarded late", 1.5, 2),
        ),
        open=("discarded",),
        released=((0, 1), (0, 2), (1.4, 1), (1.5, 2)),
        reads=(0, 1.4, 1.4),
        stale=(0, 0, 0),
    ),
    Case(
        "rounds_late_answer_is_not_computed_anew",
        "Owner 1's first answer is lost and computed anew, in time. Owner 2's is lost at 1.1, "
        "after the deadline: it is not\ncomputed anew, and its owner turns to the second query.",
        meet(
            2,
            1,
            compute=(0.1, 0.2),
            answer=(0.3, 0.9),
            updates=2,
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
        ),
        end=2,
        updates=((1, 0), (2, 0)),
        mishaps=(
            ("answer_lost noise", 0.4, 1),
            ("timeout", 1, 2),
            ("answer_lost noise", 1.1, 2),
            ("timeout", 2, 2),
        ),
        open=("lost", "lost", "in_flight"),
        released=((0.1, 1), (0.2, 2), (0.5, 1), (1.1, 1), (1.3, 2)),
        reads=(0, 1),
        stale=(0, 0),
    ),
    Case(
        "rounds_end_with_the_last_late_answer",
        "Owner 2's only answer is late; the second round asks owner 1 alone, and takes its last "
        "answer. Nobody is left to\nask: the run ends as the late answer is turned away.",
        meet(2, 1, answer=(0.5, 1.75), allowed=(2, 1)),
        end=1.75,
        updates=((1, 0), (1.5, 0)),
        mishaps=(("timeout", 1, 2), ("answer_discarded late", 1.75, 2)),
        open=("discarded",),
        released=((0, 1), (0, 2), (1, 1)),
        reads=(0, 1),
        ending="spent",
    ),
]

PRESENT = [
    Case(
        "rounds_wait_for_who_is_offline",
        "Owner 2's query arrives at 1.25 and finds it offline until 3; it is answered then, and "
        "the round lasts until 3.5.",
        meet(2, query=(0.25, 1.25), compute=0.5, availability=dark([[2]], 1, 2), updates=1),
        end=3.5,
        updates=((3.5, 0),),
        released=((0.75, 1), (3.5, 2)),
        reads=(0, 0),
        away=((1, 2),),
        back=((3, 2),),
        online=(1.0, 1.5 / 3.5),
    ),
    Case(
        "rounds_leave_the_offline_out_at_the_deadline",
        "The same with a deadline of 2: the first update is owner 1's alone. Owner 2 does not "
        "answer the old query when it\nis back, at 3, but the next, which arrives at 3.25.",
        meet(2, 2, query=(0.25, 1.25), compute=0.5, availability=dark([[2]], 1, 2), updates=2),
        end=3.75,
        updates=((2, 0), (3.75, 0)),
        mishaps=(("timeout", 2, 2),),
        open=("abandoned",),
        released=((0.75, 1), (2.75, 1), (3.75, 2)),
        reads=(0, 2, 2),
        away=((1, 2),),
        back=((3, 2),),
        online=(1.0, 1.75 / 3.75),
    ),
    Case(
        "rounds_back_exactly_at_the_deadline",
        "Owner 2 joins exactly at the deadline: too late for the first round (timeouts before "
        "coming and going), in time\nfor the second, whose query has waited for no time.",
        meet(2, 3, compute=(0.5, 0.75), availability=joins(2, 3), updates=2),
        end=3.75,
        updates=((3, 0), (3.75, 0)),
        mishaps=(("timeout", 3, 2),),
        open=("abandoned",),
        released=((0.5, 1), (3.5, 1), (3.75, 2)),
        reads=(0, 3, 3),
        away=((0, 2),),
        back=((3, 2),),
        online=(1.0, 0.2),
    ),
    Case(
        "rounds_pass_empty_while_all_are_away",
        "With a deadline the learner does not wait: two rounds end without an answer and make no "
        "update. The third query\nfinds the owner at 2.5; its one answer was not spent on the "
        "others.",
        meet(1, 1, compute=0.25, allowed=(1,), availability=joins(1, 2.5)),
        end=2.75,
        updates=((2.75, 0),),
        mishaps=(("timeout", 1, 1), ("timeout", 2, 1)),
        open=("abandoned", "abandoned"),
        released=((2.75, 1),),
        reads=(2,),
        away=((0, 1),),
        back=((2.5, 1),),
        online=(0.25 / 2.75,),
        ending="spent",
    ),
    Case(
        "rounds_owner_leaves_while_it_is_waited_for",
        "Owner 2, offline from 1 on, leaves for good at 2: its query counts as lost and the round "
        "ends without it. From then\non owner 1 alone is asked.",
        meet(
            2,
            query=(0.25, 1.25),
            compute=0.5,
            availability=Together((dark([[2]], 1, 9), leaves(2, 2))),
            updates=2,
        ),
        end=2.75,
        updates=((2, 0), (2.75, 0)),
        mishaps=(("query_lost offline", 2, 2),),
        open=("abandoned",),
        released=((0.75, 1), (2.75, 1)),
        reads=(0, 2),
        away=((1, 2),),
        online=(1.0, 1 / 2.75),
    ),
    Case(
        "rounds_owner_leaves_as_its_query_travels",
        "Owner 2 leaves for good at 1, before its query arrives at 1.25 in vain, which ends the "
        "round.",
        meet(2, query=(0.25, 1.25), compute=0.5, availability=leaves(2, 1), updates=2),
        end=2,
        updates=((1.25, 0), (2, 0)),
        mishaps=(("query_lost offline", 1.25, 2),),
        open=("abandoned",),
        released=((0.75, 1), (2, 1)),
        reads=(0, 1.25),
        away=((1, 2),),
        online=(1.0, 0.5),
    ),
    Case(
        "rounds_owner_at_work_leaves",
        "Owner 2 leaves for good at 0.75, at work: its answer of 1 counts and ends the round; from "
        "then on owner 1 alone is\nasked.",
        meet(2, compute=(0.5, 1), availability=leaves(2, 0.75), updates=2),
        end=1.5,
        updates=((1, 0), (1.5, 0)),
        released=((0.5, 1), (1, 2), (1.5, 1)),
        reads=(0, 0, 1),
        away=((0.75, 2),),
        online=(1.0, 0.5),
    ),
]

LOST = [
    Case(
        "rounds_empty_round_makes_no_update",
        "Both queries of the second round are lost: it is over at 1.1, without an update, and the "
        "third begins.",
        meet(2, query=(0.25, 0.3), compute=0.5, updates=2, channel=Ideal(loss_query=losing(2))),
        end=1.9,
        updates=((0.8, 0), (1.9, 0)),
        mishaps=(("query_lost noise", 1.05, 1), ("query_lost noise", 1.1, 2)),
        open=("abandoned", "abandoned"),
        released=((0.75, 1), (0.8, 2), (1.85, 1), (1.9, 2)),
        reads=(0, 0, 1.1, 1.1),
    ),
    Case(
        "rounds_lost_answer_leaves_its_owner_out",
        "Owner 2's answer is lost at 0.75: released, charged, and no part of the update of that "
        "tick.",
        meet(2, answer=(0.5, 0.75), updates=1, channel=Ideal(loss=(0.0, 1.0))),
        end=0.75,
        updates=((0.75, 0),),
        mishaps=(("answer_lost noise", 0.75, 2),),
        open=("lost",),
        released=((0, 1), (0, 2)),
        reads=(0,),
    ),
    Case(
        "rounds_fresh_answers_lengthen_a_round",
        "A lost answer is computed anew, for which the round waits: owner 1's second arrives at "
        "1.5. Owner 2 can pay for\none only. These were the last answers: they make an update, "
        "then the run ends.",
        meet(
            2,
            compute=(0.25, 0.3),
            answer=(0.5, 0.75),
            allowed=(2, 1),
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
        ),
        end=1.5,
        updates=((1.5, 0),),
        mishaps=(("answer_lost noise", 0.75, 1), ("answer_lost noise", 1.05, 2)),
        open=("lost", "lost"),
        released=((0.25, 1), (0.3, 2), (1, 1)),
        reads=(0,),
        stale=(0,),
        ending="spent",
    ),
    Case(
        "rounds_go_on_with_who_has_budget",
        "Owner 1's only answer is spent in the first round; the second asks owner 2 alone. Then "
        "every budget is spent.",
        meet(2, compute=(0.5, 1), allowed=(1, 2)),
        end=2,
        updates=((1, 0), (2, 0)),
        released=((0.5, 1), (1, 2), (2, 2)),
        reads=(0, 0, 1),
        ending="spent",
    ),
]

SHARED = [
    Case(
        "rounds_over_tdma",
        "Both answers are ready at 0: owner 1's goes in slot [0, 1), owner 2's in [1, 2), and the "
        "update of 2 begins the next\nround as owner 1's next slot begins, which its answer takes.",
        meet(2, updates=2, channel=Tdma(airtime=1, slot=1)),
        end=4,
        updates=((2, 0), (4, 0)),
        released=((0, 1), (1, 2), (2, 1), (3, 2)),
        reads=(0, 0, 2, 2),
        on_air=4,
    ),
    Case(
        "rounds_deadline_before_a_slot",
        "At the deadline, 1.5, owner 2's answer is on the air, charged for nothing; owner 3's, "
        "whose slot begins at 2, is not\nreleased.",
        meet(3, 1.5, updates=1, channel=Tdma(airtime=1, slot=1)),
        end=1.5,
        updates=((1.5, 0),),
        mishaps=(("timeout", 1.5, 2), ("timeout", 1.5, 3)),
        open=("in_flight", "unreleased"),
        released=((0, 1), (1, 2)),
        reads=(0,),
        on_air=1.5,
    ),
    Case(
        "rounds_slot_of_an_answer_that_was_given_up",
        "The same, one round longer. Owner 3 gives its first answer up as its slot begins, at 2, "
        "and its second goes in that\nslot: it arrives exactly at the deadline. Owners 1 and 2 "
        "have no slot of their own before that.",
        meet(3, 1.5, updates=2, channel=Tdma(airtime=1, slot=1)),
        end=3,
        updates=((1.5, 0), (3, 0)),
        mishaps=(
            ("timeout", 1.5, 2),
            ("timeout", 1.5, 3),
            ("answer_discarded late", 2, 2),
            ("timeout", 3, 1),
            ("timeout", 3, 2),
        ),
        open=("discarded", "abandoned", "unreleased", "unreleased"),
        released=((0, 1), (1, 2), (2, 3)),
        reads=(0, 1.5),
        on_air=3,
    ),
    Case(
        "rounds_over_aloha",
        "Owner 1 sends in [0.5, 1), owner 2 in [0.75, 1.25): both answers are destroyed. The "
        "update of 2.5 is of owner 3's\nanswer alone.",
        meet(3, compute=(0.5, 0.75, 2), updates=1, channel=Aloha(airtime=0.5)),
        end=2.5,
        updates=((2.5, 0),),
        mishaps=(("answer_collided", 1, 1), ("answer_collided", 1.25, 2)),
        open=("collided", "collided"),
        released=((0.5, 1), (0.75, 2), (2, 3)),
        reads=(0,),
        on_air=1.5,
    ),
]

ROUNDS = [*LENGTHS, *DEADLINES, *PRESENT, *LOST, *SHARED]
