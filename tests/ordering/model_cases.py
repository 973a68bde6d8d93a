"""Timing that depends on a model: answers that owners keep to themselves, and runs that are done.

Which answers, and after which update, the cases say; there is no model.
"""

from asyncdp_sim.network.channels import Aloha, Ideal
from asyncdp_sim.network.protocols import Broadcast, Request
from tests.ordering.scene import Case, losing, net

WITHHELD = [
    Case(
        "withheld_answer_frees_the_learner",
        "Owner 1's gradient is ready at 1.5 and withheld: the learner is free at that tick, and "
        "owner 2, refused at 1.25,\nis served. Nothing was released or charged: owner 1, who may "
        "release one answer, does so at 3.5.",
        net([[1, 3], [1.25, 1.5]], compute=0.5, allowed=(1, 1), withholds=True),
        end=3.5,
        updates=((2, 2), (3.5, 1)),
        refused=((1.25, 2),),
        mishaps=(("answer_withheld", 1.5, 1),),
        open=("withheld",),
        released=((2, 2), (3.5, 1)),
        ending="spent",
        withheld=(1,),
    ),
    Case(
        "withheld_answer_gives_the_turn",
        "Owner 2 waits in the queue from 1.25; its turn comes as owner 1 withholds its answer, at "
        "1.5.",
        net([[1], [1.25]], compute=0.5, protocol=Request(busy="queue"), withholds=True),
        end=2,
        updates=((2, 2),),
        mishaps=(("request_queued", 1.25, 2), ("answer_withheld", 1.5, 1)),
        open=("withheld",),
        reads=(1.5,),
        withheld=(1,),
    ),
    Case(
        "withheld_answer_stops_the_timeout",
        "The learner would wait until 2; it is free at 1.5, as the answer is withheld. Owner 2 is "
        "served from 1.75 and\nno timeout rings.",
        net([[1], [1.75]], compute=0.5, protocol=Request(timeout=1), withholds=True),
        end=2.25,
        updates=((2.25, 2),),
        mishaps=(("answer_withheld", 1.5, 1),),
        open=("withheld",),
        withheld=(1,),
    ),
    Case(
        "withheld_or_given_up",
        "Owner 1's gradient is ready at 2.5, but the learner has given up at 2: there is nothing "
        "left to withhold.",
        net([[1], [2.25]], compute=(1.5, 0.5), protocol=Request(timeout=1), withholds=True),
        end=2.75,
        updates=((2.75, 2),),
        mishaps=(("timeout", 2, 1),),
        open=("abandoned",),
        withheld=(1,),
    ),
    Case(
        "withheld_under_push",
        "The answer to the read of 1 is withheld at 1.5 and never travels; its owner is free, so "
        "the tick of 1.5 reads\nagain.",
        net([[1, 1.25, 1.5]], compute=0.5, answer=0.25, push="drop", withholds=True),
        end=2.25,
        updates=((2.25, 1),),
        dropped=((1.25, 1),),
        mishaps=(("answer_withheld", 1.5, 1),),
        open=("withheld",),
        released=((2, 1),),
        reads=(1.5,),
        withheld=(1,),
    ),
    Case(
        "withheld_answer_leaves_its_budget",
        "One answer is allowed and the job of 1 has it: the tick of 1.25 begins nothing. Withheld "
        "at 1.5, it is there for\nthe job of 1.75.",
        net([[1, 1.25, 1.75]], compute=0.5, allowed=(1,), push="overlap", withholds=True),
        end=2.25,
        updates=((2.25, 1),),
        mishaps=(("answer_withheld", 1.5, 1),),
        open=("withheld",),
        reads=(1.75,),
        ending="spent",
        withheld=(1,),
    ),
    Case(
        "withheld_answer_to_a_broadcast",
        "The answer to the query of 0 (message 2) is withheld at 0.6: the query has been dealt "
        "with, and the tick of 0.8\nhas nothing to answer; that of 1.5 answers the query of 1.",
        net([[0.5, 0.8, 1.5]], compute=0.1, protocol=Broadcast(interval=1), withholds=True),
        end=1.6,
        updates=((1.6, 1),),
        mishaps=(("answer_withheld", 0.6, 1),),
        open=("withheld",),
        reads=(1,),
        withheld=(2,),
    ),
    Case(
        "withheld_answer_stays_off_the_channel",
        "Owner 2 sends in [1.375, 1.875); owner 1's gradient, ready at 1.5, would have collided.",
        net(
            [[1], [1.125]],
            compute=(0.5, 0.25),
            push="drop",
            channel=Aloha(airtime=0.5),
            withholds=True,
        ),
        end=1.875,
        updates=((1.875, 2),),
        mishaps=(("answer_withheld", 1.5, 1),),
        open=("withheld",),
        on_air=0.5,
        withheld=(1,),
    ),
    Case(
        "withheld_or_sent_once_for_all",
        "Sent at 1.25 and lost at 1.75, the answer is computed anew for the same query, whose "
        "gradient is the same: the\nowner is not asked again, though message 2 would be withheld.",
        net(
            [[1]],
            compute=0.25,
            answer=0.5,
            push="drop",
            channel=Ideal(loss=losing(1), retransmissions=1, resend="fresh"),
            withholds=True,
        ),
        end=2.5,
        updates=((2.5, 1),),
        mishaps=(("answer_lost noise", 1.75, 1),),
        open=("lost",),
        released=((1.25, 1), (2, 1)),
        withheld=(2,),
    ),
]

ENOUGH = [
    Case(
        "target_ends_the_run",
        "The model is good enough after update 2 of 10, at 2.25: the run ends there, with owner "
        "1's second answer on\nits way.",
        net([[1, 1.9], [1.75]], compute=0.25, answer=0.25, push="drop", stops=True),
        end=2.25,
        updates=((1.5, 1), (2.25, 2)),
        open=("in_flight",),
        released=((1.25, 1), (2, 2), (2.15, 1)),
        ending="target",
        enough=2,
    ),
]

MODELS = [*WITHHELD, *ENOUGH]
