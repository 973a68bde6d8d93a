"""Oracle 22: answers that are lost on the way and sent again, each on its own or in bursts.

Nothing takes time, so that an answer is over when it begins, and how many begin in a run does not
depend on what becomes of them. Of bursts the first 100 answers of every owner are left out.
"""

import numpy as np
import pytest

from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.channels.kind import GilbertElliott
from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.theory.formulas import channels as theory
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table

from .networks import lasting, runs
from .zscores import fresh_seeds, require, score, shared

pytestmark = [pytest.mark.long, pytest.mark.oracle("answers delivered, and attempts per answer")]

RUNS, SKIPPED = 40, 100
BURSTS = {"to_bad": 0.1, "to_good": 0.25, "loss_good": 0.05, "loss_bad": 0.8}
CASES = table(__file__, "loss.toml")
"""Loss, attempts, protocol (or "fresh": request, each attempt computed anew), length, seed."""
CI = [name for name in CASES if not name.endswith("once")]
"""What every run measures; the others' turn comes at night."""
N_OWNERS = 2


def measure(name, *, seed=None, count=RUNS):
    """Return scores of the share delivered and of the mean number of attempts."""
    loss, attempts, protocol, length, usual = CASES[name]
    fresh, bursts = protocol == "fresh", isinstance(loss, dict)
    resend = {"retransmissions": attempts - 1, "resend": "fresh" if fresh else "same"}
    channel = Ideal(loss=GilbertElliott(**loss) if bursts else loss, **resend)
    protocol = Push() if protocol == "push" else Request()
    net = lasting(N_OWNERS, length, channel=channel, protocol=protocol)
    found = []
    for trace in runs(net, usual if seed is None else seed, count):
        rows = trace.exchanges
        asked, last = rows["read_tick"], np.flatnonzero(np.diff(rows["read_tick"], append=-1))
        tries = np.diff(np.cumsum(rows["transmissions"])[last], prepend=0)
        assert fresh or len(last) == len(rows)
        assert np.isin(rows["outcome"], (ExchangeOutcome.applied, ExchangeOutcome.lost)).all()
        assert np.all(np.diff(asked) >= 0)
        arrived = rows["outcome"][last] == ExchangeOutcome.applied
        counted = []
        for i in range(1, N_OWNERS + 1):
            mine = np.flatnonzero(rows["owner"][last] == i)[SKIPPED if bursts else 0 :]
            counted.append([len(mine), arrived[mine].sum(), tries[mine].sum()])
        found.append(counted)
    begun, delivered, sent = np.moveaxis(found, 2, 0)
    if bursts:
        share = np.full(N_OWNERS, 1 - theory.lost_in_bursts(attempts, **loss))
        tries = share / (1 - theory.lost_in_bursts(1, **loss))  # sent × share that arrives
    else:
        each = np.broadcast_to(loss, N_OWNERS)
        share = np.array([theory.delivered(x, attempts) for x in each])
        tries = np.array([theory.mean_attempts(x, attempts) for x in each])
    scale = begun.sum(axis=1).mean() / N_OWNERS
    missing = (delivered - share * begun).sum(axis=1)
    found = [score("delivered", missing, 0, scale * share.sum())]
    if attempts > 1:
        more = (sent - tries * begun).sum(axis=1)
        found.append(score("attempts", more, 0, scale * tries.sum()))
    return found


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
def test_shares_delivered_and_attempts(name):
    require(sound(name), error=0.003)


def test_answers_in_succession_are_not_as_the_first():
    """The chain runs on from answer to answer: the oracle tells the two formulas apart."""
    delivered, _ = sound("bursts, twice")
    out, back, *losses = BURSTS.values()
    bad = out / (out + back)
    steps = np.array([[1 - out, out], [back, 1 - back]]) * losses
    first = 1 - np.array([1 - bad, bad]) * losses @ steps @ np.ones(2)
    mean = 1 - theory.lost_in_bursts(2, **BURSTS)
    assert abs(first - mean) / mean > 5 * delivered.error


@pytest.mark.no_evidence
def test_what_is_sent_again_is_charged_once():
    """Owners that lose half of their answers release as many as their budget allows."""
    budget = 200
    parts = {"channel": Ideal(loss=0.5, retransmissions=2), "protocol": Push()}
    net = lasting(N_OWNERS, None, answers_allowed=(budget,) * N_OWNERS, **parts)
    assert {int(each) for trace in runs(net, 5, 20) for each in trace.released} == {budget}


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
