"""Each feature of a network once: the value by hand, or why nothing is predicted."""

from math import exp

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import GammaClock
from asyncdp_sim.theory.formulas.dcf import exact
from asyncdp_sim.theory.predict.all import predict, predicted
from asyncdp_sim.theory.prediction import Unknown
from tests.tables import table
from tests.together import together
from tests.unit.theory.spoken import BURSTS, CSMA, PUSH, network, said


def slotted(n_owners, rate, slot, airtime):
    """Return transmissions per slot and owner by the chain of one owner: sent or not."""
    p, r = 1 - exp(-rate * slot), 1 - exp(-rate * (slot - airtime))
    chain = np.array([[1 - p, p], [1 - r, r]])
    q = np.linalg.matrix_power(chain, 200)[0, 1]
    return n_owners * q / slot, (1 - q) ** (n_owners - 1)


PREDICTED = table(__file__, "predicted.toml")
SENT, SPARED = slotted(4, 1.0, 0.25, 0.1)
FORMULAS = {"exp": exp, "exact": exact, "SENT": SENT, "SPARED": SPARED, "BEGUN": 4 / 1.2,
            "FINITE": (exp(-0.2) / 1.2) ** 3}  # fmt: skip
"""Names in formulas of the table; BEGUN and FINITE are of pure ALOHA, four owners, ρ = 0.2."""


@together
@pytest.mark.parametrize("case", PREDICTED.values(), ids=PREDICTED)
def test_what_is_predicted(case):
    parts = dict(case.get("network", {}))
    n_owners = parts.pop("n_owners", 4)
    usual = {"answers_allowed": [10**9] * n_owners, "updates": 1000}
    found = said(parse(Network, usual | parts), case["of"])
    if "reason" in case:
        assert isinstance(found, str), found
        assert found.startswith(case["reason"])
    elif "value" in case:
        expected = eval(str(case["value"]), FORMULAS.copy())
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    else:
        assert found is None


def test_non_persistent_csma_of_some_owners():
    """ORACLES 11, integrated on a grid; time unit an airtime."""
    found = network(protocol=PUSH, channel=CSMA)
    rate, a = 0.5, 0.1
    y = (np.arange(200_000) + 0.5) / 200_000 * a
    inside = ((1 - np.exp(-rate * y) + exp(-rate * a)) ** 3).mean() * a
    exact = exp(-3 * rate * a) / (1 + 2 * a - inside + 1 / (4 * rate))
    assert said(found, "throughput") == pytest.approx(exact / 0.5, rel=1e-7)


def test_answers_that_survive_bursts():
    """Two attempts, lost in the bad state only: an answer fails if it meets bad twice."""
    found = network(channel=Ideal(loss=BURSTS, retransmissions=1), protocol=PUSH)
    lost, sent = said(found, "loss_rate"), said(found, "transmissions_per_answer")
    # state at first attempts: good → good 0.9, bad → again, then a step: bad 0.7·0.7 + 0.3·0.1
    to_bad, to_good = 0.1, 1 - (0.7 * 0.7 + 0.3 * 0.1)
    bad = to_bad / (to_bad + to_good)
    assert lost == pytest.approx(bad * 0.7)
    assert sent == pytest.approx(1 + bad)


def test_one_figure_or_why_not():
    assert predicted(network(), "throughput") == 4
    assert predicted(network(clock=GammaClock(cv=2.0)), "throughput").reason.startswith(
        "clocks are gamma"
    )
    assert predicted(network(protocol=PUSH), "utilisation") == Unknown("no formula is known")
    quantities = [each.quantity for each in predict(network(channel=Ideal(loss=0.1)))]
    assert len(set(quantities)) == len(quantities)
