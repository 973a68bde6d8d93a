"""Guarantee of a run, for each combination of choices."""

from collections.abc import Iterable, Sequence
from itertools import product
from math import inf, sqrt
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.privacy import Clip, Declared, Domain, Guarantee, ObservedMax, Privacy, guarantee
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.privacy.guarantee import foreseen
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.tables import table
from tests.together import together

P, XI, T = 4, 5.0, 10
EPSILON = [0.5, 2.0]
RECORDS = np.array([50, 80, 20])
WORDS = table(__file__, "words_of_reasons.toml")


def judged(
    largest: Sequence[float] | None = (4.0, 5.0), public: Sequence[int] = (0, 0), unseen: int = 0,
    kind: str = "declared", norm: str | None = None, obfuscated: bool = False,
    timing: str | None = None, diverged: int = 0, **fields: Any,
) -> Guarantee:  # fmt: skip
    sensitivity = {
        "declared": Declared(bound=XI, norm=norm),
        "clip": Clip(bound=XI, norm=norm),
        "domain": Domain(row_norm=1.0, target_max=1.0, norm=norm),
    }[kind]
    privacy = Privacy(**{"epsilon": EPSILON, "sensitivity": sensitivity} | fields)
    n_owners = len(fields.get("epsilon", EPSILON))
    accountant, records = privacy.accountant_for(n_owners, T), RECORDS[:n_owners]
    look = None
    if kind == "declared" and privacy.mechanism.kind != "none" and largest is not None:
        look = ObservedMax(np.array(largest), 70 - unseen, unseen)
    return guarantee(
        privacy, accountant, XI, P, look, public, records,
        noise=privacy.noise_for(records, T, XI, P), obfuscated=obfuscated, timing=timing,
        diverged=diverged,
    )  # fmt: skip


def named(found: Guarantee) -> set[str]:
    return {key for key, words in WORDS.items() if any(words in r for r in found.reasons)}


CHOICES = product(
    ["declared", "clip", "domain"],
    [None, "l2-as-published"],
    ["laplace", "discrete-laplace", "none"],
    ["vector", "scalar-as-published"],
    *[[False, True]] * 3,
)


@together
@pytest.mark.parametrize(
    ("kind", "norm", "mechanism", "noise", "infinite", "exceeded", "overlap"), CHOICES
)
def test_every_combination(kind, norm, mechanism, noise, infinite, exceeded, overlap):
    found = judged(
        (15.0, 5.0) if exceeded else (4.0, 5.0),
        (0, 7) if overlap else (0, 0),
        kind=kind,
        norm=norm,
        mechanism=mechanism,
        noise=noise,
        epsilon=[0.5, inf] if infinite else EPSILON,
    )
    noisy = mechanism != "none"
    expected = {
        "none": not noisy,
        "infinite": noisy and infinite,
        "scalar": noisy and noise == "scalar-as-published",
        "l2": noisy and norm == "l2-as-published",
        "exceeded": noisy and exceeded and kind == "declared",
        "overlap": overlap,
    }
    assert named(found) == {key for key, holds in expected.items() if holds}
    assert found.private is not any(expected.values())
    assert found.bound_exceeded == (exceeded if noisy and kind == "declared" else None)
    assert found.delta == (0 if noisy else None)
    endless = {"none", "infinite", "scalar", "overlap"}
    if any(expected[key] for key in endless):
        assert found.epsilon_true == inf
    else:
        worse = 3.0 if expected["exceeded"] else 1.0  # 15/5, at the owner of ε = 0.5
        true = max(0.5 * worse, 2.0) * (sqrt(P) if expected["l2"] else 1.0)
        assert found.epsilon_true == pytest.approx(true)
    assert len(found.reasons) == len(set(found.reasons))


def agree(found: Iterable[str], told: Sequence[str]) -> None:
    for text, expected in zip(found, told, strict=True):
        assert text.startswith(expected.removesuffix("…"))
        assert expected.endswith("…") or text == expected


