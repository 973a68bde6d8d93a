"""Rows in place of private ones by public rows: drawn from these, or of a model fitted to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.data.stand_ins.kind import PublicKnowledge, StandInKind, StandInRows
from asyncdp_sim.data.stand_ins.unlike import Unlikeness, alike, half, last, require_targets, unlike
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.streams import Scope, Streams


class PublicRows(StandInKind):
    """Every private row is drawn from the public rows, with replacement.

    Where the public rows tell owners apart (they name them, or stand in the order of the table
    whose owners have consecutive rows), a row of owner i is one of its own public rows with
    probability λ_i, and any public row else. λ_i is such that owners are as unlike as the public
    rows show beyond chance, measured by the slopes x(y − xᵀθ) of the least squares of all public
    rows: none where their order or names tell nothing.

    Redraws take a random half of the public rows: a forecast from a half is as far from the one of
    all as the latter is from that of endless public rows, in the root mean square. From it they
    draw owners' rows anew, as an owner's own rows are others than those that stand in for them.
    """

    words = "rows drawn from the table's public ones"
    uncertain = "random halves of the public rows"
    needs_public_rows = True

    kind: Literal["public-rows"] = "public-rows"

    @override
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        require_targets(known)
        rows = half(known, self.redrawn, streams)
        like = known.like[rows]
        found = unlike(known.features[rows], known.targets[rows], like, len(known.sizes))
        owners = []
        for i, size in enumerate(known.sizes):
            generator = self.of_owner(i + 1, streams)
            places = generator.integers(len(rows), size=size)
            own, share = np.flatnonzero(like == i), generator.random(size) < found.shares[i]
            if len(own) > 0:
                places = np.where(share, own[generator.integers(len(own), size=size)], places)
            owners.append(_taken(known, rows[places]))
        generator = self.of_others(streams)
        others = _taken(known, rows[generator.integers(len(rows), size=known.others)])
        return StandInRows(
            owners, others, (*alike(known, found, "are as all together"), *last(known))
        )


def _taken(known: PublicKnowledge, rows: Rows) -> tuple[Array, Array]:
    return known.features[rows], known.targets[rows]


LABELS = 2
"""So many different targets are labels, which a linear model does not make."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Counts of the rows of owner i that have the features of each public row.

    Attributes
    ----------
    own : list of array
        Public rows that are like owner i's.
    shares : array (N,)
        How often one of these is taken.
    rest : array (M,)
        How often each public row is, else.
    """

    own: list[Rows]
    shares: Array
    rest: Array

    def taken(self, owner: int, count: int, generator: np.random.Generator) -> Rows:
        """Draw public rows for an owner's rows."""
        ends = np.cumsum(self.rest)
        places = np.searchsorted(ends / ends[-1], generator.random(count), side="right")
        if self.shares[owner] == 0:
            return places
        mine = self.own[owner][generator.integers(len(self.own[owner]), size=count)]
        return np.where(generator.random(count) < self.shares[owner], mine, places)

    def seconds(self, z: Array) -> Iterator[Array]:
        """Yield the mean of zzᵀ over rows of each owner, z of a public row being (d,)."""
        rest = (z * self.rest[:, None]).T @ z
        for own, share in zip(self.own, self.shares, strict=True):
            mine = z[own]
            yield rest if share == 0 else share * mine.T @ mine / len(own) + (1 - share) * rest


@dataclass(frozen=True, eq=False)
class _Law:
    """The fitted model: θ, r_j of each public row, owners' own b_i, and c."""

    theta: Array
    residuals: Array
    ways: Array
    left: float


