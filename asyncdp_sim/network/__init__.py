"""Everything that takes simulated time; knows nothing of gradients."""

from asyncdp_sim.network.exchanges import Learning
from asyncdp_sim.network.latency import Latency, Payload
from asyncdp_sim.network.simulate import simulate
from asyncdp_sim.network.spec import Network

__all__ = ["Latency", "Learning", "Network", "Payload", "simulate"]
