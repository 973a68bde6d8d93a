"""Everything that takes simulated time; knows nothing of gradients."""

from asyncdp_sim.network.simulate import simulate
from asyncdp_sim.network.spec import Latency, Network
