"""Networks whose runs end where a model is good enough: who must be asked, and their names."""

import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.laws import Exponential
from tests.ordering.scene import Scripted


def test_somebody_must_be_asked() -> None:
    asks = Network(answers_allowed=(2, 2), updates=2, stops=True)
    with pytest.raises(ValueError, match="depends on the model: such a network needs a learning"):
        simulate(asks, Streams(1).within("replicate", 1))
    simulate(asks, Streams(1).within("replicate", 1), learning=Scripted())


def test_a_network_that_asks_nobody_keeps_its_name() -> None:
    plain = Network(answers_allowed=(20, 20), updates=20, compute=Exponential(mean=0.2))
    stops = plain.model_copy(update={"stops": True})
    assert plain.digest(1, 2) != stops.digest(1, 2)
    assert Network(answers_allowed=(2, 2), updates=2).digest(1, 10) == "7930cc71cafcf897"
