"""An owner's rows as its own models see them, and the errors of predictions on them."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.decision.gain import Score

SPREAD = 1e-3
"""Share of every predicted probability that is spread evenly over the classes: no prediction is
certain, so that one surprise costs at most ln(K/SPREAD), 7.6 of two classes."""
TINY = 1e-12
"""Share of a target by which a prediction may miss it without an error."""
FEW = 10
"""Rows below which an owner fits no model of its own: it guesses a constant or takes the joint
model unadapted."""


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of one owner.

    Attributes
    ----------
    columns : array (n, c)
        The encoded columns, before any projection.
    targets : array (n,)
        Numbers, or places of classes from 0 to K − 1 in the order of the model's labels.
    classes : int
        K; 0 where targets are numbers.
    persons : array (n,)
        Whose row each is, from 0: rows of one person stay together.
    order : array (n,) or None
        Ranks in time: the latest rows judge then.
    """

    columns: Array
    targets: Array
    classes: int
    persons: Ints
    order: Array | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, places: Ints) -> "OwnRows":
        """Return some of the rows."""
        order = None if self.order is None else self.order[places]
        return replace(
            self,
            columns=self.columns[places],
            targets=self.targets[places],
            persons=self.persons[places],
            order=order,
        )

    @cached_property
    def principal(self) -> tuple[Array, Array, Array, Array, Array]:
        """The columns (n, c), centred and scaled, in r ≤ n coordinates of the space that they span.

        By a singular value decomposition: what is subtracted from each column (c,), and what it is
        divided by then (c,); the rows in these coordinates (n, r); the unit vector of each
        coordinate in the scaled columns (r, c); and singular values > 0, the norms of the columns
        of the third (r,).
        """
        x = self.columns
        centre = x.mean(axis=0)
        centred = x - centre
        scale = np.sqrt(np.mean(centred**2, axis=0))
        # The deviation of a constant column is rounding alone: it is not scaled by it.
        scale[scale <= 1e-12 * np.abs(x).max(axis=0)] = 1.0
        left, lengths, directions = np.linalg.svd(centred / scale, full_matrices=False)
        kept = lengths > 1e-10 * max(float(lengths.max(initial=0.0)), 1e-300)
        coordinates = left[:, kept] * lengths[kept]
        return centre, scale, coordinates, directions[kept], lengths[kept]

    @property
    def n_scores(self) -> int:
        """Numbers that a prediction has: K − 1, the last class being the reference, or 1."""
        return max(1, self.classes - 1)

    @property
    def trainable(self) -> bool:
        """Whether a model is fitted to them, and not the constant alone."""
        enough = len(self) >= FEW
        return enough and (self.classes == 0 or bool((self.targets != self.targets[0]).any()))

    @property
    def rarer_persons(self) -> int:
        """Persons with a row of another class than the commonest one; of numbers all persons.

        A mean log loss varies mostly by the losses of these few.
        """
        if self.classes == 0 or len(self) == 0:
            return len(np.unique(self.persons))
        commonest = np.bincount(self.targets.astype(np.int64)).argmax()
        return len(np.unique(self.persons[self.targets != commonest]))

    def constant(self) -> Array:
        """Return the best guess (S,) for all cases: the median, or the smoothed shares' log-odds.

        The share of a class with k of n rows is (k + ½)/(n + K/2).
        """
        if self.classes == 0:
            return np.array([np.median(self.targets) if len(self) > 0 else 0.0])
        counts = np.bincount(self.targets.astype(np.int64), minlength=self.classes) + 0.5
        return np.asarray(np.log(counts[:-1] / counts[-1]))

    def errors(self, z: Array) -> Array:
        """Return the errors (…, n) of predictions z (…, n, S) of these rows."""
        return errors(z, self.targets, self.classes)


def scored_by(classes: int) -> Score:
    """Return what errors are measured by."""
    return "absolute error" if classes == 0 else "log loss"


def errors(z: Array, targets: Array, classes: int) -> Array:
    """Return |y − z|, 0 where it is rounding, or −ln p_y with p spread by :data:`SPREAD`.

    Where a prediction is not finite, the error is the worst: ∞, or that of p_y = 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if classes == 0:
            distance = np.abs(z[..., 0] - targets)
            distance[distance <= TINY * np.abs(targets)] = 0.0
            return np.where(np.isnan(distance), np.inf, distance)
        if classes == 2:  # z is the log-odds of class 0 against class 1; takes half the time
            own = 1 / (1 + np.exp((2 * targets - 1) * z[..., 0]))
        else:
            chances = probabilities(z)
            places = np.broadcast_to(targets.astype(np.int64)[:, None], (*chances.shape[:-1], 1))
            own = np.take_along_axis(chances, places, axis=-1)[..., 0]
    own[~np.isfinite(z).all(axis=-1)] = 0.0
    return np.asarray(-np.log((1 - SPREAD) * own + SPREAD / classes))


def probabilities(z: Array, axis: int = -1) -> Array:
    """Return probabilities of K classes from K − 1 scores along an axis; the last class has 0."""
    z = np.moveaxis(z, axis, 0)
    whole = np.concatenate([z, np.zeros((1, *z.shape[1:]))])  # sums over a first axis are quick
    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(whole - whole.max(axis=0))
    return np.moveaxis(odds / odds.sum(axis=0), 0, axis)
