"""Budgets of as many answers as the learner asks for: K_i follow p_i, T and the tasks."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.audits import audit, claims
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.privacy.accountants.own import gradients_of
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests.tables import table

BASE = table(__file__, "scenes.toml")["as-asked"]
CHANCES = BASE["protocol"]["probabilities"]
COMPOSED = {"accountant": "pld", "delta": 1e-5}


def scene(**parts: object) -> Scenario:
    return parse(Scenario, {**BASE, **parts})


def test_answers_are_the_fewest_with_which_silence_is_rare() -> None:
    """All 63 tasks that are handed out count: T and the three that a run leaves open."""
    for allowed, chance in zip(scene().network.answers_allowed, CHANCES, strict=True):
        early = [3 * binom.sf(k - 1, 62, chance) for k in (allowed - 1, allowed)]
        assert early[0] > 1e-3 >= early[1]


def test_noise_is_for_so_many_answers_and_the_budget_is_kept() -> None:
    found = scene()
    allowed = np.array(found.network.answers_allowed)
    scale = found.noise_for(np.full(3, 100)).scale
    assert scale == pytest.approx(scale[0] / allowed[0] * allowed)
    done = run(found)
    assert done.summary["private"] is True
    assert max(trace.released.max() for trace in done.traces) <= allowed.max()


def test_buffers_take_as_many_answers_as_they_hold() -> None:
    three = {"kind": "fedbuff", "step": 0.1, "server_step": 1.0, "buffer": 3}
    longer = scene(algorithm=three).network.answers_allowed
    same = scene(run={"seed": 1, "updates": 180}).network.answers_allowed
    assert longer == same


@pytest.mark.parametrize(
    "protocol",
    [
        {"kind": "push"},
        {"kind": "dispatch", "tasks": 3, "to": "same"},
        {"kind": "dispatch", "tasks": 3, "policy": {"kind": "shortest-queue"}},
    ],
)
def test_a_learner_that_does_not_choose_is_refused(protocol: dict[str, object]) -> None:
    with pytest.raises(SpecError, match=r"privacy\.budget\.kind: given 'as-asked'; allowed is any"):
        scene(protocol=protocol)


@pytest.mark.parametrize("local_steps", [1, 3])
@pytest.mark.parametrize("buffer", [1, 2])
@pytest.mark.parametrize("tasks", [1, 4])
@pytest.mark.parametrize(
    ("privacy", "updates"),
    [
        *product(({}, {"mechanism": "gaussian", "delta": 1e-5}), (1, 2, 60, 2000)),
        *product((COMPOSED,), (1, 2)),
        *(pytest.param(COMPOSED, updates, marks=pytest.mark.long) for updates in (60, 2000)),
    ],
)
def test_the_audit_claims_as_many_answers_on_its_own(
    privacy: dict[str, object], updates: int, tasks: int, buffer: int, local_steps: int
) -> None:
    raw = scene().model_dump()
    algorithm = raw["algorithm"] | {"buffer": buffer, "local_steps": local_steps}
    found = scene(
        run={"seed": 1, "updates": updates},
        protocol=raw["protocol"] | {"tasks": tasks},
        algorithm=algorithm,
        privacy=raw["privacy"] | privacy,
    )
    accountant, _ = gradients_of(found.accountant)
    owed = claims.owed(found)
    assert [each.answers for each in owed] == accountant.answers.tolist()
    charged = accountant.spent(accountant.answers).tolist()
    for claim, spent in zip(owed, charged, strict=True):
        due = claim.cost(claim.answers)
        assert due * (1 - max(claim.slack, 3e-6)) <= spent <= due * 1.01


@pytest.mark.long
def test_the_audit_does_not_take_updates_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scene(run={"seed": 1, "updates": 1, "until": 30.0})
    assert not audit(found, answers=1000, runs=20, confidence=0.999).exceeded
    monkeypatch.setattr(claims, "_as_asked", lambda scenario, _: scenario.run.updates)
    assert audit(found, answers=1000, runs=20, confidence=0.999).exceeded
