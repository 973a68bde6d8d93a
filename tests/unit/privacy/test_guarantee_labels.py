"""What a run guarantees, for each combination of choices."""

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest

from asyncdp_sim.privacy import Clip, Declared, Domain, Guarantee, Privacy, guarantee

P, XI = 4, 5.0
EPSILON = [0.5, 2.0]
WORDS = {
    "none": "mechanism none",
    "infinite": "ε = ∞ for",
    "scalar": "scalar-as-published",
    "l2": "l2-as-published",
    "exceeded": "is exceeded",
    "overlap": "public overlap",
}


def judged(
    *,
    kind: str = "declared",
    norm: str = "l1",
    mechanism: str = "laplace",
    noise: str = "vector",
    epsilon: tuple[float, ...] = (0.5, 2.0),
    largest: tuple[float, ...] | None = (4.0, 5.0),
    public: tuple[int, ...] = (0, 0),
) -> Guarantee:
    sensitivity = {
        "declared": Declared(bound=XI, norm=norm),
        "clip": Clip(bound=XI, norm=norm),
        "domain": Domain(row_norm=1.0, target_max=1.0, norm=norm),
    }[kind]
    privacy = Privacy(
        epsilon=list(epsilon), mechanism=mechanism, noise=noise, sensitivity=sensitivity
    )
    met = (
        None if kind != "declared" or mechanism == "none" or largest is None else np.array(largest)
    )
    return guarantee(privacy, privacy.epsilons(len(epsilon)), XI, P, met, public)


def named(found: Guarantee) -> set[str]:
    return {key for key, words in WORDS.items() if any(words in r for r in found.reasons)}


@pytest.mark.parametrize(
    ("kind", "norm", "mechanism", "noise", "infinite", "exceeded", "overlap"),
    list(
        product(
            ["declared", "clip", "domain"],
            ["l1", "l2-as-published"],
            ["laplace", "none"],
            ["vector", "scalar-as-published"],
            [False, True],
            [False, True],
            [False, True],
        )
    ),
)
def test_every_combination(
    kind: str, norm: str, mechanism: str, noise: str, infinite: bool, exceeded: bool, overlap: bool
) -> None:
    found = judged(
        kind=kind,
        norm=norm,
        mechanism=mechanism,
        noise=noise,
        epsilon=(0.5, inf) if infinite else (0.5, 2.0),
        largest=(15.0, 5.0) if exceeded else (4.0, 5.0),
        public=(0, 7) if overlap else (0, 0),
    )
    laplace = mechanism == "laplace"
    expected = {
        "none": not laplace,
        "infinite": laplace and infinite,
        "scalar": laplace and noise == "scalar-as-published",
        "l2": laplace and norm == "l2-as-published",
        "exceeded": laplace and exceeded and kind == "declared",
        "overlap": overlap,
    }
    assert named(found) == {key for key, holds in expected.items() if holds}
    assert found.private is not any(expected.values())
    assert found.bound_exceeded == (exceeded if laplace and kind == "declared" else None)
    endless = {"none", "infinite", "scalar", "overlap"}
    if any(expected[key] for key in endless):
        assert found.epsilon_true == inf
    else:
        worse = 3.0 if expected["exceeded"] else 1.0  # 15/5, at the owner of ε = 0.5
        true = max(0.5 * worse, 2.0) * (sqrt(P) if expected["l2"] else 1.0)
        assert found.epsilon_true == pytest.approx(true)
    assert len(found.reasons) == len(set(found.reasons))


def test_a_sound_bound_needs_no_words() -> None:
    for kind in ("clip", "domain"):
        assert judged(kind=kind) == Guarantee(True, 2.0, None, ())


def test_a_declared_bound_that_held_is_private_and_says_what_it_rests_on() -> None:
    found = judged(largest=(5.0, 5.0))  # a bound that is just reached is not exceeded
    assert (found.private, found.epsilon_true, found.bound_exceeded) == (True, 2.0, False)
    assert len(found.reasons) == 1
    assert "declared bound 5" in found.reasons[0]


def test_an_exceeded_bound_scales_each_owners_epsilon_by_its_own_excess() -> None:
    assert judged(largest=(50.0, 1.0)).epsilon_true == pytest.approx(5.0)  # 0.5 · 10
    assert judged(largest=(10.0, 6.0)).epsilon_true == pytest.approx(2.4)  # 2 · 1.2
    found = judged(largest=(50.0, 6.0))
    assert found.bound_exceeded is True
    assert "50 at owner 1" in found.reasons[0]


def test_a_small_gradient_does_not_improve_the_claim() -> None:
    assert judged(largest=(0.1, 0.1)).epsilon_true == 2.0


def test_an_unmeasured_declared_bound_is_not_said_to_have_held() -> None:
    assert judged(largest=None).bound_exceeded is None


def test_owners_are_named() -> None:
    found = judged(epsilon=(inf, 1.0, inf), largest=(1.0, 1.0, 1.0), public=(0, 3, 4))
    told = "\n".join(found.reasons)
    assert "owners 1, 3" in told
    assert "7 public rows are records of owners 2, 3" in told


def test_the_judged_epsilon_is_not_written_back() -> None:
    """The ledger's ε must not change because the guarantee is worse."""
    epsilon = np.array(EPSILON)
    privacy = Privacy(epsilon=EPSILON, sensitivity=Declared(bound=XI))
    guarantee(privacy, epsilon, XI, P, np.array([50.0, 50.0]), (1, 1))
    assert epsilon.tolist() == EPSILON
