"""Several answers make one update: the learner keeps them in a buffer until it is full."""

from tests.ordering.scene import Case, net

BUFFERS = [
    Case(
        "buffer_of_two_on_push",
        "Two answers make one update. Those of 1.5 (owner 1) and 1.7 (owner 2) make update 1, at "
        "1.7. Owner 3 read at\n1.6, between them, before any update: its answer of 2.1 waits and "
        "is used by update 2, at 2.4, stale by 1. With\nit goes owner 1's of 2.4, read at 1.9: "
        "stale by 0.",
        net([[1, 1.9], [1.2], [1.6]], compute=0.5, push="drop", buffer=2),
        end=2.4,
        updates=((1.7, 2), (2.4, 1)),
        reads=(1, 1.2, 1.6, 1.9),
        stale=(0, 0, 1, 0),
    ),
    Case(
        "buffer_and_lock",
        "The lock lasts for one exchange, not for an update: at 1.5 owner 1's answer goes to the "
        "buffer and the learner\nis free, so owner 2 is served at 1.5 and completes update 1. In "
        "between, at 1.2, it was refused. Owner 1's\nanswers of 3.5 and 4.5 make update 2: an "
        "owner may be in an update twice.",
        net([[1, 3, 4], [1.2, 1.5]], compute=0.5, buffer=2, updates=2),
        end=4.5,
        updates=((2, 2), (4.5, 1)),
        refused=((1.2, 2),),
        stale=(0, 0, 0, 0),
        ending="updates",
    ),
    Case(
        "buffer_half_full_at_the_end",
        "Three answers make one update. The fourth to arrive, owner 1's of 2.5, is released and "
        "charged but never used:\nthe run ends at 3, with owner 2's answer still computing.",
        net([[1, 2], [1.2, 2.7], [1.4]], compute=0.5, push="drop", buffer=3, until=3),
        end=3,
        updates=((1.9, 3),),
        open=("buffered", "unreleased"),
        released=((1.5, 1), (1.7, 2), (1.9, 3), (2.5, 1)),
        stale=(0, 0, 0),
        ending="horizon",
    ),
]
