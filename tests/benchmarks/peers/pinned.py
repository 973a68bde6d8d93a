"""Peers, each with the versions that it is timed with, and what it leaves out of ours."""

from dataclasses import dataclass

from tests.benchmarks.peers.work import N_OWNERS, UNTIL, UPDATES, Done, Learned, P, Served


@dataclass(frozen=True)
class Ours:
    """A way in which this package does a piece of work.

    Attributes
    ----------
    word : str
        What the module ``ours`` knows it by.
    how : str
        In words.
    """

    word: str
    how: str


@dataclass(frozen=True)
class Peer:
    """What does the same work.

    Attributes
    ----------
    name, module : str
        In the table, and of its file here.
    pins : tuple of str
        What pip installs, its own version first.
    lacks : str
        What it does not do of what ours does meanwhile.
    asked : tuple of (str, float)
        How many times as fast ours is to be, by our words; of others nothing is asked.
    """

    name: str
    module: str
    pins: tuple[str, ...]
    lacks: str
    asked: tuple[tuple[str, float], ...] = ()

    @property
    def version(self) -> str:
        """Its version, as it is pinned."""
        return self.pins[0].partition("==")[2]


@dataclass(frozen=True)
class Field:
    """A piece of work, our ways of doing it, and the peers that do it.

    Attributes
    ----------
    what : str
        In words, with its size.
    done : type
        What each says of having done it.
    ours : tuple of Ours
    peers : tuple of Peer
    """

    what: str
    done: type[Done]
    ours: tuple[Ours, ...]
    peers: tuple[Peer, ...]


LEARNING = Field(
    f"{UPDATES:,} updates of ridge regression, {N_OWNERS} owners, p = {P}",
    Learned,
    (
        Ours("live", "simulated with events, learned live"),
        Ours("replayed", "simulated, replayed, each of 100 replicates"),
    ),
    (
        Peer(
            "pfl-research",
            "pfl_research",
            ("pfl==0.6.0",),
            "network, time, fitness",
            (("live", 1.0),),
        ),
        Peer(
            "a plain NumPy loop",
            "numpy_loop",
            ("numpy==2.4.6",),
            "network, time, fitness, accounting of ε",
        ),
    ),
)
QUEUE = Field(
    f"{N_OWNERS} owners ask a learner that serves one and refuses others, {UNTIL:g} s",
    Served,
    (Ours("owners", "events recorded"),),
    (
        Peer(
            "bare SimPy",
            "simpy",
            ("simpy==4.1.2", "numpy==2.4.6"),
            "records of events, learning, noise",
            (("owners", 0.4),),
        ),
        Peer("Ciw", "ciw", ("ciw==3.2.7",), "learning, noise"),
        Peer("salabim", "salabim", ("salabim==26.0.9", "numpy==2.4.6"), "learning, noise"),
    ),
)
FIELDS = (LEARNING, QUEUE)
