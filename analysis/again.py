"""Networks of scenarios that were run, simulated again: the same streams, and the same messages."""

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace


def traces_of(scenario: Scenario, count: int | None = None, *, events: bool = False) -> list[Trace]:
    """Return the traces of the first ``count`` replicates of a scenario, or of all."""
    streams, network = Streams(scenario.run.seed), scenario.network
    numbers = range(1, (scenario.run.replicates if count is None else count) + 1)
    return [simulate(network, streams.within("replicate", r), events=events) for r in numbers]
