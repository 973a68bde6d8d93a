"""The bound Ξ of each kind is never exceeded, and the domain's is reached."""

from itertools import product

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import LinearRecords, Ridge
from asyncdp_sim.learning.recording import largest
from asyncdp_sim.privacy import Clip, Declared, Domain
from tests.together import together

LARGEST = pytest.mark.oracle("largest gradient over a domain")

ORDER = {"l1": 1, "l2": 2, "l2-as-published": 2}
NORMS = list(ORDER)
ROWS = [(norm, rows) for norm in NORMS for rows in (None, "l1", "l2")]
ULPS = 1 + 1e-12


def order_of_rows(domain: Domain) -> int:
    return ORDER[domain.norm if domain.rows is None else domain.rows]


@LARGEST
@together
@pytest.mark.parametrize(("norm", "rows_in"), ROWS)
@pytest.mark.parametrize("row_norm", [0.3, 1.0, 7.0])
def test_confine_respects_the_norm_and_the_range(
    norm: str, rows_in: str | None, row_norm: float
) -> None:
    rng = np.random.default_rng(1)
    domain = Domain(row_norm=row_norm, target_max=2.0, norm=norm, rows=rows_in)
    order = order_of_rows(domain)
    features = [rng.normal(size=(500, 4)) * 10 ** rng.uniform(-3, 3, (500, 1)), np.zeros((2, 4))]
    targets = [rng.normal(size=500) * 10, np.array([-2.0, 2.0])]
    before = [x.copy() for x in features]
    rows, limited = domain.confine(features, targets)
    for x, y, old, target in zip(rows, limited, before, targets, strict=True):
        length = np.linalg.norm(x, ord=order, axis=1)
        assert np.all(length <= row_norm * ULPS)
        inside = np.linalg.norm(old, ord=order, axis=1) <= row_norm
        assert np.array_equal(x[inside], old[inside])  # what is inside stays as it is
        assert np.allclose(length[~inside], row_norm, rtol=1e-12)
        cross = x[:, :, None] * old[:, None, :]
        assert np.allclose(cross, cross.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)  # same direction
        assert np.array_equal(y, np.clip(target, -2, 2))
    assert all(np.array_equal(x, old) for x, old in zip(features, before, strict=True))


def corner_search(domain: Domain, theta_max: float, p: int) -> float:
    """The largest gradient over extreme points and random points of rows, targets and Θ."""
    rng = np.random.default_rng(2)
    corners = np.array(list(product([-1.0, 1.0], repeat=p)))
    axes = np.concatenate([np.eye(p), -np.eye(p)])
    spread = corners / (p if order_of_rows(domain) == 1 else np.sqrt(p))
    wild = rng.normal(size=(200, p)) * 100
    rows, _ = domain.confine([np.concatenate([axes, spread, wild]) * domain.row_norm * 3], [])
    thetas = np.concatenate([corners, rng.uniform(-1, 1, (50, p))]) * theta_max
    worst = 0.0
    for target in (-domain.target_max, 0.0, domain.target_max):
        targets = np.full(len(rows[0]), target)
        norm = "l1" if domain.norm == "l1" else "l2"
        worst = max(worst, largest(LinearRecords(rows, [targets], None, norm), 0, thetas))
    return worst


@LARGEST
@together
@pytest.mark.parametrize(("norm", "rows"), ROWS)
@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("theta_max", [0.1, 3.0])
def test_a_domains_bound_is_never_exceeded_and_is_tight(
    norm: str, rows: str | None, p: int, theta_max: float
) -> None:
    domain = Domain(row_norm=0.7, target_max=1.5, norm=norm, rows=rows)
    worst = corner_search(domain, theta_max, p)
    bound = domain.xi(Ridge(regularisation=1.0, theta_max=theta_max), p)
    assert worst <= bound * ULPS
    assert worst == pytest.approx(bound, rel=1e-9)  # no larger than need be


@pytest.mark.parametrize("otherwise", ["l1", "l2"])
@pytest.mark.parametrize("rows", [None, "l1", "l2"])
def test_a_domain_without_a_norm_takes_that_of_the_mechanism(
    otherwise: str, rows: str | None
) -> None:
    model = Ridge(regularisation=1.0, theta_max=0.5)
    bare = Domain(row_norm=0.7, target_max=1.5, rows=rows)
    named = Domain(row_norm=0.7, target_max=1.5, rows=rows, norm=otherwise)
    assert bare.xi(model, 9, otherwise) == named.xi(model, 9)
    x, y = [np.full((1, 9), 2.0)], [np.array([3.0])]
    assert np.array_equal(bare.confine(x, y, otherwise)[0], named.confine(x, y)[0])
    assert bare.describe(model, 9, otherwise) == named.describe(model, 9)


def test_both_bounds_of_a_domain_are_told() -> None:
    """Rows of ‖x‖₂ ≤ 1 in p = 9: Ξ₂ = 2(1.5 + 3·0.5) = 6, and Ξ₁ = √9 Ξ₂."""
    model = Ridge(regularisation=1.0, theta_max=0.5)
    told = "in the domain record gradients are bounded by Ξ₁ = {} and Ξ₂ = {}"
    by_l2 = Domain(row_norm=1.0, target_max=1.5, rows="l2")
    assert by_l2.describe(model, 9) == told.format(18, 6)
    by_mechanism = Domain(row_norm=1.0, target_max=1.5)
    assert by_mechanism.describe(model, 9, "l2") == told.format(18, 6)
    assert by_mechanism.describe(model, 9) == told.format(4, 4)
    assert by_mechanism.xi(model, 9, "l2") == 6


def test_a_domain_needs_a_bounded_box() -> None:
    with pytest.raises(ValueError, match="bounded Θ"):
        Domain(row_norm=1.0, target_max=1.0).xi(Ridge(regularisation=1.0), 3)


@pytest.mark.parametrize("kind", [Declared, Clip])
def test_a_named_bound_is_itself(kind: type) -> None:
    assert kind(bound=2.5).xi(Ridge(regularisation=1.0), 3) == 2.5
    boxed = Ridge(regularisation=1.0, theta_max=1.0)
    assert kind(bound=2.5, norm="l2-as-published").xi(boxed, 300) == 2.5


@pytest.mark.oracle("change of an answer by one record, under clipping")
@pytest.mark.parametrize("norm", NORMS)
def test_no_record_contributes_more_than_a_clips_bound(norm: str) -> None:
    """A mean over one record is that record's clipped gradient."""
    rng = np.random.default_rng(3)
    bound = Clip(bound=0.8, norm=norm).xi(Ridge(regularisation=1.0), 3)
    x = [rng.normal(size=(1, 3)) * 10 ** rng.uniform(-3, 3) for _ in range(300)]
    y = [rng.normal(size=1) * 10 for _ in range(300)]
    records = LinearRecords(x, y, bound, "l1" if norm == "l1" else "l2")
    found = records.gradient(np.arange(300), rng.normal(size=(300, 3)))
    length = np.linalg.norm(found, ord=ORDER[norm], axis=1)
    assert np.all(length <= bound * ULPS)
    assert np.any(length > bound * (1 - 1e-12))
