"""Guarantee of a run, for each combination of choices."""

from itertools import product
from math import inf, sqrt

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
    *,
    kind: str = "declared",
    norm: str | None = None,
    mechanism: str = "laplace",
    noise: str = "vector",
    epsilon: tuple[float, ...] = (0.5, 2.0),
    largest: tuple[float, ...] | None = (4.0, 5.0),
    public: tuple[int, ...] = (0, 0),
    delta: float | None = None,
    overlap: int = 1,
    obfuscated: bool = False,
    unseen: int = 0,
    timing: str | None = None,
    diverged: int = 0,
) -> Guarantee:
    sensitivity = {
        "declared": Declared(bound=XI, norm=norm),
        "clip": Clip(bound=XI, norm=norm),
        "domain": Domain(row_norm=1.0, target_max=1.0, norm=norm),
    }[kind]
    privacy = Privacy(
        epsilon=list(epsilon),
        delta=delta,
        mechanism=mechanism,
        noise=noise,
        sensitivity=sensitivity,
        overlap=overlap,
    )
    n_owners = len(epsilon)
    accountant, records = privacy.accountant_for(n_owners, T), RECORDS[:n_owners]
    look = None
    if kind == "declared" and mechanism != "none" and largest is not None:
        look = ObservedMax(np.array(largest), 70 - unseen, unseen)
    return guarantee(
        privacy, accountant, XI, P, look, public, records,
        noise=privacy.noise_for(records, T, XI, P), obfuscated=obfuscated, timing=timing,
        diverged=diverged,
    )  # fmt: skip


def named(found: Guarantee) -> set[str]:
    return {key for key, words in WORDS.items() if any(words in r for r in found.reasons)}


