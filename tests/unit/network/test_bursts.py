"""Losses in bursts: what the first message of an owner meets."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.network.channels.packet_loss import GilbertElliott


@pytest.mark.parametrize("bad", [0.1, 0.8])
def test_a_chain_of_losses_starts_from_its_stationary_law(bad: float) -> None:
    """The share of owners that lose their first message is that of all messages, loss.mean."""
    loss, owners = GilbertElliott(to_bad=bad / 10, to_good=(1 - bad) / 10), 3000
    lost = sum(next(loss.draws(partial(np.random.default_rng, seed), 0)) for seed in range(owners))
    error = (bad * (1 - bad) / owners) ** 0.5
    assert loss.mean == pytest.approx(bad)
    assert abs(lost / owners - bad) < 4 * error
