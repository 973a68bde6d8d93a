"""Peers, each with the versions that it is timed with, and what it leaves out of ours."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.peers.work import N_OWNERS, UNTIL, UPDATES, Done, Learned, P, Served
from tests.tables import table


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
    pins : sequence of str
        What pip installs, its own version first.
    lacks : str
        What it does not do of what ours does meanwhile.
    asked : sequence of (str, float)
        How many times as fast ours is to be, by our words; of others nothing is asked.
    """

    name: str
    module: str
    pins: Sequence[str]
    lacks: str
    asked: Sequence[tuple[str, float]] = ()

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


def field(name: str, done: type[Done]) -> Field:
    """Return a piece of work of the table."""
    told = table(__file__, "pinned.toml")[name]
    what = told["what"].format(UPDATES=UPDATES, N_OWNERS=N_OWNERS, P=P, UNTIL=UNTIL)
    ours, peers = (Ours(*each) for each in told["ours"]), (Peer(*each) for each in told["peers"])
    return Field(what, done, tuple(ours), tuple(peers))


LEARNING = field("learned", Learned)
FIELDS = (LEARNING, field("served", Served))
