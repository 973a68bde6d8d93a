"""The owners of a scenario, and those of them who take part in a run."""

from asyncdp_sim.scenario.owners.participants import Participants
from asyncdp_sim.scenario.owners.spec import Owners

__all__ = ["Owners", "Participants"]
