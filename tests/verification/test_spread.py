"""All scores together: too small a spread means inflated errors, too large a wrong simulator."""

import numpy as np
import pytest

from . import (
    test_aloha,
    test_availability,
    test_broadcast,
    test_chains,
    test_clocks,
    test_collab,
    test_collusion,
    test_conduct,
    test_contribution,
    test_csma,
    test_dcf,
    test_descent,
    test_dispatch,
    test_energy,
    test_fedasync,
    test_fedbuff,
    test_gossip_graph,
    test_ledger,
    test_lock,
    test_loss,
    test_mechanisms,
    test_moments,
    test_noisy_statistics,
    test_polar_consensus,
    test_queue,
    test_rounds,
    test_slotted,
    test_staleness,
    test_superposed,
    test_tdma,
)

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]


def test_scores_spread_like_normal_deviates():
    modules = (
        test_clocks,
        test_availability,
        test_lock,
        test_contribution,
        test_ledger,
        test_moments,
        test_staleness,
        test_aloha,
        test_slotted,
        test_tdma,
        test_csma,
        test_dcf,
        test_dispatch,
        test_energy,
        test_queue,
        test_broadcast,
        test_loss,
        test_mechanisms,
        test_chains,
        test_superposed,
        test_fedasync,
        test_fedbuff,
        test_collusion,
        test_conduct,
        test_polar_consensus,
        test_gossip_graph,
        test_rounds,
        test_collab,
        test_descent,
        test_noisy_statistics,
    )
    z = np.array([each.z for module in modules for each in module.scores()])
    assert len(z) > 100
    assert 0.85 <= np.sqrt(np.mean(z**2)) <= 1.20
