"""Private rows drawn from public ones, with owners as unlike as public rows show."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.data.stand_ins.apart import apart
from asyncdp_sim.data.stand_ins.kind import Drawn, Known, StandInKind
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.words import number


@dataclass(frozen=True, eq=False)
class _Unlike:
    """How unlike owners are by the public rows: τ²/f(θ*), and λ_i of each, 0 where none is seen."""

    variance: float
    half_width: float
    shares: Array
    seen: int


class PublicRows(StandInKind):
    """Every private row is drawn from the public rows, with replacement.

    Where the public rows tell owners apart (they name them, or stand in the order of the table
    whose owners have consecutive rows), a row of owner i is one of its own public rows with
    probability λ_i, and any public row else. λ_i is such that owners are as unlike as the public
    rows show beyond chance, measured by the slopes x(y − xᵀθ) of the least squares of all public
    rows: none where their order or names tell nothing.

    Redraws take a random half of the public rows: a forecast from a half is as far from the one of
    all as the latter is from that of endless public rows, in the root mean square.
    """

    words = "rows drawn from the table's public ones"
    uncertain = "random halves of the public rows"
    needs_public_rows = True

    kind: Literal["public-rows"] = "public-rows"

    @classmethod
    @override
    def examples(cls) -> tuple[Self, ...]:
        return (cls(), cls(redrawn=2))

    @override
    def drawn(self, known: Known, streams: Streams | Scope) -> Drawn:
        rows = np.arange(len(known.targets))
        if self.redrawn > 0:
            generator = streams.generator("data", "stand-in", "half", self.redrawn)
            rows = np.sort(generator.permutation(rows)[: (len(rows) + 1) // 2])
        like = known.like[rows]
        unlike = _unlike(known.features[rows], known.targets[rows], like, len(known.sizes))
        owners = []
        for i, size in enumerate(known.sizes):
            generator = streams.generator("data", "owner", i + 1, "stand-in")
            places = generator.integers(len(rows), size=size)
            own, share = np.flatnonzero(like == i), generator.random(size) < unlike.shares[i]
            if len(own) > 0:
                places = np.where(share, own[generator.integers(len(own), size=size)], places)
            owners.append(_taken(known, rows[places]))
        generator = streams.generator("data", "stand-in", "others")
        others = _taken(known, rows[generator.integers(len(rows), size=known.others)])
        return Drawn(owners, others, (*_alike(known, unlike), *_last(known)))


def _taken(known: Known, rows: Rows) -> tuple[Array, Array]:
    return known.features[rows], known.targets[rows]


def _unlike(features: Array, targets: Array, like: Rows, n_owners: int) -> _Unlike:
    """Measure owners' slopes at the least squares of all, in the metric of its Hessian."""
    shares = np.zeros(n_owners)
    whole = ~np.isnan(targets)
    x, y, like = features[whole], targets[whole], like[whole]
    of_owners = like >= 0
    counts = np.bincount(like[of_owners], minlength=n_owners)
    seen = np.flatnonzero(counts)
    total = int(counts.sum())
    if len(seen) < 2 or total <= len(seen):
        return _Unlike(0.0, 0.0, shares, len(seen))
    inverse = np.linalg.pinv(x.T @ x / len(y), hermitian=True)
    error = y - x @ (inverse @ (x.T @ y / len(y)))
    slopes, owners = (x * error[:, None])[of_owners], like[of_owners]
    slopes = slopes - slopes.mean(axis=0)
    sums = np.zeros((n_owners, x.shape[1]))
    np.add.at(sums, owners, slopes)
    own = sums[seen] / counts[seen, None]
    distance = np.einsum("ia,ab,ib->i", own, inverse, own)
    among_all = float(np.einsum("ja,ab,jb->", slopes, inverse, slopes))
    within = max(0.0, among_all - float(counts[seen] @ distance)) / (total - len(seen))
    found = apart(distance, within / counts[seen], counts[seen] / total, x.shape[1])
    shares[seen] = found.shares
    least = float(np.mean(np.square(error)))
    scale = 1 / least if least > 0 else 0.0
    return _Unlike(found.variance * scale, found.half_width * scale, shares, len(seen))


def _alike(known: Known, unlike: _Unlike) -> tuple[str, ...]:
    """Say how unlike owners are taken to be, and why."""
    if len(known.sizes) == 0:  # a split by the target, whose words are its own
        return ()
    if unlike.seen < 2:
        return (
            "owners are taken to be alike: nothing public tells whose rows are like which, and "
            "what sets owners apart is not in the ±",
        )
    how = (
        "public rows that name their owner show beyond chance"
        if len(known.names) > 0
        else "stretches of the public file show beyond chance, as if it stood in the table's order"
    )
    told = [
        f"owners are taken to be as unlike as {how}: own truths τ² = "
        f"{unlike.variance:.3g} ± {unlike.half_width:.2g} apart"
    ]
    if len(known.names) == 0:
        told.append(
            "if the public file stands in another order than the table, what sets owners apart is "
            "left out, and is not in the ±"
        )
    without = len(known.sizes) - unlike.seen
    if without > 0:
        told.append(f"{without} owners without a public row of their own are as all together")
    return tuple(told)


def _last(known: Known) -> tuple[str, ...]:
    """Say what the last rows of a table may be, and what they are for all to see."""
    told = []
    values = np.unique(known.targets[~np.isnan(known.targets)])
    if len(values) == 1:
        told.append(
            f"the {number(len(known.targets))} public rows have one target alone: what leads to "
            "another one is not in them, and ψ and errors are those of rows with that one"
        )
    if known.last:
        told.append(
            "the public rows are the last of the table: where it stands in an order (of time, of "
            "classes), owners' rows are of other times or classes, which is not in the ±; rows "
            "drawn at random into a file of their own (data.public_path) would be of all"
        )
    return tuple(told)
