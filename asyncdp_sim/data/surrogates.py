"""Rows in place of private ones, drawn from public rows.

Owners differ as far as slopes of public rows show beyond chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.splits import OwnerSplit, SplitKind, TableToSplit, half_of
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.tables.rows import Encoded

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public facts of a table: its public rows, and how many rows each owner has.

    Attributes
    ----------
    features, targets : array
        Of the public rows, (M, p) and (M,), as models take them; targets NaN where there is none.
    like : array of int (M,)
        The owner, from 0, whose rows each public row is like; −1 where it is nobody's more than
        others'.
    sizes : tuple of int
        Rows that each owner has.
    names : tuple of str
        Of the owners; without members where they have none.
    others : int
        Rows of no owner that is known.
    last : bool
        Whether the public rows are the last of the table that the owners' rows are in.
    persons : array of int (M,)
        The person of each public row, below M; where nothing names persons, each is its own.
    """

    features: Array
    targets: Array
    like: Ints
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    others: int
    last: bool
    persons: Ints


@dataclass(frozen=True, eq=False)
class PublicTable:
    """Encoded public rows, and what is public about the owners.

    Attributes
    ----------
    known : PublicKnowledge
    rows : Encoded
        The public rows before any projection.
    projection : Projection
        What made features of them.
    """

    known: PublicKnowledge
    rows: Encoded
    projection: Projection

    def dataset(self, rows: Sequence[Ints]) -> Dataset:
        """Return public rows as owners' records.

        Parameters
        ----------
        rows : sequence of array
            Of each owner: which of the public rows, from 0.
        """
        targets = self.projection.targets(self.rows.target)
        features = self.projection.features(self.rows.matrix)
        return Dataset(
            features=tuple(features[places] for places in rows),
            targets=tuple(targets[places] for places in rows),
            columns=self.rows.columns,
            public_rows_of_owner=(0,) * len(rows),
            real=False,
            rows=tuple(rows),
            owner_names=self.known.names,
            public_targets=targets,
            table=self.rows,
            projection=self.projection,
            persons=self.known.persons,
        )


def apart(distance: Array, noise: Array, weight: Array, size: int) -> tuple[float, float, Array]:
    """Return how far owners are from all together, and what share of what is seen is their own.

    What is seen of owner i, less what is seen of all, is its own way, of variance τ², plus chance
    of variance v_i. τ² is as the squared distances are above what chance makes them; and
    λ_i = √(τ²/(τ² + v_i)) leaves each owner as far from the others as owners are, where the usual
    τ²/(τ² + v_i), the best guess of each, would leave them too near one another.

    Parameters
    ----------
    distance : array (K,)
        ‖seen of i − seen of all‖².
    noise : array (K,)
        v_i, the variance of what is seen of i if nothing was its own.
    weight : array (K,)
        w_i ≥ 0, Σ w_i = 1: all together is the mean by these weights.
    size : int
        Numbers that are seen of each owner, of about equal variance.

    Returns
    -------
    float
        τ², the variance between owners: the mean of (own − all)² minus sampling error, at least 0.
    float
        Half-width of an approximate 95 % interval of τ² for these owners.
    array (K,)
        λ_i in [0, 1): share of owner i's measured difference that is not sampling error.

    Notes
    -----
    T. A. Louis, Estimating a population of parameter values using Bayes and empirical Bayes
    methods, Journal of the American Statistical Association 79 (1984), 393–398.
    """
    left, shares = 1 - float(weight @ weight), np.zeros(len(weight))
    if left <= 0:
        return 0.0, 0.0, shares
    chance = (1 - 2 * weight) * noise + float(np.square(weight) @ noise)
    variance = max(0.0, float(weight @ (distance - chance)) / left)
    # Σ w_i‖·‖² of Gaussian numbers, each of variance v_i/size, about own ways of τ²/size
    doubt = np.square(weight) @ (2 * np.square(noise) + 4 * noise * variance) / size
    half = 1.96 * float(np.sqrt(doubt)) / left
    shares = np.sqrt(variance / (variance + noise)) if variance > 0 else shares
    return variance, half, shares


