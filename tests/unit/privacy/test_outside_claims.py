"""Labels of scenarios with code from outside: what could break a claim makes it "not shown"."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.data.dataset import DataKind
from asyncdp_sim.data.gaussian import GaussianData
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.learning.algorithms import FedAsync, FedBuff
from asyncdp_sim.learning.algorithms.steps import Wrapped
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.privacy.budgets import Horizon
from asyncdp_sim.privacy.composition import AccountingKind, ByLosses, LossDistributions
from asyncdp_sim.privacy.mechanisms import LaplaceMechanism
from asyncdp_sim.privacy.observers import AggregateObserver, TranscriptObserver
from asyncdp_sim.privacy.sensitivity import Declared
from asyncdp_sim.runs.run import manifest, run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label, named_guarantee
from asyncdp_sim.sentences.result import figures
from asyncdp_sim.sentences.scenario import describe
from tests.derived import derived
from tests.reproducibility.runs import scenario

CLIP = {"kind": "clip", "bound": 1.0}
STEP = {"step": 0.01, "mixing": 1.0}


class Signs(Wrapped):
    """Owners answer with signs: one record moves a coordinate by 2, whatever the bound says."""

    def answered_with(self, gradients: Any) -> Any:
        return SimpleNamespace(gradient=lambda *at: np.sign(gradients.gradient(*at)))


def signs(self: FedAsync, setting: Any) -> Any:
    return Signs(FedAsync.steps(self, setting))


def halved(self: AccountingKind, *given: Any) -> Any:
    return AccountingKind.charges(self, *given) / 2


Plain = derived(FedAsync, "plain")
"""Is given noisy answers alone."""
Undeclared = derived(FedAsync, "undeclared", steps=signs)
Sign = derived(Undeclared, "sign", handles_gradients=True)
Short = derived(FedAsync, "short", xi=1e-3)
"""Says how far a record moves an answer."""
Once = derived(FedAsync, "once", answers_once=True)
Sums = derived(FedBuff, "sums")
Lying = derived(Declared, "lying", enforced=True)
"""Says that it bounds every record, and bounds none."""
Halved = derived(AccountingKind, "halved", charges=halved)
"""Charges half as much for an answer, and so has twice the noise."""
Drawn = derived(GaussianData, "drawn")
Read = derived(GaussianData, "read", synthetic=False)
"""Reads private rows, from wherever it has them, and has no file to name."""


def clipped(**parts: Any) -> Scenario:
    """Return a scenario that is private as claimed, with other parts."""
    base = scenario(privacy__sensitivity=CLIP, algorithm={"kind": "fedasync", **STEP})
    return base.replace(**parts)


RESTS: dict[str, dict[str, Any]] = {
    "algorithm.kind = sign": {"algorithm": Sign(**STEP)},
    "privacy.sensitivity.kind = lying": {"privacy": {"sensitivity": Lying(bound=1.0)}},
    "privacy.mechanism.kind = own": {"privacy": {"mechanism": derived(LaplaceMechanism, "own")()}},
    "privacy.budget.kind = own": {"privacy": {"budget": derived(Horizon, "own")()}},
    "privacy.accountant.kind = own": {
        "privacy": {"accountant": derived(LossDistributions, "own")(), "delta": 1e-6}
    },
    "privacy.observer.kind = own": {"privacy": {"observer": derived(TranscriptObserver, "own")()}},
    "model.kind = own": {"model": derived(Ridge, "own")(regularisation=0.1, theta_max=2.0)},
    "data.kind = drawn": {"data": Drawn(features=3)},
    "data.kind = read": {"data": Read(features=3)},
}


@pytest.mark.parametrize("part", RESTS)
def test_a_claim_that_rests_on_code_from_outside_is_not_shown(part):
    asked = clipped(**RESTS[part])
    found = run(asked)
    names = ("private", "epsilon_true", "attacker_power", "attacker_advantage")
    assert [found.summary[name] for name in names] == [None] * 4
    said = manifest(found)
    told = label([said])
    assert (told.private, told.epsilon_true) == (None, None)
    assert told.text.startswith("NOT SHOWN to be private as claimed")
    assert part in " ".join(found.warnings)
    assert named_guarantee([said]) == "NOT SHOWN to be private"
    rows = dict(figures(said))
    assert rows["private"].startswith("not shown (ε not shown")
    assert rows["an attacker"].startswith("no upper bound holds, because the claim rests on code")
    assert any(line.startswith("not shown to be private") and part in line
               for line in describe(asked))  # fmt: skip


def test_an_accountant_from_outside_decides_what_answers_may_cost():
    ours, theirs = (
        clipped(privacy={"accountant": kind(), "delta": 1e-6}).accountant
        for kind in (LossDistributions, Halved)
    )
    assert isinstance(ours, ByLosses)
    assert isinstance(theirs, ByLosses)
    assert theirs.charges == pytest.approx(ours.charges / 2)
    assert np.all(theirs.spent(theirs.answers) < ours.spent(ours.answers))


@pytest.mark.parametrize(
    "parts", [{"algorithm": Plain(**STEP)}, {"clock": derived(PoissonClock, "own")()}]
)
def test_what_is_given_no_records_leaves_a_claim_as_it_is(parts):
    found = run(clipped(**parts))
    assert (found.summary["private"], found.summary["epsilon_true"]) == (True, 5.0)
    same = clipped()
    if "algorithm" in parts:
        assert np.array_equal(run(same).learned.models, found.learned.models)


@pytest.mark.parametrize(
    ("algorithm", "what"),
    [
        (Undeclared(**STEP), "what owners answer with"),
        (Short(**STEP), "the sensitivity of answers"),
        (Once(**STEP), "that answers are drawn once"),
        (Plain(**STEP, local_steps=2), "how many gradients an answer is made of"),
    ],
)
def test_an_algorithm_that_does_not_declare_it_decides_nothing_before_noise(algorithm, what):
    with pytest.raises(SpecError, match=f"it decides {what}.*handles_gradients = True") as refused:
        run(clipped(algorithm=algorithm))
    assert len(refused.value.faults) == 1


def test_what_an_observer_does_not_see_is_not_for_an_algorithm_from_outside_to_say():
    privacy = {
        "mechanism": "gaussian", "delta": 1e-6, "budget": {"kind": "per-owner-cap", "answers": 5},
        "observer": AggregateObserver(),
    }  # fmt: skip
    steps = {"buffer": 3, "step": 0.01, "server_step": 1.0, "weighting": "constant"}
    ours, theirs = (
        clipped(privacy=privacy, protocol={"kind": "push"}, algorithm=kind(**steps))
        for kind in (FedBuff, Sums)
    )
    assert ours.outside_parts == ()
    assert theirs.outside_parts == ("algorithm.kind = sums",)


def test_data_that_are_not_synthetic_are_private_whether_they_name_a_file_or_not():
    asked = clipped(data=Read(features=3))
    assert run(asked).summary["not_for_release"] is True
    with pytest.raises(DataError, match="read data without public rows needs --private"):
        forecast(asked)
    assert not forecast(asked, private=True).release
    drawn = clipped(data=Drawn(features=3))
    assert run(drawn).summary["not_for_release"] is False
    assert forecast(drawn).release


@pytest.mark.parametrize("lacking", ["synthetic", "held_out", "features", "build"])
def test_data_of_ones_own_that_leave_something_open_fail_when_they_are_defined(lacking):
    whole = {
        "synthetic": property(lambda _: True),
        "origin": property(lambda _: "drawn"),
        "held_out": 0.0,
        "features": 2,
        "build": lambda *_: None,
        "kind": "some",
    }
    annotations = {"kind": Literal["some"], "held_out": float, "features": int}

    def define(names: Mapping[str, Any]) -> type:
        told = {name: each for name, each in annotations.items() if name in names}
        return type("Some", (DataKind,), {**names, "__annotations__": told, "__module__": __name__})

    define(whole)
    with pytest.raises(TypeError, match=f"Some leaves open: {lacking}"):
        define({name: each for name, each in whole.items() if name != lacking})