@together
@pytest.mark.parametrize(
    ("kind", "norm", "mechanism", "noise", "infinite", "exceeded", "overlap"),
    list(
        product(
            ["declared", "clip", "domain"],
            [None, "l2-as-published"],
            ["laplace", "discrete-laplace", "none"],
            ["vector", "scalar-as-published"],
            [False, True],
            [False, True],
            [False, True],
        )
    ),
)
def test_every_combination(
    kind,
    norm,
    mechanism,
    noise,
    infinite,
    exceeded,
    overlap,
):
    found = judged(
        kind=kind,
        norm=norm,
        mechanism=mechanism,
        noise=noise,
        epsilon=(0.5, inf) if infinite else (0.5, 2.0),
        largest=(15.0, 5.0) if exceeded else (4.0, 5.0),
        public=(0, 7) if overlap else (0, 0),
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


def test_a_sound_bound_needs_no_words():
    for kind in ("clip", "domain"):
        assert judged(kind=kind) == Guarantee(True, 2.0, 0.0, None, ())


def test_a_declared_bound_that_held_is_private_and_says_what_it_rests_on():
    found = judged(largest=(5.0, 5.0))  # a bound that is just reached is not exceeded
    assert (found.private, found.epsilon_true, found.bound_exceeded) == (True, 2.0, False)
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith(
        "the claim rests on the declared bound 5: no record of this table exceeded it at 70 "
        "answered queries"
    )


def test_an_exceeded_bound_scales_each_owners_epsilon_by_its_own_excess():
    assert judged(largest=(50.0, 1.0)).epsilon_true == pytest.approx(5.0)  # 0.5 · 10
    assert judged(largest=(10.0, 6.0)).epsilon_true == pytest.approx(2.4)  # 2 · 1.2
    found = judged(largest=(50.0, 6.0))
    assert found.bound_exceeded is True
    assert "50 at owner 1" in found.reasons[0]


def test_a_small_gradient_does_not_improve_the_claim():
    assert judged(largest=(0.1, 0.1)).epsilon_true == 2.0


def test_a_declared_bound_is_never_judged_without_a_look():
    with pytest.raises(ValueError, match="needs the gradients"):
        judged(largest=None)


def test_queries_that_were_not_looked_at_leave_the_claim_open():
    """Neither yes nor no; and a bound that is known to be exceeded is exceeded all the same."""
    found = judged(unseen=3)
    assert (found.private, found.bound_exceeded, found.unseen) == (None, None, 3)
    assert found.reasons == (
        "3 of 70 answered queries were not checked: the declared bound 5 may be exceeded there",
    )
    known = judged(unseen=3, largest=(4.0, 6.0))
    assert (known.private, known.bound_exceeded, known.unseen) == (False, True, 3)
    assert len(known.reasons) == 2


@together
@pytest.mark.parametrize("kind", ["declared", "clip", "domain"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "discrete-laplace", "none"])
def test_timing_that_nobody_pays_for_has_no_finite_epsilon(kind, mechanism):
    delta = 1e-6 if mechanism == "gaussian" else None
    found = judged(kind=kind, mechanism=mechanism, delta=delta, timing="who speaks")
    assert (found.private, found.epsilon_true) == (False, inf)
    assert "timing not accounted: who speaks" in found.reasons


def test_epsilon_of_a_declared_bound_is_a_least_one():
    assert judged().at_least
    assert judged(largest=(50.0, 1.0)).at_least
    assert not judged(kind="clip").at_least
    assert judged(kind="clip").unseen is None


def test_owners_are_named():
    found = judged(epsilon=(inf, 1.0, inf), largest=(1.0, 1.0, 1.0), public=(0, 3, 4))
    told = "\n".join(found.reasons)
    assert "owners 1, 3" in told
    assert "7 public rows are records of owners 2, 3" in told


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


def test_gaussian_answers_are_private_at_a_delta_that_is_said():
    found = judged(kind="clip", **GAUSSIAN)
    assert (found.private, found.delta, found.reasons) == (True, 1e-6, ())
    assert found.epsilon_true == pytest.approx(2.0, rel=1e-5)
    assert found.epsilon_true <= 2.0


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


@pytest.mark.parametrize(("delta", "noted"), [(1e-6, False), (0.0124, False), (1 / 80, True)])
def test_a_delta_that_is_not_below_one_over_n_is_noted(delta, noted):
    """n = 80 records of the larger owner; the claim stands as it is stated."""
    found = judged(kind="clip", mechanism="gaussian", delta=delta)
    assert found.private
    assert found.reasons == ()
    assert (len(found.remarks) == 1) is noted
    if noted:
        assert found.remarks[0].describe().startswith("δ = 0.0125 is not below 1/n = 0.013: ")


@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
def test_a_shared_record_costs_at_most_the_least_epsilon(mechanism):
    found = judged(kind="clip", mechanism=mechanism, overlap=2)
    assert found == Guarantee(True, 0.5, 0.0, None, ())


def test_a_record_shared_under_gaussian_noise_costs_at_most_the_least_epsilon():
    found = judged(kind="clip", overlap=2, **GAUSSIAN)
    assert found.private
    assert found.epsilon_true == pytest.approx(0.5, rel=1e-5)
    assert found.epsilon_true <= 0.5


def test_the_excess_of_owners_that_share_a_record_adds_up():
    found = judged(overlap=2, largest=(10.0, 20.0))  # 0.25 · 2 + 0.25 · 4
    assert found.epsilon_true == pytest.approx(1.5)
    three = judged(overlap=2, epsilon=(3.0, 1.0, 2.0), largest=(10.0, 1.0, 20.0), public=(0, 0, 0))
    assert three.epsilon_true == pytest.approx(0.5 * 2 + 0.5 * 4)  # the two worst of three
    gaussian = judged(overlap=2, largest=(10.0, 20.0), **GAUSSIAN)
    rho = 1 / (2 * gaussian_multiplier(0.5, 1e-6) ** 2) / 2  # of each owner
    worse = gaussian_epsilon(1 / sqrt(2 * rho * (2**2 + 4**2)), 1e-6)
    assert gaussian.epsilon_true == pytest.approx(worse, rel=1e-6)


def test_infinite_budgets_in_words():
    """One owner of several plays the learner, as published; all owners are plainly not private."""
    [one] = judged(kind="clip", epsilon=(inf, 2.0)).reasons
    plays = "as published, where it plays the learner itself"
    assert one == f"ε = ∞ for owner 1: its answers are exact, {plays}"
    [both] = judged(kind="clip", epsilon=(inf, inf)).reasons
    assert both == "ε = ∞ for owners 1, 2: their answers are exact"
    [alone] = judged(kind="clip", epsilon=(inf,), public=(0,)).reasons
    assert alone == "ε = ∞ for owner 1: its answers are exact"


def test_obfuscation_is_no_guarantee():
    found = judged(mechanism="none", kind="clip", obfuscated=True)
    assert (found.private, found.epsilon_true, found.delta) == (False, inf, None)
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("obfuscated, no DP guarantee")


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace", "gaussian"])
def test_a_public_record_is_hidden_by_no_mechanism(noise):
    delta = 1e-6 if noise == "gaussian" else None
    found = judged(kind="clip", mechanism=noise, delta=delta, public=(0, 3))
    assert (found.private, found.epsilon_true) == (False, inf)
    assert found.reasons == ("public overlap: 3 public rows are records of owner 2, ε = ∞ there",)


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
