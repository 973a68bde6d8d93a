"""Owners that differ: in their durations, in their distance, and in when they are there."""

from pathlib import Path

from asyncdp_sim.network.availability import Intervals
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.topology import LinkFailures, Star
from tests.ordering.scene import Case, net

PLACES = [
    Case(
        "durations_of_each_owner",
        "Owner 1's query takes no event, owner 2's takes 0.3; owner 1 computes for 0.5, owner 2 "
        "not at all: each from\nits own place in the list.",
        net([[1], [1.5]], query=(None, 0.3), compute=(0.5, None)),
        end=1.8,
        updates=((1.5, 1), (1.8, 2)),
        released=((1.5, 1), (1.8, 2)),
    ),
    Case(
        "star_distances",
        "Owner 1 is 0.1 away, owner 2 0.3; answers take 0.2 besides. Owner 1: request 1.1, query "
        "1.2, answer 1.5. Owner 2's\nrequest, sent at 1.2, arrives at 1.5 and finds the learner "
        "free; query 1.8, answer 2.3.",
        net([[1], [1.2]], answer=0.2, topology=Star(latency=(0.1, 0.3))),
        end=2.3,
        updates=((1.5, 1), (2.3, 2)),
        released=((1.2, 1), (1.8, 2)),
        reads=(1.1, 1.5),
    ),
    Case(
        "link_failure",
        "The owner's link, 0.1 long, fails at 1 for 0.5. The exchange begun at 0.9 has its request "
        "at the learner by 1,\nand is completed at 1.2; the ticks at 1 and 1.25 are dropped; at "
        "1.5 the link works before the clock ticks.",
        net(
            [[0.9, 1, 1.25, 1.5]],
            topology=Star(
                latency=0.1,
                failures=LinkFailures(gap=Constant(value=1), length=Constant(value=0.5)),
            ),
        ),
        end=1.8,
        updates=((1.2, 1), (1.8, 1)),
        missed=((1, 1), (1.25, 1)),
        away=((1, 1),),
        back=((1.5, 1),),
        online=(1.3 / 1.8,),
    ),
    Case(
        "intervals_of_a_file",
        "Owner 1 is online in [0, 1), [1, 2) (which are one) and [3, 4), owner 2 in [0.5, 2.5), "
        "owner 3 never. The ticks\nat 0.5 (owner 2 comes first) and 3 act, that at 2 is dropped; "
        "after its last interval owner 2 has left: its tick\nat 2.5 is not even dropped.",
        net(
            [[0.5, 1, 2, 3], [0.5, 2.5], [1.5]],
            availability=Intervals(path=str(Path(__file__).parent / "online.csv")),
        ),
        end=3,
        updates=((0.5, 1), (0.5, 2), (1, 1), (3, 1)),
        missed=((1.5, 3), (2, 1)),
        away=((0, 2), (0, 3), (2, 1), (2.5, 2)),
        back=((0.5, 2), (3, 1)),
        online=(2 / 3, 2 / 3, 0.0),
        ending="silent",
    ),
]
