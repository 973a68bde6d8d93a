"""Ends a run that gets nowhere: owners keep trying, or keep silent, and nothing is released."""

from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.protocols import Broadcast, Gossip, Rounds, Servers
from asyncdp_sim.network.spec import Network
from asyncdp_sim.units import TICKS_PER_UNIT, to_ticks

_ATTEMPTS = 10**5
"""Attempts in a row without a released answer after which a run has stalled."""
_COMINGS = 10**5
"""Comings and goings of owners in a row without one after which it has."""
_SILENT = 100
"""Looks in a row without one after which it has, if no owner has come or gone meanwhile."""
_BETWEEN = 10**4
"""Clock ticks (or queries) between two looks, at least one per owner."""


def watch(network: Network, learner: Learner) -> Activity:
    """Look now and then whether answers are still released; stop the run if they are not."""
    period = _period(network)
    if period is None:
        return
    recorder = learner.recorder
    released, attempts, presence, looks = -1, 0, 0, 0
    while True:
        left = sum(learner.answers_left)
        tried = learner.messages - learner.broadcasts - attempts
        came = recorder.presence_changes - presence
        if left != released:
            released, looks = left, 0
            attempts += tried
            presence += came
        elif tried >= _ATTEMPTS or came >= _COMINGS or (looks >= _SILENT and came == 0):
            learner.stall()
            return
        looks += 1
        yield learner.kernel.after(period, Priority.PRESENCE)


def _period(network: Network) -> int | None:
    """Return the ticks between two looks; None where owners cannot idle for ever."""
    if isinstance(network.protocol, Broadcast) and not network.protocol.clocked:
        return _BETWEEN * to_ticks(network.protocol.interval)
    if isinstance(network.protocol, Rounds):  # they count those that are empty
        return None
    if isinstance(network.protocol, Servers):  # clients always have work to do, or under way
        return None
    clock, count = network.clock, network.n_owners
    if isinstance(network.protocol, Gossip):
        clock, count = network.protocol.clock, len(network.protocol.graph.edges(count))
    rates = clock.rates(count)
    if rates is None:
        return None
    return round(max(_BETWEEN, count) * TICKS_PER_UNIT / sum(rates)) + 1
