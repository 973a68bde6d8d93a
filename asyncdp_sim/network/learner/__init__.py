"""The learner's side of the network: its lock, its open exchanges, its updates and its ends."""

from asyncdp_sim.network.learner.exchanges import BroadcastQuery
from asyncdp_sim.network.learner.learner import ATTEMPTS, Learner
from asyncdp_sim.network.learner.live import Learning, LiveLearner

__all__ = ["ATTEMPTS", "BroadcastQuery", "Learner", "Learning", "LiveLearner"]