@dataclass(frozen=True, eq=False)
class Unlikeness:
    """The distances between owners, by the public rows.

    Attributes
    ----------
    variance, half_width : float
        τ² and its half-width, as of :func:`apart`, over f(θ*) of the least squares f.
    shares : array (N,)
        λ_i in [0, 1) of each owner.
    seen : array of int
        Owners, from 0, whom public rows are like; the shares of the others are 0.
    """

    variance: float
    half_width: float
    shares: Array
    seen: Ints


def require_targets(known: PublicKnowledge) -> None:
    """Refuse public rows whose targets are all 0, as they are taken: nothing is learned of them.

    Raises
    ------
    DataError
        On ``data.public_records``.
    """
    values = np.unique(known.targets[~np.isnan(known.targets)])
    if len(values) != 1 or values[0] != 0:
        return
    problem = f"{len(known.targets)}, all with one target"
    rule = "allowed are public rows with at least two targets"
    if known.last:
        rule += (
            ": these are the last rows of the table: if it is sorted (by time, by class), owners' "
            "rows have other times or classes; rows drawn at random into a separate file "
            "(data.public_path) would be of all"
        )
    raise DataError([Fault("data.public_records", problem, rule)])


def unlike(known: PublicKnowledge, rows: Ints) -> Unlikeness:
    """Measure owners' slopes x(y − xᵀθ*) at the least squares of all, in the metric of H⁻¹.

    It is of some public rows. Those of one person are alike, so that they show less of an owner
    than rows of as many persons.
    """
    shares = np.zeros(len(known.sizes))
    rows = rows[~np.isnan(known.targets[rows])]
    x, y = known.features[rows], known.targets[rows]
    of_owners = known.like[rows] >= 0
    owners, whose = known.like[rows][of_owners], known.persons[rows][of_owners]
    counts = np.bincount(owners, minlength=len(shares))
    seen, total = np.flatnonzero(counts), len(owners)
    named, group = np.unique(owners * len(known.persons) + whose, return_inverse=True)
    if len(seen) < 2 or len(named) <= len(seen):
        return Unlikeness(0.0, np.inf, shares, seen)
    inverse = np.linalg.pinv(x.T @ x / len(y), hermitian=True)
    error = y - x @ (inverse @ (x.T @ y / len(y)))
    slopes = (x * error[:, None])[of_owners]
    slopes = slopes - slopes.mean(axis=0)
    sums = np.zeros((len(shares), x.shape[1]))
    np.add.at(sums, owners, slopes)
    own = sums[seen] / counts[seen, None]
    distance = np.einsum("ia,ab,ib->i", own, inverse, own)
    among_all = float(np.einsum("ja,ab,jb->", slopes, inverse, slopes))
    within = max(0.0, among_all - float(counts[seen] @ distance)) / (total - len(seen))
    if len(named) < total:
        of_persons = np.zeros((len(named), x.shape[1]))
        np.add.at(of_persons, group, slopes - (sums / np.maximum(counts, 1)[:, None])[owners])
        within = float(np.einsum("ga,ab,gb->", of_persons, inverse, of_persons)) / total
        within *= len(named) / (len(named) - len(seen))
    variance, half, shares[seen] = apart(
        distance, within / counts[seen], counts[seen] / total, x.shape[1]
    )
    least = float(np.mean(np.square(error)))
    scale = 1 / least if least > 0 else 0.0
    return Unlikeness(variance * scale, half * scale, shares, seen)


