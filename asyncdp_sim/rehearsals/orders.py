"""Orders: what the processes of a rehearsal are told when they are started."""

from dataclasses import dataclass
from pathlib import Path

from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.network.spec import Network
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.streams import Scope, Streams


@dataclass(frozen=True, eq=False)
class Order:
    """The order for one replicate of a rehearsal.

    Attributes
    ----------
    network : Network
    task : Task
        The algorithm, and what owners answer with.
    seed : int
    number : int
        Of the replicate, from 1.
    folder : Path
        Where owners keep their ledgers.
    token : str
        What a connection has to know to be an owner's.
    unit : float, optional
        Seconds that a unit of time takes; absent, the learner chooses it by what it measures.
    shortest : float
        The shortest mean duration of the network (time units).
    """

    network: Network
    task: Task
    seed: int
    number: int
    folder: Path
    token: str
    unit: float | None
    shortest: float

    @property
    def streams(self) -> Scope:
        """The replicate's random streams, none of them handed out: each process has its own."""
        scope = Streams(self.seed).within("replicate", self.number)
        return scope.of_owners(self.network.owner_numbers)


def shortest_duration(network: Network) -> float:
    """Return the shortest mean time that an exchange takes for anything (time units).

    Of messages, computing, and what owners and the learner wait for; where none of these takes
    time, the mean time between two ticks of all clocks together, or else 1.
    """
    stages = ("request", *STAGES)
    found = [mean for stage in stages for mean in network.mean_times(stage) if mean > 0]
    found += network.protocol.waits
    if len(found) > 0:
        return min(found)
    rates = network.clock.rates(network.n_owners)
    return 1.0 if rates is None or not network.protocol.acts_on_ticks else 1 / sum(rates)


__all__ = ["Order", "shortest_duration"]