class FittedTwin(StandInKind):
    """Rows of a linear model with truths of owners' own, fitted to the public rows.

    A row of owner i has the features x_j of a public row, drawn with replacement, and the target

        y = x_jᵀ(θ + b_i) + c s r_j,    r_j = y_j − x_jᵀθ,    s = ±1 with equal chance,

    θ being the least squares of all M public rows. So errors are as large as the public rows' where
    their features are, and no target is a public one.

    With probability λ_i' = min(λ_i, m_i/(M w_i)) row j is one of the m_i that are like owner i's,
    w_i being its share of all owners' records and λ_i as for rows drawn from public ones; else any,
    as often as makes every public row equally likely over all owners. Owner i's own way is
    b_i = S_i⁻¹g_i, S_i the second moments of its x: at θ its slope is g_i, which is λ_i times what
    its public rows show, or for an owner without any a Gaussian one with gᵀS⁻¹g = τ² in the mean.
    From all the mean is taken, Σ w_i g_i = 0, and c² = 1 − Σ w_i b_iᵀS_i b_i / mean r², at least 0.

    Second moments are those of the public rows, over all owners by records: E xxᵀ = Σ w_i S_i = S;
    E xy = Σ w_i S_i(θ + b_i) = Sθ = mean xy, since E s = 0, and by the normal equations;
    E y² = θᵀSθ + Σ w_i b_iᵀS_i b_i + c² mean r² = θᵀSθ + mean r² = mean y², since r is orthogonal
    to xᵀθ (where c is not cut off at 0). Where targets are missing the same holds of rows that have
    one. And E r²xxᵀ, which gradients' spread comes of, is theirs where owners are alike.

    But errors of either sign alike have no skewness: clipped gradients of the public rows have a
    mean at their least squares that is not 0, and pull a model away from it; those of these rows
    have none. Where gradients are clipped and errors are skewed, ψ comes out too small.

    Redraws fit the model to random halves of the public rows, as those of
    :class:`~asyncdp_sim.data.stand_ins.public_rows.PublicRows`.

    Notes
    -----
    Errors of random sign: C. F. J. Wu, Jackknife, bootstrap and other resampling methods in
    regression analysis, Annals of Statistics 14 (1986), 1261–1295. Truths of owners' own: N. M.
    Laird and J. H. Ware, Random-effects models for longitudinal data, Biometrics 38 (1982),
    963–974.
    """

    words = "rows of a linear model fitted to the table's public ones"
    uncertain = "fits to random halves of the public rows"
    needs_public_rows = True

    kind: Literal["fitted"] = "fitted"

    @override
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        require_targets(known)
        rows = half(known, self.redrawn, streams)
        x, y = known.features[rows], known.targets[rows]
        _require_numbers(y)
        like, sizes = known.like[rows], np.array(known.sizes, dtype=float)
        found = unlike(x, y, like, len(sizes))
        generators = [self.of_owner(i + 1, streams) for i in range(len(sizes))]
        weight = sizes / max(1.0, sizes.sum())
        places = _places(like, weight, found)
        law = _fitted(x, y, places, weight, found, generators)
        owners = [
            _rows(law, x, places.taken(i, size, generator), law.ways[i], generator)
            for i, (size, generator) in enumerate(zip(known.sizes, generators, strict=True))
        ]
        generator = self.of_others(streams)
        of_nobody = generator.integers(len(x), size=known.others)
        others = _rows(law, x, of_nobody, np.zeros(x.shape[1]), generator)
        random_ones = "have truths of their own at random, as far apart"
        doubts = (
            *alike(known, found, random_ones),
            *last(known),
            "the fitted model is linear, with errors of either sign alike: what bends it or skews "
            "errors is left out, which is not in the ±; where gradients are clipped, skewed errors "
            "make ψ larger than this",
        )
        return StandInRows(owners, others, doubts)


def _require_numbers(targets: Array) -> None:
    """Refuse targets that are labels.

    Raises
    ------
    DataError
        On ``data.stand_in.kind``.
    """
    values = len(np.unique(targets[~np.isnan(targets)]))
    if values <= LABELS:
        given = (
            f"'fitted', with public rows of {values} different targets"
            if values > 1
            else ("'fitted', with public rows of one target alone")
        )
        allowed = "allowed are public-rows or moments: a linear model makes no labels"
        raise DataError([Fault("data.stand_in.kind", given, allowed)])


def _places(like: Rows, weight: Array, found: Unlikeness) -> _Rows:
    """Return how often owners' rows are which public ones: each equally often over all owners."""
    total = len(like)
    own = [np.flatnonzero(like == i) for i in range(len(weight))]
    counts = np.array([len(each) for each in own], dtype=float)
    shares = np.zeros(len(weight))
    there = (found.shares > 0) & (counts > 0) & (weight > 0)
    shares[there] = np.minimum(found.shares[there], counts[there] / (total * weight[there]))
    rest = np.full(total, 1 / total)
    for i in np.flatnonzero(shares):
        rest[own[i]] -= weight[i] * shares[i] / counts[i]
    rest = np.maximum(rest, 0.0)  # of rounding
    return _Rows(own, shares, rest / rest.sum() if rest.sum() > 0 else np.full(total, 1 / total))


def _fitted(
    x: Array,
    y: Array,
    places: _Rows,
    weight: Array,
    found: Unlikeness,
    generators: list[np.random.Generator],
) -> _Law:
    """Return the model; random slopes are drawn first of all from their owners' streams."""
    whole = ~np.isnan(y)
    second = x[whole].T @ x[whole] / whole.sum()
    theta = np.linalg.pinv(second, hermitian=True) @ (x[whole].T @ y[whole] / whole.sum())
    residuals = y - x @ theta
    least = float(np.mean(np.square(residuals[whole])))
    slopes = found.shares[:, None] * (found.ways @ second)
    values, vectors = np.linalg.eigh(second)
    rank = np.count_nonzero(values > values.max() * len(values) * np.finfo(float).eps)
    root = vectors * np.sqrt(np.maximum(values, 0.0) * found.variance * least / max(1, int(rank)))
    for i in sorted({*range(len(weight))} - {*found.seen.tolist()}):
        slopes[i] = root @ generators[i].standard_normal(len(values))
    known = np.where(whole[:, None], np.column_stack([x, np.ones(len(x))]), 0.0)
    weight = weight * [each[-1, -1] for each in places.seconds(known)]  # of rows with targets
    slopes = slopes - (weight @ slopes / weight.sum() if len(weight) > 0 else 0.0)
    ways, between = np.zeros_like(slopes), 0.0
    for i, each in enumerate(places.seconds(known)):
        ways[i] = np.linalg.pinv(each[:-1, :-1] / each[-1, -1], hermitian=True) @ slopes[i]
        between += float(weight[i] * ways[i] @ slopes[i] / weight.sum())
    left = float(np.sqrt(max(0.0, 1 - between / least))) if least > 0 else 0.0
    return _Law(theta, residuals, ways, left)


def _rows(
    law: _Law, x: Array, places: Rows, way: Array, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return features and targets of rows of an owner with this way of its own."""
    sign = 2.0 * generator.integers(2, size=len(places)) - 1
    return x[places], x[places] @ (law.theta + way) + law.left * sign * law.residuals[places]