class PublicRows(Variant):
    """Every substitute row is drawn from the public rows, with replacement.

    If the public rows identify owners (by name, or by the order of a table with consecutive
    blocks), a row of owner i is one of its own public rows with probability λ_i, and otherwise any
    public row. λ_i reproduces the differences between owners that the public rows show beyond
    chance, measured by the gradients x(y − xᵀθ) at the least-squares solution of all public rows.
    It is 0 if they show none.

    Each redraw takes a random half of the public rows. In the root mean square, a forecast from a
    half differs from the forecast from all public rows as much as the latter differs from one with
    infinitely many. Owners' rows are then drawn again from that half, because the substitute rows
    differ from an owner's private rows.
    """

    kind: Literal["public-rows"] = "public-rows"
    redrawn: Annotated[int, Field(ge=0)] = 0

    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> list[tuple[Array, Array]]:
        """Return features (n_i, p) and targets (n_i,) in place of each owner's.

        The last ones are those of rows of no known owner. Each redraw has generators of its own.

        Raises
        ------
        DataError
            On ``data.public_records``, where all public rows have one target.
        """
        require_targets(known)
        again = () if self.redrawn == 0 else (self.redrawn,)
        rows = np.arange(len(known.targets))
        if self.redrawn > 0:
            generator = streams.generator("data", "stand-in", "half", *again)
            rows = np.sort(half_of(rows, known.persons, generator)[0])
        like, unlikeness = known.like[rows], unlike(known, rows)
        drawn = []
        for i, size in enumerate(known.sizes):
            generator = streams.generator("data", "owner", i + 1, "stand-in", *again)
            places = generator.integers(len(rows), size=size)
            own, share = np.flatnonzero(like == i), generator.random(size) < unlikeness.shares[i]
            if len(own) > 0:
                places = np.where(share, own[generator.integers(len(own), size=size)], places)
            drawn.append(rows[places])
        generator = streams.generator("data", "stand-in", "others", *again)
        drawn.append(rows[generator.integers(len(rows), size=known.others)])
        return [(known.features[places], known.targets[places]) for places in drawn]


StandIn = Annotated[PublicRows, FAMILY_BY_NAME]
"""Every kind of substitute rows; a new one is added here."""


@dataclass(frozen=True, eq=False)
class Ground:
    """The public data from which substitutes for a table's private rows are drawn.

    Attributes
    ----------
    split : SplitKind
        How rows are given to owners, and whose rows public ones are like.
    frame : DataFrame
        All rows, public ones last; of the private ones only the column that says whose they are
        is looked at.
    first : int
        The first public row, from 0: so many are private.
    public : Encoded
        The public rows.
    projection : Projection
        What makes features of them.
    apart : bool
        Whether public rows are in a file of their own.
    last : bool
        Whether they are the last rows of the table.
    persons : array of int
        The person of each public row.
    """

    split: SplitKind
    frame: "pd.DataFrame"
    first: int
    public: Encoded
    projection: Projection
    apart: bool
    last: bool
    persons: Ints

    def known(self, asked: TableToSplit) -> tuple[PublicKnowledge, list[Ints]]:
        """Return what is public about the table, and which of its private rows are whose."""
        features = self.projection.features(self.public.matrix)
        targets = self.projection.targets(self.public.target)
        whose = OwnerSplit([]) if self.split.by_target else self.split.owned(asked)
        rows = [owner_rows[owner_rows < self.first] for owner_rows in whose.rows]
        like = self.split.likened(whose, asked.values_of, self.first, len(targets), self.apart)
        sizes = tuple(map(len, rows))
        others, last = self.first - sum(sizes), self.last and len(targets) > 0
        public = features, targets, like
        return PublicKnowledge(*public, sizes, whose.names, others, last, self.persons), rows

    def table(self, stand_in: PublicRows, asked: TableToSplit, streams: Streams | Scope) -> Encoded:
        """Return a table of features, public rows last, with substitutes for the private ones."""
        knowledge, rows = self.known(asked)
        total = self.first + len(knowledge.targets)
        x, y = np.empty((total, knowledge.features.shape[1]), order="F"), np.empty(total)
        x[self.first :], y[self.first :] = knowledge.features, knowledge.targets
        others = np.setdiff1d(np.arange(self.first), np.concatenate([np.arange(0), *rows]))
        drawn = stand_in.drawn(knowledge, streams)
        for places, (own_x, own_y) in zip([*rows, others], drawn, strict=True):
            x[places], y[places] = own_x, own_y
        return replace(self.public, matrix=x, target=y)