@together
@pytest.mark.parametrize("case", table(__file__, "judged.toml")["cases"], ids=str)
def test_what_is_judged(case):
    case = {name: None if value == "null" else value for name, value in case.items()}
    found, declared = judged(**case["given"]), "kind" not in case["given"]
    assert (found.private, found.delta) == (case["private"], case.get("delta", 0.0))
    assert found.epsilon_true == pytest.approx(case["epsilon"], rel=1e-5)
    assert found.epsilon_true <= case["epsilon"] * (1 + 1e-12)
    assert (found.bound_exceeded, found.at_least) == (case.get("exceeded"), declared)
    assert found.unseen == (case.get("unseen", 0) if declared else None)
    agree(found.reasons, case.get("reasons", ()))
    agree((each.describe() for each in found.remarks), case.get("remarks", ()))


def test_a_declared_bound_is_never_judged_without_a_look():
    with pytest.raises(ValueError, match="needs the gradients"):
        judged(largest=None)


@together
@pytest.mark.parametrize("kind", ["declared", "clip", "domain"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "discrete-laplace", "none"])
def test_timing_that_nobody_pays_for_has_no_finite_epsilon(kind, mechanism):
    delta = 1e-6 if mechanism == "gaussian" else None
    found = judged(kind=kind, mechanism=mechanism, delta=delta, timing="who speaks")
    assert (found.private, found.epsilon_true) == (False, inf)
    assert "timing not accounted: who speaks" in found.reasons


def test_the_judged_epsilon_is_not_written_back():
    """The ledger's ε must not change because the guarantee is worse."""
    privacy = Privacy(epsilon=EPSILON, sensitivity=Declared(bound=XI))
    accountant = privacy.accountant_for(2, T)
    look = ObservedMax(np.array([50.0, 50.0]), 1)
    noise = privacy.noise_for(RECORDS[:2], T, XI, P)
    guarantee(privacy, accountant, XI, P, look, (1, 1), RECORDS[:2], noise=noise)
    assert accountant.epsilon.tolist() == EPSILON
    assert accountant.spent(accountant.answers).tolist() == EPSILON


GAUSSIAN = {"mechanism": "gaussian", "delta": 1e-6}


def test_a_gaussians_true_epsilon_where_the_bound_was_exceeded():
    """A gradient m times as long is a sensitivity of m Ξ: the multiplier is divided by m."""
    found = judged(largest=(15.0, 5.0), **GAUSSIAN)  # at the owner of ε = 0.5
    assert found.bound_exceeded is True
    assert not found.private
    worse = gaussian_epsilon(gaussian_multiplier(0.5, 1e-6) / 3, 1e-6)
    assert 3 * 0.5 < worse < 2.0  # more than in proportion, and less than the other owner's
    assert found.epsilon_true == pytest.approx(2.0, rel=1e-5)
    found = judged(largest=(25.0, 5.0), **GAUSSIAN)
    worse = gaussian_epsilon(gaussian_multiplier(0.5, 1e-6) / 5, 1e-6)
    assert found.epsilon_true == pytest.approx(worse, rel=1e-6)
    assert worse > 2.5
    assert "5 on a record gradient's L2 norm is exceeded: 25 at owner 1" in found.reasons[0]


def test_the_excess_of_owners_that_share_a_record_adds_up_in_rho():
    gaussian = judged(overlap=2, largest=(10.0, 20.0), **GAUSSIAN)
    rho = 1 / (2 * gaussian_multiplier(0.5, 1e-6) ** 2) / 2  # of each owner
    worse = gaussian_epsilon(1 / sqrt(2 * rho * (2**2 + 4**2)), 1e-6)
    assert gaussian.epsilon_true == pytest.approx(worse, rel=1e-6)


def test_a_run_that_diverged_is_not_private():
    """No bound holds at an infinite model, and which answers are finite reveals records."""
    outcome = run(parse(Scenario, table(__file__, "scenes.toml")["diverging"]))
    assert outcome.summary["private"] is False
    assert outcome.summary["epsilon_true"] == inf
    assert any("diverged in 2 replicates" in said for said in outcome.warnings)
    one = judged(kind="clip", diverged=1)
    assert (one.private, one.epsilon_true, one.times) == (False, inf, inf)


def test_one_owner_without_noise_is_foreseen():
    asked = Privacy(epsilon=[inf, 1.0], sensitivity=Clip(bound=XI))
    assert foreseen(asked, 2, timing=None, unsound=()) is False
    assert foreseen(asked.model_copy(update={"epsilon": 1.0}), 2, timing=None, unsound=()) is True
