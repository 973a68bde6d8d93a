"""Privacy of a whole owner: the exact law of clipped answers with noise, of few owners.

And of adaptive clipping: how the bound moves, and the law of what sums and counts tell.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning import answers as answering
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.privacy.mechanisms import GaussianMechanism, GaussianNoise
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.tables import composed, table
from tests.whole_owners import EPSILON, OF_GRADIENTS, RECORDS, WHOLE_OWNERS, multiplier

from .zscores import LIMIT, Score, require, score

pytestmark = pytest.mark.oracle("law of an owner's clipped answers, and their ε")
OF_BOUNDS = pytest.mark.oracle("path of an adaptive clip bound, and ε of sums and counts")

K, XI, RUNS = 8, 0.5, 4000
OWNER = 2
"""The one with the most records, which moves sums most."""
BASE = WHOLE_OWNERS | {"run": {"seed": 4, "updates": K}}
LONG, SHORT, NONE = np.array([1e3, 0.0]), np.array([1e-6, 0.0]), np.zeros(2)
PULLS: dict[str, tuple[tuple[Any, float], tuple[Any, float]]] = {
    "replaced": ((LONG, 1e3), (LONG, -1e3)),
    "long or short": ((LONG, 1e3), (SHORT, 1.0)),
    "added-or-removed": ((LONG, 1e3), (NONE, np.nan)),
}
"""Records of an owner in one population, and in the other: pulled another way, or not at all."""
MOVES = {"replaced": (1.0, 0.0), "long or short": (0.5, 1.0), "added-or-removed": (1.0, 1.0)}
"""What they move of the sensitivity of a sum, and of a count; to one part in a million."""


def scenario(observer="transcript", adjacency="replaced", parts=None, **privacy: Any) -> Scenario:
    said = BASE["privacy"] | {"observer": observer, "adjacency": adjacency} | privacy
    return parse(Scenario, BASE | (parts or {}) | {"privacy": said})


def replies(of: Scenario, pull: str) -> list[answering.AnswerModel]:
    """Return how owners answer in two populations."""
    data, places = build_dataset(of), [(OWNER, place) for place in range(RECORDS[OWNER])]
    every = (replaced(data, dict.fromkeys(places, record)) for record in PULLS[pull])
    return [prepare(of, each).task.reply for each in every]


def query(k: int, count: int = 1) -> np.ndarray:
    return np.tile([0.1 * k, -0.05 * k], (count, 1))


def exactly(reply: answering.AnswerModel, owner: int, k: int) -> np.ndarray:
    return reply.gradients.gradient(np.array([owner]), query(k))[0]


def seen(
    of: Scenario, reply: answering.AnswerModel, *name: Any
) -> tuple[np.ndarray, answering.Answers]:
    """Return the first number of what is seen of the owner in K updates of many runs, (runs, K).

    Its answers; or sums of all owners' n_i Q_i.
    """
    scopes = [Streams(4).within(*name, run) for run in range(RUNS)]
    answers, found = answering.Answers(OF_GRADIENTS, reply, scopes), []
    for k in range(K):
        if of.privacy.listener.sees_sums:
            turns = [AnswerBatch(np.full(RUNS, owner)) for owner in range(3)]
            given = [answers.give(turn, query(k, RUNS))[:, 0] for turn in turns]
            found.append(sum(n * each for n, each in zip(RECORDS, given, strict=True)))
        else:
            found.append(answers.give(AnswerBatch(np.full(RUNS, OWNER)), query(k, RUNS))[:, 0])
        answers.end_round(None)
    return np.stack(found, axis=1), answers


def losses(of: Scenario) -> list[Score]:
    """Compare the loss of all that is seen, under each population, with its exact law."""
    sums, sides = of.privacy.listener.sees_sums, replies(of, of.privacy.adjacency)
    moved = XI * (1 if of.privacy.adjacency == "added-or-removed" else 2)
    weights = dict(enumerate(RECORDS)) if sums else {OWNER: 1}
    moved *= max(weights.values())
    every = list(product(weights.items(), sides))
    middle = [sum(n * exactly(side, i, k)[0] for (i, n), side in every) / 2 for k in range(K)]
    scale, mu = moved * multiplier(K), K**0.5 / multiplier(K)
    scores = []
    for side, (sign, reply) in enumerate(zip((-1, 1), sides, strict=True)):
        met, _ = seen(of, reply, "whole-owner", str(side))
        loss = (met - middle).sum(axis=1) * moved / scale**2
        scores += [
            score(f"loss, side {sign}", loss * sign, mu**2 / 2),
            score(f"its variance, side {sign}", (loss - loss.mean()) ** 2, mu**2),
        ]
    return scores


OBSERVERS = ("transcript", "aggregate", "model")
PAIRS = list(product(OBSERVERS, ("replaced", "added-or-removed")))
WAYS = pytest.mark.parametrize(("observer", "adjacency"), PAIRS)


@one_in(6, ("observer", "adjacency"), PAIRS)
def test_losses_of_neighbouring_populations_have_their_exact_law(observer, adjacency):
    require(losses(scenario(observer, adjacency)), error=0.1)


@WAYS
def test_what_is_charged_is_the_exact_curve_at_delta(observer, adjacency):
    accountant = scenario(observer, adjacency).accountant
    assert accountant.spent(np.full(3, K)) == pytest.approx(EPSILON, rel=1e-6)
    assert accountant.multiplier == pytest.approx(multiplier(K), rel=1e-6)


TWO = {"run": {"seed": 4, "updates": 2}, "owners": {"count": 3, "records": [4, 5, 8]}}
"""A smaller one, whose whole runs are attacked."""


def attacked(observer, adjacency="replaced", parts=None, **privacy):
    of = scenario(observer, adjacency, TWO | (parts or {}), **privacy)
    return audit(of, answers=40_000, runs=400, confidence=0.999)


@pytest.mark.long
@WAYS
def test_an_audit_of_neighbouring_populations_refutes_no_sound_setting(observer, adjacency):
    found = attacked(observer, adjacency)
    assert not found.exceeded
    assert max(check.epsilon for check in found.checks) > 0
    assert "each record of owner" in found.pair
    assert all("detects one owner at" in check.beside() for check in found.checks)


TABLE = table(__file__, "whole_owner.toml")
PARTS, OTHERS = TABLE["parts"], TABLE["others"]
ADAPTIVE = OTHERS["adaptive clipping"]["privacy"]["sensitivity"]


@pytest.mark.long
@pytest.mark.parametrize("setting", OTHERS)
def test_an_audit_refutes_no_other_sound_setting(setting):
    case = OTHERS[setting]
    parts = composed(PARTS, case.get("parts", []))
    privacy = composed(PARTS, [case.get("privacy", {})])
    assert not attacked(case["observer"], parts=parts, **privacy).exceeded


def half(*given, right=GaussianMechanism.noise):
    noise = right(*given)
    return replace(noise, scale=noise.scale / 2)


def again(self, rows, right=answering.DrawnRows.following):
    kept = vars(self).setdefault("_drawn", [])
    kept.append(right(self, rows).copy())
    return np.asarray(kept[(len(kept) - 1) % 3])


def unclipped(self, owners, points):
    return self.gradients.gradient(owners, points)


def voted_alone(self, answers, *given, right=answering.AdaptiveBound.clip):
    return answers, right(self, answers, *given)[1]


def exact_count(*given, right=Privacy.clip_law):
    law = right(*given)
    return None if law is None else replace(law, noise=0.0)


def exact_share(self, rows, noise, right=answering.ClipBounds.end_round):
    right(self, rows, np.zeros_like(noise))


FAULTS: dict[str, tuple[tuple[type, str, Any], ...]] = {
    "noise for a record": ((Privacy, "divisors", lambda _, n: np.asarray(n, dtype=float)),),
    "half the noise": ((GaussianMechanism, "noise", half),),
    "after the sum": (
        (answering.WholeAnswers, "gradient", unclipped),
        (answering.AdaptiveBound, "clip", voted_alone),
    ),
    "noise of another round": ((answering.DrawnRows, "following", again),),
    "no noise on counts": ((Privacy, "clip_law", exact_count),),
    "an exact share": ((answering.ClipBounds, "end_round", exact_share),),
}  # fmt: skip
"""After the sum: answers are clipped where they are summed, if at all. An exact share: where it is
believed that counts have noise."""
OF_COUNTS = ("no noise on counts", "an exact share")
PLANTED = [
    *product([*OBSERVERS, "adaptive"], [each for each in FAULTS if each not in OF_COUNTS]),
    *product(["adaptive"], OF_COUNTS),
]


@pytest.mark.long
@pytest.mark.parametrize(("observer", "planted"), PLANTED)
def test_an_audit_refutes_planted_faults(planted, observer, monkeypatch):
    for fault in FAULTS[planted]:
        monkeypatch.setattr(*fault)
    moving = {"sensitivity": ADAPTIVE} if observer == "adaptive" else {}
    observer = "model" if observer == "adaptive" else observer
    assert attacked(observer, epsilon=4.0, **moving).exceeded


# Adaptive clipping


class Constant:
    """Owners that answer the same to every query, along one coordinate."""

    def __init__(self, norms):
        self._norms = np.array(norms)

    def gradient(self, owners, points):  # noqa: ARG002
        return np.stack([self._norms[owners], np.zeros(len(owners))], axis=1)


NORMS = [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0]


def walk(law, rounds, runs=1):
    """Return bounds (rounds + 1, runs), and all answers (rounds, owners, runs), of silent sums."""
    reply = answering.AnswerModel(Constant(NORMS), GaussianNoise(np.zeros(len(NORMS))), bound=law)
    answers = answering.Answers(
        OF_GRADIENTS, reply, [Streams(4).within("walk", run) for run in range(runs)]
    )
    turns = [AnswerBatch(np.full(runs, owner)) for owner in range(len(NORMS))]
    taken = []
    for _ in range(rounds):
        taken.append([answers.give(turn, np.zeros((runs, 2)))[:, 0] for turn in turns])
        answers.end_round(None)
    return answers.bounds.path, np.array(taken)


@OF_BOUNDS
@pytest.mark.parametrize("quantile", [0.5, 0.8])
@pytest.mark.parametrize("start", [1e-3, 1e4])
def test_without_noise_the_bound_goes_to_the_quantile_at_a_geometric_rate(start, quantile):
    rounds = 200
    path, answers = walk(answering.AdaptiveBound(start, quantile, 0.2, 0.0, "l2"), rounds)
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


@OF_BOUNDS
@one_in(2, ("start", "votes"), [(1e-6, -0.5), (1e9, 0.5)])
def test_far_from_all_norms_the_bound_is_a_gaussian_walk(start, votes):
    rate, quantile, noise, rounds = 0.2, 0.3, 3.0, 25
    path, _ = walk(answering.AdaptiveBound(start, quantile, rate, noise, "l2"), rounds, RUNS)
    logs = np.log(path[-1] / start)
    mean = -rounds * rate * (votes + 0.5 - quantile)
    spread = rounds * (rate * noise / len(NORMS)) ** 2
    scores = [score("ln Ξ", logs, mean), score("its variance", (logs - mean) ** 2, spread)]
    require(scores, error=0.1)
    wrong = score("variance at 1.2 times the noise", (logs - mean) ** 2, 1.2**2 * spread)
    assert abs(wrong.z) > 1.5 * LIMIT


@OF_BOUNDS
def test_what_is_nothing_or_not_finite_has_no_vote():
    law = answering.AdaptiveBound(1.0, 0.5, 0.2, 0.0, "l2")
    answers = np.array([[0.0, 0.0], [np.nan, 1.0], [0.6, 0.8], [0.6, 0.81], [1e-9, 0.0]])
    clipped, votes = law.clip(answers, np.ones(5))
    assert votes.tolist() == [0.0, 0.0, 0.5, -0.5, 0.5]
    assert np.linalg.norm(clipped, axis=1).max() <= 1 + 1e-12


SHARE, RATE, QUANTILE = 0.4, 0.05, 0.5
MOVING = {
    "kind": "adaptive-clip", "start": 0.5, "share": SHARE, "rate": RATE, "quantile": QUANTILE,
}  # fmt: skip


def exact(reply, bounds):
    """Return the sums (runs, K) and counts (runs, K) of such bounds, without noise, found anew."""
    sums, counts = np.zeros((2, bounds.shape[1], K))
    for k, (owner, n) in product(range(K), enumerate(RECORDS)):
        answer = exactly(reply, owner, k)
        length = np.hypot(*answer)
        if length > 0:
            sums[:, k] += n * answer[0] * np.minimum(1, bounds[k] / length)
            counts[:, k] += np.where(length <= bounds[k], 0.5, -0.5)
    return sums, counts


def losses_of_sums_and_counts(pull, changed=lambda reply: reply):
    """Compare the loss of all sums and counts, under each population, with its exact law."""
    halved = pull == "added-or-removed"
    of = scenario("model", pull if halved else "replaced", sensitivity=MOVING)
    z, sides, moved = of.accountant.multiplier[0], replies(of, pull), 1.0 if halved else 2.0
    count_noise = z * (moved / 2) / SHARE**0.5
    mu = K * (MOVES[pull][0] ** 2 * (1 - SHARE) + MOVES[pull][1] ** 2 * SHARE) / z**2
    scores = []
    for side, sign in enumerate((-1, 1)):
        sums, answers = seen(of, changed(sides[side]), "adaptive", side)
        bounds = answers.bounds.path
        (first, votes), (second, other) = (exact(reply, bounds) for reply in sides)
        noise = moved * bounds[:-1].T * max(RECORDS) * z / (1 - SHARE) ** 0.5
        counts = 3 * (QUANTILE - np.diff(np.log(bounds), axis=0).T / RATE - 0.5)
        loss = ((sums - (first + second) / 2) * (second - first) / noise**2).sum(axis=1)
        loss += ((counts - (votes + other) / 2) * (other - votes) / count_noise**2).sum(axis=1)
        scores += [
            score(f"loss, side {sign}", loss * sign, mu / 2),
            score(f"its variance, side {sign}", (loss - sign * mu / 2) ** 2, mu),
        ]
    return scores


@OF_BOUNDS
@one_in(3, "pull", PULLS)
def test_losses_of_sums_and_counts_have_their_exact_law(pull):
    require(losses_of_sums_and_counts(pull), error=0.1)


def bare_counts(reply):
    return replace(reply, bound=replace(reply.bound, noise=0.0))


def whole_budget(reply):
    return replace(reply, noise=replace(reply.noise, scale=reply.noise.scale * (1 - SHARE) ** 0.5))


@OF_BOUNDS
@pytest.mark.long
@pytest.mark.parametrize(
    ("pull", "planted"),
    [
        ("added-or-removed", bare_counts),
        ("long or short", bare_counts),
        ("added-or-removed", whole_budget),
        ("replaced", whole_budget),
    ],
)
def test_planted_faults_are_far_from_the_law(pull, planted):
    assert max(abs(each.z) for each in losses_of_sums_and_counts(pull, planted)) > 1.5 * LIMIT
