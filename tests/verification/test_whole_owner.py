"""Privacy of a whole owner: the exact law of clipped answers with noise, of few owners."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.audits.neighbours import replaced
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning import answers as answers_module
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import (
    AdaptiveBound,
    AnswerModel,
    Answers,
    ClipBounds,
    WholeAnswers,
)
from asyncdp_sim.privacy.mechanisms import GaussianMechanism, GaussianNoise, RecordSensitivity
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.tables import composed, table
from tests.whole_owners import EPSILON, OF_GRADIENTS, WHOLE_OWNERS, multiplier

from .zscores import Score, require, score

pytestmark = pytest.mark.oracle("law of an owner's clipped answers, and their ε")

K, XI, RUNS = 8, 0.5, 4000
RECORDS = np.array([10, 20, 40])
OWNER = 2
"""The one with the most records, which moves sums most."""
BASE = WHOLE_OWNERS | {"run": {"seed": 4, "updates": K}}


def scenario(observer: str = "transcript", adjacency: str = "replaced", **privacy: Any) -> Scenario:
    said = BASE["privacy"] | {"observer": observer, "adjacency": adjacency} | privacy
    return parse(Scenario, BASE | {"privacy": said})


def populations(of: Scenario) -> tuple[Problem, Problem]:
    """Return two whose one owner is pulled one way, and the other way or not at all."""
    data = build_dataset(of)
    long, places = np.array([1e3, 0.0]), [(OWNER, place) for place in range(RECORDS[OWNER])]
    other = (long, -1e3)
    if of.privacy.adjacency == "added-or-removed":
        other = (np.zeros(2), np.nan)
    first, second = (
        prepare(of, replaced(data, dict.fromkeys(places, record)))
        for record in ((long, 1e3), other)
    )
    return first, second


def seen(of: Scenario, reply: AnswerModel, side: str) -> np.ndarray:
    """Return what is seen of the owner in K updates of many runs, (runs, K, 2).

    Its answers; or sums of all owners' n_i Q_i.
    """
    scopes = [Streams(4).within("whole-owner", side, run) for run in range(RUNS)]
    answers, updates = Answers(OF_GRADIENTS, reply, scopes), []
    for k in range(K):
        points = np.tile([0.1 * k, -0.05 * k], (RUNS, 1))
        if of.privacy.listener.sees_sums:
            turns = [AnswerBatch(np.full(RUNS, owner)) for owner in range(3)]
            given = [answers.give(turn, points) for turn in turns]
            updates.append(sum(n * each for n, each in zip(RECORDS, given, strict=True)))
        else:
            updates.append(answers.give(AnswerBatch(np.full(RUNS, OWNER)), points))
    return np.stack(updates, axis=1)


def losses(of: Scenario, replies: list[AnswerModel]) -> list[Score]:
    """Compare the loss of all that is seen, under each population, with its exact law."""
    moved = XI * (1 if of.privacy.adjacency == "added-or-removed" else 2)
    if of.privacy.listener.sees_sums:
        moved *= max(RECORDS)
    scale, mu = moved * multiplier(K), K**0.5 / multiplier(K)
    sides = [seen(of, reply, str(side)) for side, reply in enumerate(replies)]
    exact = middle(of, replies)
    scores = []
    for sign, side in zip((-1, 1), sides, strict=True):
        loss = (side[:, :, 0] - exact).sum(axis=1) * moved / scale**2
        scores += [
            score(f"loss, side {sign}", loss * sign, mu**2 / 2),
            score(f"its variance, side {sign}", (loss - loss.mean()) ** 2, mu**2),
        ]
    return scores


def middle(of: Scenario, replies: list[AnswerModel]) -> np.ndarray:
    """Return the middle of what both populations have seen of them without noise, (K,)."""
    owners = range(3) if of.privacy.listener.sees_sums else [OWNER]
    weights = RECORDS if of.privacy.listener.sees_sums else np.ones(3)
    return np.array([
        sum(
            weights[owner] * reply.gradients.gradient(
                np.array([owner]), np.array([[0.1 * k, -0.05 * k]])
            )[0, 0] / 2
            for owner in owners for reply in replies
        )
        for k in range(K)
    ])  # fmt: skip


OBSERVERS = ("transcript", "aggregate", "model")
PAIRS = [
    (o, a) for o in ("transcript", "aggregate", "model") for a in ("replaced", "added-or-removed")
]
WAYS = pytest.mark.parametrize(("observer", "adjacency"), PAIRS)


@one_in(6, ("observer", "adjacency"), PAIRS)
def test_losses_of_neighbouring_populations_have_their_exact_law(observer, adjacency):
    of = scenario(observer, adjacency)
    require(losses(of, [each.task.reply for each in populations(of)]), error=0.1)


@WAYS
def test_what_is_charged_is_the_exact_curve_at_delta(observer, adjacency):
    accountant = scenario(observer, adjacency).accountant
    assert accountant.spent(np.full(3, K)) == pytest.approx(EPSILON, rel=1e-6)
    assert accountant.multiplier == pytest.approx(multiplier(K), rel=1e-6)


TWO = {"run": {"seed": 4, "updates": 2}, "owners": {"count": 3, "records": [4, 5, 8]}}
"""A smaller one, whose whole runs are attacked."""


def attacked(observer, adjacency="replaced", parts=None, **privacy):
    said = BASE["privacy"] | {"observer": observer, "adjacency": adjacency} | privacy
    of = parse(Scenario, BASE | TWO | (parts or {}) | {"privacy": said})
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


def _half(self: GaussianMechanism, influence: RecordSensitivity, *given: Any) -> GaussianNoise:
    noise = _NOISE(self, influence, *given)
    return replace(noise, scale=noise.scale / 2)


_NOISE = GaussianMechanism.noise


def _again(self: Any, rows: Any) -> np.ndarray:
    kept = vars(self).setdefault("_drawn", [])
    kept.append(_FOLLOWING(self, rows).copy())
    return np.asarray(kept[(len(kept) - 1) % 3])


_FOLLOWING = answers_module.DrawnRows.following


def _exact_count(self: Privacy, n_owners: int, updates: int) -> AdaptiveBound | None:
    law = _LAW(self, n_owners, updates)
    return None if law is None else replace(law, noise=0.0)


_LAW = Privacy.clip_law


def _exact_share(self: ClipBounds, rows: Any, noise: np.ndarray) -> None:
    _END(self, rows, np.zeros_like(noise))


_END = ClipBounds.end_round


@pytest.mark.long
@pytest.mark.parametrize("observer", [*OBSERVERS, "adaptive"])
@pytest.mark.parametrize(
    "planted", ["noise for a record", "half the noise", "after the sum", "noise of another round"]
)
def test_an_audit_refutes_planted_faults(planted, observer, monkeypatch):
    if planted == "noise of another round":
        monkeypatch.setattr(answers_module.DrawnRows, "following", _again)
    elif planted == "noise for a record":
        monkeypatch.setattr(Privacy, "divisors", lambda _, n: np.asarray(n, dtype=float))
    elif planted == "half the noise":
        monkeypatch.setattr(GaussianMechanism, "noise", _half)
    else:  # answers are clipped where they are summed, if at all, and not each as a whole
        exact = lambda self, owners, points: self.gradients.gradient(owners, points)  # noqa: E731
        monkeypatch.setattr(WholeAnswers, "gradient", exact)
        votes = AdaptiveBound.clip
        monkeypatch.setattr(AdaptiveBound, "clip", lambda *given: (given[1], votes(*given)[1]))
    moving = {"sensitivity": ADAPTIVE} if observer == "adaptive" else {}
    observer = "model" if observer == "adaptive" else observer
    assert attacked(observer, epsilon=4.0, **moving).exceeded


@pytest.mark.long
@pytest.mark.parametrize("planted", ["no noise on counts", "an exact share"])
def test_an_audit_refutes_a_bound_of_private_data(planted, monkeypatch):
    if planted == "no noise on counts":
        monkeypatch.setattr(Privacy, "clip_law", _exact_count)
    else:  # where it is believed that counts have noise
        monkeypatch.setattr(ClipBounds, "end_round", _exact_share)
    assert attacked("model", epsilon=4.0, sensitivity=ADAPTIVE).exceeded
