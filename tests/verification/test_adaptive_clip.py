"""Adaptive clipping: how the bound moves, and the exact law of what sums and counts tell."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import AdaptiveBound, AnswerModel, Answers
from asyncdp_sim.privacy.mechanisms import GaussianNoise
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.whole_owners import OF_GRADIENTS, RECORDS, WHOLE_OWNERS

from .zscores import LIMIT, require, score

pytestmark = pytest.mark.oracle("path of an adaptive clip bound, and ε of sums and counts")

RUNS = 4000


class Constant:
    """Owners that answer the same to every query, along one coordinate."""

    def __init__(self, norms):
        self._norms = np.array(norms)

    def gradient(self, owners, points):  # noqa: ARG002
        return np.stack([self._norms[owners], np.zeros(len(owners))], axis=1)


def walk(law, norms, rounds, runs=1):
    """Return bounds (rounds + 1, runs), and all answers (rounds, owners, runs), of silent sums."""
    reply = AnswerModel(Constant(norms), GaussianNoise(np.zeros(len(norms))), bound=law)
    scopes = [Streams(4).within("walk", run) for run in range(runs)]
    answers = Answers(OF_GRADIENTS, reply, scopes)
    points, taken = np.zeros((runs, 2)), []
    for _ in range(rounds):
        turns = [AnswerBatch(np.full(runs, owner)) for owner in range(len(norms))]
        taken.append([answers.give(turn, points)[:, 0] for turn in turns])
        answers.end_round(None)
    return answers.bounds.path, np.array(taken)


NORMS = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0]


@pytest.mark.parametrize("quantile", [0.5, 0.8])
@pytest.mark.parametrize("start", [1e-3, 1e4])
def test_without_noise_the_bound_goes_to_the_quantile_at_a_geometric_rate(start, quantile):
    law, rounds = AdaptiveBound(start, quantile, 0.2, 0.0, "l2"), 200
    path, answers = walk(law, NORMS, rounds)
    due = [start]
    for number in range(rounds):
        assert answers[number, :, 0] == pytest.approx(np.minimum(NORMS, due[-1]), rel=1e-10)
        within = np.mean([norm <= due[-1] for norm in NORMS])
        due.append(due[-1] * np.exp(-0.2 * (within - quantile)))
    assert path[:, 0] == pytest.approx(due, rel=1e-10)
    outside = path[:-1, 0] < 1 if start < 1 else path[:-1, 0] > 21
    steps = np.diff(np.log(path[:, 0]))[outside]
    assert steps == pytest.approx(0.2 * quantile if start < 1 else -0.2 * (1 - quantile))
    sought = np.quantile(NORMS, quantile, method="inverted_cdf")
    assert path[-1, 0] == pytest.approx(sought, rel=0.2)


@one_in(2, ("start", "votes"), [(1e-6, -0.5), (1e9, 0.5)])
def test_far_from_all_norms_the_bound_is_a_gaussian_walk(start, votes):
    rate, quantile, noise, rounds = 0.2, 0.3, 3.0, 25
    path, _ = walk(AdaptiveBound(start, quantile, rate, noise, "l2"), NORMS, rounds, RUNS)
    logs = np.log(path[-1] / start)
    mean = -rounds * rate * (votes + 0.5 - quantile)
    spread = rounds * (rate * noise / len(NORMS)) ** 2
    scores = [score("ln Ξ", logs, mean), score("its variance", (logs - mean) ** 2, spread)]
    require(scores, error=0.1)
    wrong = score("variance at 1.2 times the noise", (logs - mean) ** 2, 1.2**2 * spread)
    assert abs(wrong.z) > 1.5 * LIMIT


def test_what_is_nothing_or_not_finite_has_no_vote():
    law = AdaptiveBound(1.0, 0.5, 0.2, 0.0, "l2")
    answers = np.array([[0.0, 0.0], [np.nan, 1.0], [0.6, 0.8], [0.6, 0.81], [1e-9, 0.0]])
    clipped, votes = law.clip(answers, np.ones(5))
    assert votes.tolist() == [0.0, 0.0, 0.5, -0.5, 0.5]
    assert np.linalg.norm(clipped, axis=1).max() <= 1 + 1e-12


K, OWNER, SHARE, RATE, QUANTILE = 8, 2, 0.4, 0.05, 0.5
LONG, SHORT = np.array([1e3, 0.0]), np.array([1e-6, 0.0])
PULLS: dict[str, tuple[str, tuple[Any, float], tuple[Any, float]]] = {
    "two ways": ("replaced", (LONG, 1e3), (LONG, -1e3)),
    "long or short": ("replaced", (LONG, 1e3), (SHORT, 1.0)),
    "there or not": ("added-or-removed", (LONG, 1e3), (np.zeros(2), np.nan)),
}
"""Records of an owner, and what replaces them: what each of them moves in sums, and in counts."""
MOVES = {"two ways": (1.0, 0.0), "long or short": (0.5, 1.0), "there or not": (1.0, 1.0)}
"""Of the sensitivity of the sum, and of the count; to one part in a million."""


def scenario(adjacency):
    bound = {
        "kind": "adaptive-clip", "start": 0.5, "share": SHARE, "rate": RATE, "quantile": QUANTILE,
    }  # fmt: skip
    privacy = {"observer": "model", "adjacency": adjacency, "sensitivity": bound}
    return parse(Scenario, WHOLE_OWNERS | {"privacy": WHOLE_OWNERS["privacy"] | privacy})


def replies(pull):
    adjacency, *records = PULLS[pull]
    of = scenario(adjacency)
    data, places = build_dataset(of), [(OWNER, place) for place in range(RECORDS[OWNER])]
    problems = [prepare(of, replaced(data, dict.fromkeys(places, each))) for each in records]
    return of, [each.task.reply for each in problems]


def heard(reply, side):
    """Return sums of n_i Q_i (runs, K), of their first number, and bounds (K + 1, runs)."""
    scopes = [Streams(4).within("adaptive", side, run) for run in range(RUNS)]
    answers, sums = Answers(OF_GRADIENTS, reply, scopes), []
    for k in range(K):
        points = np.tile([0.1 * k, -0.05 * k], (RUNS, 1))
        given = [answers.give(AnswerBatch(np.full(RUNS, owner)), points) for owner in range(3)]
        sums.append(sum(n * each[:, 0] for n, each in zip(RECORDS, given, strict=True)))
        answers.end_round(None)
    return np.stack(sums, axis=1), answers.bounds.path


def exact(reply, bounds):
    """Return the sums (runs, K) and counts (runs, K) of such bounds, without noise, found anew."""
    sums, counts = np.zeros((2, bounds.shape[1], K))
    for k in range(K):
        for owner, n in enumerate(RECORDS):
            [answer] = reply.gradients.gradient(np.array([owner]), np.array([[0.1 * k, -0.05 * k]]))
            length = np.hypot(*answer)
            if length > 0:
                sums[:, k] += n * answer[0] * np.minimum(1, bounds[k] / length)
                counts[:, k] += np.where(length <= bounds[k], 0.5, -0.5)
    return sums, counts


def losses(pull, changed=lambda reply: reply):
    """Compare the loss of all sums and counts, under each population, with its exact law."""
    of, sides = replies(pull)
    z, halved = of.accountant.multiplier, of.privacy.adjacency == "added-or-removed"
    moved = 1.0 if halved else 2.0
    count_noise = z[0] * (moved / 2) / SHARE**0.5
    mu = K * (MOVES[pull][0] ** 2 * (1 - SHARE) + MOVES[pull][1] ** 2 * SHARE) / z[0] ** 2
    scores = []
    for side, sign in enumerate((-1, 1)):
        sums, bounds = heard(changed(sides[side]), side)
        (first, votes), (second, other) = (exact(reply, bounds) for reply in sides)
        noise = moved * bounds[:-1].T * max(RECORDS) * z[0] / (1 - SHARE) ** 0.5
        counts = 3 * (QUANTILE - np.diff(np.log(bounds), axis=0).T / RATE - 0.5)
        loss = ((sums - (first + second) / 2) * (second - first) / noise**2).sum(axis=1)
        loss += ((counts - (votes + other) / 2) * (other - votes) / count_noise**2).sum(axis=1)
        scores += [
            score(f"loss, side {sign}", loss * sign, mu / 2),
            score(f"its variance, side {sign}", (loss - sign * mu / 2) ** 2, mu),
        ]
    return scores


@one_in(3, "pull", PULLS)
def test_losses_of_sums_and_counts_have_their_exact_law(pull):
    require(losses(pull), error=0.1)


def _bare_counts(reply):
    return replace(reply, bound=replace(reply.bound, noise=0.0))


def _whole_budget(reply):
    assert isinstance(reply.noise, GaussianNoise)
    return replace(reply, noise=replace(reply.noise, scale=reply.noise.scale * (1 - SHARE) ** 0.5))


@pytest.mark.long
@pytest.mark.parametrize(
    ("pull", "planted"),
    [
        ("there or not", _bare_counts),
        ("long or short", _bare_counts),
        ("there or not", _whole_budget),
        ("two ways", _whole_budget),
    ],
)
def test_planted_faults_are_far_from_the_law(pull, planted):
    assert max(abs(each.z) for each in losses(pull, planted)) > 1.5 * LIMIT
