"""A model fitted to public rows: their second moments, owners as unlike, targets of its own."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.data.stand_ins import FittedTwin, PublicKnowledge, PublicRows
from asyncdp_sim.errors import DataError
from asyncdp_sim.streams import Streams

ORACLE = pytest.mark.oracle(
    "rows of a model fitted to public ones, in place of private rows",
    "second moments of the public rows over all owners; owners as far apart as they show",
    source="linear algebra; the law that the public rows were drawn from",
    setting="forecasts alone, which take no private row; targets that are no labels",
    kinds="FittedTwin",
)

OWNERS, P, PUBLIC = 10, 3, 1500


def known(*, each=20_000, spread=0.6, seen=OWNERS, missing=0.0, others=0, seed=5, public=PUBLIC):
    """Public rows of a curved law, errors skewed and larger with a feature; owners differ in one.

    The least squares of it have neither a mean error of 0 nor errors that features do not tell.
    """
    g = np.random.default_rng(seed)
    like = g.integers(seen, size=public)
    x = g.normal([0.5, 0.0, 0.0], size=(public, P))
    own = spread * np.linspace(-1, 1, OWNERS)[like]
    errors = 0.5 * (g.exponential(size=public) - 0.5) * np.exp(x[:, 2] / 3)
    y = 0.3 + x @ [1.0, -2.0, 0.5] + own * x[:, 1] + 0.2 * x[:, 1] ** 2 + errors
    y[g.random(public) < missing] = np.nan
    sizes = tuple(each * (1 + i % 2) for i in range(OWNERS))
    return PublicKnowledge(x, y, like, sizes, tuple("abcdefghij"), others, last=False)


def products(rows):
    """Return zzᵀ of rows with targets, z = (x, y), (n, p + 1, p + 1)."""
    x, y = rows
    z = np.column_stack([x, y])[~np.isnan(y)]
    return np.einsum("ni,nj->nij", z, z)


def together(rows):
    return np.concatenate([x for x, _ in rows]), np.concatenate([y for _, y in rows])


@ORACLE
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("seen", [OWNERS, 6])
def test_second_moments_of_all_owners_are_those_of_the_public_rows(seen, missing):
    """Each within 4.5 standard errors of 300,000 draws, the only error there is."""
    given = known(seen=seen, missing=missing, others=100_000)
    drawn = FittedTwin().drawn(given, Streams(1))
    assert [len(y) for _, y in drawn.owners] == list(given.sizes)
    wanted = products((given.features, given.targets)).mean(axis=0)
    found = products(together(drawn.owners))
    # owners' ways make rows of one owner alike: their mean is fixed, so that draws are independent
    score = (found.mean(axis=0) - wanted) / (found.std(axis=0) / np.sqrt(len(found)))
    assert np.abs(score).max() < 4.5
    x, y = drawn.others
    assert np.isnan(y).mean() == pytest.approx(np.isnan(given.targets).mean(), abs=0.01)
    slopes = products((x, y)).mean(axis=0)[:P]
    assert np.linalg.solve(slopes[:, :P], slopes[:, P]) == pytest.approx(
        np.linalg.solve(wanted[:P, :P], wanted[:P, P]), abs=0.03
    )


def test_where_owners_are_alike_gradients_spread_as_those_of_the_public_rows():
    given = known(spread=0.0, seen=1)
    x, y = together(FittedTwin().drawn(given, Streams(1)).owners)
    theta = np.linalg.lstsq(given.features, given.targets, rcond=None)[0]
    spreads = [
        np.einsum("n,ni,nj->nij", np.square(b - a @ theta), a, a)
        for a, b in ((given.features, given.targets), (x, y))
    ]
    score = spreads[1].mean(axis=0) - spreads[0].mean(axis=0)
    assert np.abs(score / (spreads[1].std(axis=0) / np.sqrt(len(y)))).max() < 4.5


def test_clipped_gradients_pull_nowhere_where_the_public_rows_pull():
    """At the least squares of all: errors are skewed, and these have either sign alike."""
    given = known(spread=0.0, seen=1)
    theta = np.linalg.lstsq(given.features, given.targets, rcond=None)[0]
    pulls = []
    for kind in (PublicRows(), FittedTwin()):
        x, y = together(kind.drawn(given, Streams(1)).owners)
        gradients = x * (y - x @ theta)[:, None]
        size = np.abs(gradients).sum(axis=1, keepdims=True)
        clipped = gradients * np.minimum(1.0, np.median(size) / size)
        score = clipped.mean(axis=0) / (clipped.std(axis=0) / np.sqrt(len(y)))
        pulls.append(float(np.abs(score).max()))
    assert pulls[0] > 20
    assert pulls[1] < 4.5


def own_truths(rows):
    return np.array([np.linalg.lstsq(x, y, rcond=None)[0] for x, y in rows])


def apart(truths, given):
    """Return the mean of (θ_i − θ)ᵀS(θ_i − θ)."""
    away = truths - truths.mean(axis=0)
    return float(np.mean(np.square(given.features @ away.T)))


@ORACLE
@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_owners_are_as_unlike_as_public_rows_show(spread):
    """In the mean over twelve public files: seen owners in their order, others as far apart."""
    seen, others, order = [], [], []
    for seed in range(12):
        given = known(spread=spread, seen=7, seed=seed, each=4000)
        drawn = FittedTwin().drawn(given, Streams(seed))
        found = own_truths(drawn.owners)
        seen.append(apart(found[:7], given))
        others.append(apart(found[7:], given) * 3 / 2)
        order.append(np.corrcoef(found[:7, 1], np.arange(7))[0, 1])
        assert any("3 owners without a public row of their own have" in d for d in drawn.doubts)
    truth = np.var(spread * np.linspace(-1, 1, OWNERS)[:7])
    assert np.mean(seen) == pytest.approx(truth, rel=0.25, abs=0.015)
    assert np.mean(others) == pytest.approx(truth, rel=0.5, abs=0.015)
    if spread > 0:
        assert np.mean(order) > 0.9
        alike = PublicRows().drawn(known(spread=spread, seen=7), Streams(1))
        missed = apart(own_truths(alike.owners)[7:], given)
        assert missed < 0.2 * truth  # drawing rows again leaves them as all together


def test_no_target_is_a_public_one_and_redraws_are_of_halves():
    given = known(each=300, missing=0.1)
    _, y = together(FittedTwin().drawn(given, Streams(1)).owners)
    assert not set(np.round(y[~np.isnan(y)], 9)) & set(np.round(given.targets, 9))
    one, two = (together(FittedTwin(redrawn=k).drawn(given, Streams(1)).owners)[0] for k in (1, 2))
    rows = [{tuple(row) for row in x} for x in (one, two, given.features)]
    assert rows[0] < rows[2]
    assert max(len(rows[0]), len(rows[1])) <= PUBLIC / 2
    assert rows[0] != rows[1]


@pytest.mark.parametrize("kind", [PublicRows, FittedTwin])
def test_redraws_draw_owners_rows_anew(kind):
    """From a public file in the order of a feature: a row is no neighbour of what stood there."""
    given = known(each=300)
    order = np.argsort(given.features[:, 0])
    ordered = replace(given, features=given.features[order], targets=given.targets[order])
    first, again = (
        together(kind(redrawn=k).drawn(ordered, Streams(1)).owners)[0][:, 0] for k in (0, 1)
    )
    assert abs(np.corrcoef(first, again)[0, 1]) < 4.5 / np.sqrt(len(first))


def test_labels_are_refused_and_what_is_left_out_is_said():
    given = known(each=30)
    labels = PublicKnowledge(given.features, np.sign(given.targets), *[
        getattr(given, name) for name in ("like", "sizes", "names", "others", "last")
    ])  # fmt: skip
    with pytest.raises(DataError) as caught:
        FittedTwin().drawn(labels, Streams(1))
    assert caught.value.lines() == [
        "data.stand_in.kind: given 'fitted', with public rows of 2 different targets; allowed are "
        "public-rows or moments: a linear model makes no labels"
    ]
    assert FittedTwin().drawn(given, Streams(1)).doubts[-1].startswith("the fitted model is linear")
