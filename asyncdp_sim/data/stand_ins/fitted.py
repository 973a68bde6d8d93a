"""A linear model with owners of their own, fitted to public rows: targets that nobody has seen."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array
from asyncdp_sim.data.stand_ins.kind import Drawn, Known, StandInKind
from asyncdp_sim.data.stand_ins.unlike import Unlike, alike, half, last, unlike
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.streams import Scope, Streams

LABELS = 2
"""So many different targets are labels, which a linear model does not make."""


@dataclass(frozen=True, eq=False)
class _Law:
    """The fitted model: S, θ, what each public row is off by, and owners' own ways b_i."""

    second: Array
    theta: Array
    residuals: Array
    own: Array
    left: float


class FittedTwin(StandInKind):
    """Rows of a linear model with truths of owners' own, fitted to the public rows.

    A row of owner i has the features x_j of a public row, drawn with replacement, and the target

        y = x_jᵀ(θ + b_i) + c s r_j,    r_j = y_j − x_jᵀθ,    s = ±1 with equal chance,

    θ being the least squares of all public rows. So errors are as large as the public rows' where
    their features are, and no target is a public one. Owner i's own way b_i is λ_i times what its
    public rows show (λ_i as for rows drawn from public ones). An owner without a public row has a
    random one, Gaussian with bᵀSb = τ² in the mean, S the second moments of x. From all the mean by
    records is taken, Σ n_i b_i = 0, and c² = 1 − Σ n_i b_iᵀSb_i / (Σ n_i · mean r²), at least 0.

    Second moments are those of the public rows, over all owners by records: E xxᵀ = S;
    E xy = Sθ + S Σ w_i b_i + c E s · mean xr = Sθ = mean xy, since E s = 0 and by the normal
    equations; E y² = θᵀSθ + Σ w_i b_iᵀSb_i + c² mean r² = θᵀSθ + mean r² = mean y², since r is
    orthogonal to xᵀθ (where c is not cut off at 0). And E r²xxᵀ, which gradients' spread comes of,
    is theirs times c² where owners are alike.

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

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(), cls(redrawn=3))

    @override
    def drawn(self, known: Known, streams: Streams | Scope) -> Drawn:
        rows = half(known, self.redrawn, streams)
        x, y = known.features[rows], known.targets[rows]
        _require_numbers(y)
        found = unlike(x, y, known.like[rows], len(known.sizes))
        generators = [
            streams.generator("data", "owner", i + 1, "stand-in") for i in range(len(known.sizes))
        ]
        law = _fitted(x, y, found, known.sizes, generators)
        owners = [
            _rows(law, x, size, way, generator)
            for size, way, generator in zip(known.sizes, law.own, generators, strict=True)
        ]
        generator = streams.generator("data", "stand-in", "others")
        nobody = np.zeros(x.shape[1])
        others = _rows(law, x, known.others, nobody, generator)
        random_ones = "have truths of their own at random, as far apart"
        doubts = (
            *alike(known, found, random_ones),
            *last(known),
            "the fitted model is linear, with errors of either sign alike: what bends it or skews "
            "errors is left out, and owners' features are alike, which is not in the ±",
        )
        return Drawn(owners, others, doubts)


def _require_numbers(targets: Array) -> None:
    """Refuse targets that are labels.

    Raises
    ------
    DataError
        On ``data.stand_in.kind``.
    """
    values = len(np.unique(targets[~np.isnan(targets)]))
    if values <= LABELS:
        given = f"'fitted', with {values} different targets of public rows"
        allowed = "allowed are public-rows or moments: a linear model makes no labels"
        raise DataError([Fault("data.stand_in.kind", given, allowed)])


def _fitted(
    x: Array,
    y: Array,
    found: Unlike,
    sizes: tuple[int, ...],
    generators: list[np.random.Generator],
) -> _Law:
    """Return the model; owners' random ways are drawn first of all from their streams."""
    whole = ~np.isnan(y)
    second = x[whole].T @ x[whole] / whole.sum()
    theta = np.linalg.pinv(second, hermitian=True) @ (x[whole].T @ y[whole] / whole.sum())
    residuals = y - x @ theta
    least = float(np.mean(np.square(residuals[whole])))
    own = found.shares[:, None] * found.ways
    values, vectors = np.linalg.eigh(second)
    there = values > values.max() * len(values) * np.finfo(float).eps
    deviation = np.sqrt(found.variance * least / max(1, int(np.count_nonzero(there))))
    for i in sorted({*range(len(sizes))} - {*found.seen.tolist()}):
        drawn = generators[i].standard_normal(len(values))
        own[i] = vectors[:, there] @ (deviation * drawn[there] / np.sqrt(values[there]))
    weight = np.array(sizes, dtype=float) / max(1, sum(sizes))
    own = own - weight @ own
    between = float(np.einsum("i,ia,ab,ib->", weight, own, second, own))
    left = float(np.sqrt(max(0.0, 1 - between / least))) if least > 0 else 0.0
    return _Law(second, theta, residuals, own, left)


def _rows(
    law: _Law, x: Array, count: int, way: Array, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return features and targets of rows of an owner with this way of its own."""
    places = generator.integers(len(x), size=count)
    sign = 2.0 * generator.integers(2, size=count) - 1
    errors = law.left * sign * law.residuals[places]
    return x[places], x[places] @ (law.theta + way) + errors
