"""Ends a run that gets nowhere: owners keep trying, or keep silent, and nothing is released."""

from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.learner import ATTEMPTS, Learner
from asyncdp_sim.network.spec import Network

_COMINGS = 10**5
"""Comings and goings of owners in a row without one after which it has, hidden ones among them:
an owner in several outages at once goes in each."""
_SILENT = 100
"""Looks in a row without one after which it has, if no owner has come or gone meanwhile."""
_BETWEEN = 10**4
"""Clock ticks (or queries) between two looks, at least one per owner."""


def watch(network: Network, learner: Learner) -> Activity:
    """Look now and then whether answers are still released; stop the run if they are not."""
    period = network.protocol.stall_period(network, _BETWEEN)
    if period is None:  # owners cannot idle for ever
        return
    released, attempts, presence, looks = -1, 0, 0, 0
    while True:
        left = sum(learner.answers_left)
        tried = learner.messages - learner.broadcasts - attempts
        came = learner.presence_changes - presence
        if left != released:
            released, looks = left, 0
            attempts += tried
            presence += came
        elif tried >= ATTEMPTS or came >= _COMINGS or (looks >= _SILENT and came == 0):
            learner.stall()
            return
        looks += 1
        yield learner.kernel.tick + period, Priority.PRESENCE
