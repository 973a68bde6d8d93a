"""Algorithm 1 on quadratic losses, for cells stacked on the replicates, in NumPy.

What does not depend on the models is worked out for a block of updates at once. Every operation
and its order are those of :class:`GossipSteps`, :class:`Quadratic` and the mechanisms: so are the
bits, of this loop and of its compiled twin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Array, GossipState, GossipSteps, Indices
from asyncdp_sim.learning.objectives import Quadratic

Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True, eq=False)
class Block:
    """Arrays that are the same for all cells, over b updates.

    Attributes
    ----------
    owners : array of int (R, b)
        Whose answers, from 0.
    rows : array (R, b, p)
        What was drawn for them.
    live : array of int (R,)
        How many of the updates the replicate has.
    """

    owners: Indices
    rows: Array
    live: Indices


@dataclass(frozen=True, eq=False)
class Stack:
    """Cells side by side: numbers of C cells with N owners each, and their models.

    Attributes
    ----------
    quadratics : sequence of Quadratic
        The different ones, G ≤ C.
    of : array of int (C,)
        Which is whose.
    scale, step, shrink_copy : array (C, N)
    shrink_central, bound : array (C,)
        ``bound`` is infinite where Θ is the whole space.
    central, copies : array (C, R, p), array (C, R, N, p)
        The models, advanced in place.
    clipped : array of int (C, R)
        Updates in which a projection was active, counted in place.
    """

    quadratics: Sequence[Quadratic]
    of: Indices
    scale: Array
    step: Array
    shrink_copy: Array
    shrink_central: Array
    bound: Array
    central: Array
    copies: Array
    clipped: Indices

    @classmethod
    def of_cells(
        cls,
        steps: Sequence[GossipSteps],
        quadratics: Sequence[Quadratic],
        scales: Sequence[Array],
        states: Sequence[GossipState],
    ) -> "Stack":
        """Put cells side by side."""
        known = {id(quadratic): quadratic for quadratic in quadratics}
        places = {name: place for place, name in enumerate(known)}
        n_owners = steps[0].n_owners
        bounds = [np.inf if s.theta_max is None else s.theta_max for s in steps]
        return cls(
            quadratics=list(known.values()),
            of=np.array([places[id(quadratic)] for quadratic in quadratics]),
            scale=np.stack(scales),
            step=np.stack([s.step for s in steps]),
            shrink_copy=np.stack([np.broadcast_to(s.shrink_copy, n_owners) for s in steps]),
            shrink_central=np.array([s.shrink_central for s in steps]),
            bound=np.array(bounds),
            central=_stacked([state.central for state in states]),
            copies=_stacked([state.copies for state in states]),
            clipped=_stacked([state.clipped for state in states]),
        )

    def part(self, some: slice) -> "Stack":
        """Return a view of some replicates."""
        return replace(
            self,
            central=self.central[:, some],
            copies=self.copies[:, some],
            clipped=self.clipped[:, some],
        )


class Advance(Protocol):
    """Makes a block of updates; see :class:`Loop`."""

    def __call__(self, stack: Stack, block: Block, *, keep: bool) -> tuple[Array, Array]:
        """Return θ_L, and where they are kept the copies that moved, after each update."""


@dataclass(frozen=True, eq=False)
class Loop:
    """A way to make updates, and how many at a time its arrays fit a processor's cache for.

    Attributes
    ----------
    advance : callable
        Makes a block of updates of a stack; returns θ_L after each, shape (C, R, b, p), which past
        a replicate's end is not defined, and if asked to ``keep`` them the owners' copies, too.
    rows : int
        Replicates of all cells at most; those of one cell are taken in parts.
    numbers : int
        In an array of a block at most, unless one update has more.
    """

    advance: Advance
    rows: int
    numbers: int


def advance(stack: Stack, block: Block, *, keep: bool) -> tuple[Array, Array]:
    """Make a block of updates, one of all rows at a time; see :class:`Loop`."""
    cells, replicates, n_owners, p = stack.copies.shape
    count, rows = block.owners.shape[1], cells * replicates
    cell, owners = np.repeat(np.arange(cells), replicates), block.owners.T
    several = np.tile(owners, cells)
    places = several + np.arange(rows) * n_owners
    gram, moment = _second_moments(stack.quadratics)
    chosen = several + stack.of[cell] * n_owners
    moments = moment.take(chosen, axis=0)
    noises = np.empty((count, cells, replicates, p))
    np.multiply(block.rows.transpose(1, 0, 2)[:, None], _each(stack.scale, owners), out=noises)
    noise = noises.reshape(count, rows, p)
    steps = _by_row(_each(stack.step, owners), count)
    shrink_copy = _by_row(_each(stack.shrink_copy, owners), count)
    shrink_central, bound = stack.shrink_central[cell, None], stack.bound[cell, None]
    if (shrink_central == shrink_central[0]).all():
        shrink_central = shrink_central[:1]
    shrinks = bool((np.abs(stack.shrink_central) <= 1).all())
    inside = 0.99 * min(float(stack.bound.min()), 1e150) ** 2 if shrinks else -1.0
    copies = stack.copies.reshape(rows * n_owners, p)
    central = stack.central.reshape(rows, p)
    went = np.empty((count, rows, p))
    kept = np.empty((count if keep else 0, rows, p))
    outside = np.zeros((count, rows), dtype=np.bool_)
    lines, line, terms = gram.reshape(-1, p), p * chosen, np.empty((p, rows, p))
    among = np.arange(p)[:, None]
    points, moved, answers = (np.empty((rows, p)) for _ in range(3))
    # A model as one thing of 8p bytes: copied at once, and not number by number.
    whole, whole_moved = (x.view(f"V{8 * p}")[:, 0] for x in (copies, moved))
    columns, flat = points.T[:, :, None], moved.reshape(-1)
    for k, (place, whose, r, w, step, shrink, to) in enumerate(
        zip(places, line, moments, noise, steps, shrink_copy, went, strict=True)
    ):
        copies.take(place, axis=0, out=points, mode="clip")
        points += central
        points *= 0.5
        lines.take(among + whose, axis=0, out=terms, mode="clip")
        np.multiply(terms, columns, out=terms)
        np.add.reduce(terms, axis=0, out=answers)
        answers -= r
        answers *= 2
        answers += w
        answers *= step
        np.multiply(points, shrink, out=moved)
        moved -= answers
        central = np.multiply(points, shrink_central, out=to)
        if not flat.dot(flat) <= inside:  # a cheap sign that some model may be outside Θ
            beyond = (np.abs(moved) > bound).any(axis=1) | (np.abs(central) > bound).any(axis=1)
            if beyond.any():
                outside[k] = beyond
                np.clip(moved, -bound, bound, out=moved)
                np.clip(central, -bound, bound, out=central)
        whole[place] = whole_moved
        if keep:
            kept[k] = moved
    stack.central[...] = central.reshape(stack.central.shape)
    outside &= np.arange(count)[:, None] < np.tile(block.live, cells)
    stack.clipped[...] += outside.sum(axis=0).reshape(cells, replicates)
    found = (x.reshape(-1, cells, replicates, p).transpose(1, 2, 0, 3) for x in (went, kept))
    return next(found), next(found)


LOOP = Loop(advance, rows=256, numbers=2**18)


def _stacked(arrays: Sequence[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    """Return arrays on a new first axis, without a copy where there is one."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def _each(values: Array, owners: Indices) -> Array:
    """Return cells' (C, N) values for owners (b, R), (b, C, R, 1); one number if all are equal."""
    if (values == values[0, 0]).all():
        return values[:1, :1, None, None]
    return values[:, owners].transpose(1, 0, 2)[..., None]


def _by_row(values: Array, count: int) -> Array:
    """Return values (b, C, R, 1) as (b, C·R, 1)."""
    rows = values.reshape(len(values), -1, 1)
    return np.broadcast_to(rows, (count, *rows.shape[1:]))


def _second_moments(quadratics: Sequence[Quadratic]) -> tuple[Array, Array]:
    """Return all C_i and all r_i, those of one cell after those of another."""
    if len(quadratics) == 1:
        return quadratics[0].gram, quadratics[0].moment
    gram = np.concatenate([quadratic.gram for quadratic in quadratics])
    return gram, np.concatenate([quadratic.moment for quadratic in quadratics])
