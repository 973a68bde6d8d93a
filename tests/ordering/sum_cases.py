"""Sums of masked answers: when they are opened, when they are left, and who waits for them."""

from asyncdp_sim.network.protocols import Rounds
from asyncdp_sim.network.sums import Aggregation
from tests.ordering.scene import Case, net

SUMS = [
    Case(
        "sums_are_opened_by_a_trip",
        "Owner 3 is not there at the deadline, 1; two answers are enough. Their owners send shares "
        "by another trip, 0.25:\nthe sum is open at 1.25, where both answers count as delivered, "
        "and make the update.",
        net(
            [[]] * 3,
            protocol=Rounds(deadline=1.0),
            compute=(0.25, 0.5, 3),
            answer=0.25,
            aggregation=Aggregation(least=2),
            updates=1,
        ),
        end=1.25,
        updates=((1.25, 0),),
        mishaps=(("timeout", 1, 3),),
        open=("unreleased",),
        released=((0.25, 1), (0.5, 2)),
        reads=(0, 0),
        ending="updates",
    ),
    Case(
        "sums_of_too_few_are_not_opened",
        "As before, but three answers are needed: the two that have come are turned away at the "
        "deadline, though they were\ncharged, and the next round begins at once.",
        net(
            [[]] * 3,
            protocol=Rounds(deadline=1.0),
            compute=(0.25, 0.5, 3),
            answer=0.25,
            aggregation=Aggregation(least=3),
            until=1.2,
        ),
        end=1.2,
        mishaps=(
            ("timeout", 1, 3),
            ("answer_discarded unopened", 1, 1),
            ("answer_discarded unopened", 1, 2),
        ),
        open=("discarded", "discarded", "unreleased", "unreleased", "unreleased", "unreleased"),
        released=((0.25, 1), (0.5, 2)),
        ending="horizon",
    ),
    Case(
        "sums_have_one_answer_of_each",
        "Owner 1's answer arrives at 1.5 and waits for another one's: its tick at 1.9 is dropped. "
        "Owner 2's arrives at 2.1,\nwhich makes the sum, and owner 1 is free for its tick at 2.5.",
        net(
            [[1, 1.9, 2.5], [1.6]],
            push="drop",
            compute=0.5,
            buffer=2,
            aggregation=Aggregation(least=2),
        ),
        end=3,
        updates=((2.1, 2),),
        dropped=((1.9, 1),),
        mishaps=(("answer_discarded unopened", 3, 1),),
        open=("discarded",),
        released=((1.5, 1), (2.1, 2), (3, 1)),
        reads=(1, 1.6),
        stale=(0, 0),
        ending="silent",
    ),
]
