"""Meetings that lose answers: how many hear one-sidedly, and what becomes of the nodes' mean.

A meeting of a and b happens with the edge's share of all wake-ups. With l_i the chance that what i
sends is lost, both hear with (1 − l_a)(1 − l_b), a alone with l_a (1 − l_b), and an update is made
unless nobody hears. So update k multiplies the vectors by independent random matrices W, and
E x_k = E[W] x_{k−1}, E x_k x_kᵀ = E[W (E x_{k−1} x_{k−1}ᵀ) Wᵀ], both finite sums.
"""

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms.gossip import AveragingSteps
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.graphs import Ring
from asyncdp_sim.network.protocols import Gossip
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace import ExchangeOutcome

from .networks import network, own_seed, replicates, runs
from .zscores import counts, require, score, seen, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "meetings in which both models arrive despite losses, and the mean model of all nodes"
    ),
]

N, UPDATES, RUNS, FEW = 4, 6, 3000, 500
START = np.array([3.0, -1.0, 2.0, 4.0])
LOSSES = {"alike": (0.4,) * N, "own": (0.1, 0.7, 0.3, 0.5)}
EACH = pytest.mark.parametrize("case", LOSSES)


class Started(AveragingSteps):
    """Averaging from given vectors, which no owner's own answer changes."""

    def init(self, replicates):
        state = super().init(replicates)
        state.vectors[:, :, 0] = START
        state.put_in[:] = True
        return state


class BothTake(Started):
    """A broken one: of two that meet both take the mean, whoever hears."""

    def update(self, state, rows=None):
        state.met += [(replicates, peers, places) for replicates, places, peers in state.met]
        super().update(state, rows)


class SpeakersTake(Started):
    """A broken one: whoever is heard takes the mean."""

    def update(self, state, rows=None):
        state.met = [(replicates, peers, places) for replicates, places, peers in state.met]
        super().update(state, rows)


def lossy(case, **parts):
    found = {"protocol": Gossip(graph=Ring()), "channel": Ideal(loss=LOSSES[case]), **parts}
    return network(N, found.pop("updates", UPDATES), answers_per_update=None, **found)


def exact(case):
    """Return E of the nodes' mean and of its square after every update, shape (T + 1, 2)."""
    loss, outcomes = LOSSES[case], []
    for a, b in Ring().edges(N):
        for hears in ((a, b), (a,), (b,)):
            chance, w = 1.0, np.eye(N)
            for listener, speaker in ((a, b), (b, a)):
                lost = loss[speaker - 1]
                chance *= 1 - lost if listener in hears else lost
                if listener in hears:
                    w[listener - 1] = 0.0
                    w[listener - 1, [a - 1, b - 1]] = 0.5
            outcomes.append((chance, w))
    total = sum(chance for chance, _ in outcomes)
    first, second, found = START, np.outer(START, START), []
    for _ in range(UPDATES + 1):
        found.append((first.mean(), second.mean()))
        first = sum(chance / total * w @ first for chance, w in outcomes)
        second = sum(chance / total * w @ second @ w.T for chance, w in outcomes)
    return np.array(found)


@shared
def means(case, steps=Started, count=RUNS):
    """Return the nodes' mean after every update of every run, shape (T + 1, R)."""
    numbers = {"n_nodes": N, "n_features": 1, "start": 0.0, "begin": 0.0, "step": np.zeros(N)}
    algorithm = steps(**numbers, theta_max=None, learner=False, judged=None)
    flat = Quadratic.from_records([np.ones((1, 1))] * N, [np.zeros(1)] * N, 0.1, None)
    silent = AnswerModel(flat, LaplaceNoise(np.zeros(N)))
    traces = list(runs(lossy(case), own_seed("lossy meetings", case), count))
    return replay(traces, algorithm, silent, replicates(7, count, 0), 1).central[:, :, 0]


def scores(case, steps=Started, count=RUNS):
    """Return scores of the mean and its square; their errors are relative to START's."""
    found, known = means(case, steps, count), exact(case)
    for k in (1, 3, UPDATES):
        yield score(f"mean {case} {k}", found[k], known[k, 0], scale=START.mean())
        yield score(f"square {case} {k}", found[k] ** 2, known[k, 1])


@EACH
def test_the_mean_and_its_square_are_those_of_the_linear_recursion(case):
    require(list(scores(case)), error=0.01)


def test_where_all_lose_alike_the_expected_mean_is_conserved():
    known = exact("alike")
    assert np.abs(known[:, 0] - START.mean()).max() < 1e-14
    assert np.abs(exact("own")[-1, 0] - START.mean()) > 0.1
    assert known[-1, 1] > 1.01 * START.mean() ** 2


@pytest.mark.parametrize("broken", [BothTake, SpeakersTake])
def test_whoever_takes_the_mean_unheard_would_be_seen(broken):
    assert max(abs(each.z) for each in scores("own", broken, FEW)) > 8


@EACH
def test_meetings_are_one_sided_binomially(case):
    """Of the meetings of owners 1 and 2, by whose answers arrived; the runs end by their time."""
    one, two = LOSSES[case][:2]
    tally = np.zeros((2, 2))
    for trace in runs(lossy(case, updates=10**6, until=30.0), own_seed("sides", case), 150):
        rows = trace.exchanges
        first = np.flatnonzero((rows["owner"] == 1) & (rows["peer"] == 2))
        lost = (rows["outcome"] == ExchangeOutcome.lost).astype(int)
        np.add.at(tally, (lost[first], lost[first + 1]), 1)
    chances = np.outer([1 - one, one], [1 - two, two])
    require([counts(f"sides {case}", tally.ravel(), chances.ravel())], error=0.1)
    swapped = counts("speaker for listener", tally.T.ravel(), chances.ravel())
    assert case == "alike" or seen([swapped]) > 8
