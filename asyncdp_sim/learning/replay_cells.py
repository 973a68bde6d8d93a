"""Cells of a sweep as further rows of one fold: their numbers by row, and their owners' replies.

A number that is equal in all cells stays a number. One that differs becomes a column, with a row
for each replicate of each cell (:func:`~asyncdp_sim.learning.algorithms.steps.rows_column`). So a
row is computed by the same operations as if its cell were alone.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.learning.algorithms import Algorithm, CellRows
from asyncdp_sim.learning.answers import AnswerModel, AnswerNoise
from asyncdp_sim.learning.objectives import LinearRecords
from asyncdp_sim.learning.recording import NUMBERS, GradientMonitor, ModelRecorder


@dataclass(frozen=True, eq=False)
class CellTask:
    """A sweep's cell that is to learn over traces.

    Attributes
    ----------
    steps, reply
        The algorithm, and how owners answer.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    watch : GradientMonitor, optional
        Receives the queries that were answered.
    """

    steps: Algorithm
    reply: AnswerModel
    record_every: int
    watch: GradientMonitor | None = None

    def size(self, replicates: int, horizon: int) -> int:
        """Return the bytes of its trajectory, state, second moments and waiting queries."""
        p, n = self.steps.n_features, self.reply.noise.scale.size
        numbers = p * (replicates * (horizon // self.record_every + 2 + n) + n * (p + 1))
        return 8 * (numbers + (0 if self.watch is None else NUMBERS))


def alike(cell: CellTask) -> Hashable:
    """Return a key that is equal for cells that can be rows of one fold; None for a cell alone."""
    steps, reply = cell.steps, cell.reply
    noise, sample = reply.noise, reply.sample
    if not (is_dataclass(steps) and is_dataclass(noise)):
        return None
    if any(is_dataclass(getattr(noise, field.name)) for field in fields(noise)):
        return None
    common = (
        _common(steps, steps.by_row),
        _common(noise, _tables(noise)),
        None if sample is None else (type(sample), sample.stream, sample.size),
        (reply.allotment is None, reply.copy, reply.whole),
        None if reply.bound is None else _common(reply.bound, reply.bound.by_row),
    )
    try:
        hash(common)
    except TypeError:
        return None
    return common


def together(cells: Sequence[CellTask], rows: CellRows) -> CellTask:
    """Return cells that are :func:`alike` as one cell, whose owners are at places cN + i."""
    if len(cells) == 1:
        return cells[0]
    first, replies = cells[0], [cell.reply for cell in cells]
    steps = _by_row([cell.steps for cell in cells], first.steps.by_row, rows.replicates)
    noises = [reply.noise for reply in replies]
    noise = replace(
        noises[0],  # type: ignore[type-var]  # alike has asked for a dataclass
        **{
            name: np.concatenate([getattr(cell_noise, name) for cell_noise in noises])
            for name in _tables(noises[0])
        },
    )

    sizes = [len(cell_noise.scale) for cell_noise in noises]
    samples = [reply.sample for reply in replies if reply.sample is not None]
    allotments = [reply.allotment for reply in replies if reply.allotment is not None]
    bounds = [reply.bound for reply in replies if reply.bound is not None]
    reply = AnswerModel(
        gradients=CellParts([reply.gradients for reply in replies], rows.owners, sizes),
        noise=noise,
        sample=CellParts(samples, rows.owners, sizes) if len(samples) > 0 else None,
        allotment=CellParts(allotments, rows.owners, sizes) if len(allotments) > 0 else None,
        copy=first.reply.copy,
        whole=first.reply.whole,
        bound=_by_row(bounds, bounds[0].by_row, rows.replicates) if len(bounds) > 0 else None,
    )
    return CellTask(steps, reply, first.record_every)


class CellParts:
    """The gradients, samples or allotments of several cells: each row uses its own cell's.

    The records of linear models that differ between cells are taken as those of further owners, so
    that one call computes all gradients.

    Parameters
    ----------
    parts : sequence of Gradients, Sampling or Places
        One for each cell; cells may share one.
    n_owners : int
        N, in every cell.
    sizes : sequence of int
        Scales in the noise of each cell.
    """

    def __init__(self, parts: Sequence[Any], n_owners: int, sizes: Sequence[int]) -> None:
        self._parts = list({id(part): part for part in parts}.values())
        numbers = {id(part): number for number, part in enumerate(self._parts)}
        self._part_of_cell = np.array([numbers[id(part)] for part in parts])
        self._n_owners = n_owners
        self._first_owner = np.zeros_like(self._part_of_cell)
        joined = LinearRecords.joined(self._parts) if len(self._parts) > 1 else None
        if joined is not None:
            self._parts, self._first_owner = [joined], n_owners * self._part_of_cell
        self._first_scale = np.cumsum(sizes) - np.asarray(sizes)

    @property
    def stream(self) -> str:
        """Name of the stream of samples, the same in all cells."""
        return str(self._parts[0].stream)

    @property
    def size(self) -> int:
        """Random numbers of a sample, the same number in all cells."""
        return int(self._parts[0].size)

    def gradient(self, places: Ints, *given: Array) -> Array:
        """Return gradients (r, p) at the points, over samples if draws are given too."""
        shares = self._split(places)
        gradients: Array = _merged(
            shares,
            [
                part.gradient(owners, *(argument[rows] for argument in given))
                for part, owners, rows in shares
            ],
        )
        return gradients

    def places(self, places: Ints, numbers: Ints) -> Ints:
        """Return the places of answers in the noise of all cells, shape (r,)."""
        shares = self._split(places)
        within_cell = _merged(
            shares, [part.places(owners, numbers[rows]) for part, owners, rows in shares]
        )
        return np.asarray(within_cell + self._first_scale[places // self._n_owners])

    def _split(self, places: Ints) -> list[tuple[Any, Ints, Ints | slice]]:
        """Return each part with the owners that it is asked about, and their rows."""
        cells, owners = np.divmod(places, self._n_owners)
        if len(self._parts) == 1:
            return [(self._parts[0], owners + self._first_owner[cells], slice(None))]
        part_of_row = self._part_of_cell[cells]
        rows_of = [np.flatnonzero(part_of_row == number) for number in range(len(self._parts))]
        return [
            (part, owners[rows], rows)
            for part, rows in zip(self._parts, rows_of, strict=True)
            if len(rows) > 0
        ]


def _merged(shares: Sequence[tuple[Any, Ints, Ints | slice]], results: Sequence[Any]) -> Any:
    """Return the results of all shares, in the order of their rows."""
    if len(shares) == 1:
        return results[0]
    return np.concatenate(results)[np.argsort(np.concatenate([rows for *_, rows in shares]))]


def _common(held: Any, free: Sequence[str]) -> tuple[Hashable, ...]:
    """Return the fields of a dataclass that are equal in all cells: all but the ``free`` ones."""
    shared: list[Any] = [type(held)]
    for name, value in ((field.name, getattr(held, field.name)) for field in fields(held)):
        if is_dataclass(value):
            shared.append(_common(value, getattr(value, "by_row", ())))
        elif name in free:
            shared.append(value is None)
        elif isinstance(value, np.ndarray):
            shared.append((value.shape, value.dtype.str, value.tobytes()))
        else:
            shared.append(value)
    return tuple(shared)


def _by_row(parts: Sequence[Any], free: Sequence[str], replicates: int) -> Any:
    """Return one dataclass for all cells, whose ``free`` fields are by row where they differ."""
    changes: dict[str, Any] = {}
    for name in free:
        values = [getattr(part, name) for part in parts]
        if is_dataclass(values[0]):
            changes[name] = _by_row(values, getattr(values[0], "by_row", ()), replicates)
        elif not all(np.array_equal(value, values[0]) for value in values):
            rows = np.repeat(np.stack(values), replicates, axis=0)
            changes[name] = rows[:, None] if rows.ndim == 1 else rows
    return replace(parts[0], **changes)


def _tables(noise: AnswerNoise) -> list[str]:
    """Return the fields of noise that hold a number for each owner, or for each answer."""
    return [
        field.name
        for field in fields(noise)  # type: ignore[arg-type]
        if isinstance(getattr(noise, field.name), np.ndarray)
    ]


def recorders_of(cells: Sequence[CellTask], replicates: int, horizon: int) -> list[ModelRecorder]:
    """Return recorders of the models of cells: one for adjacent cells recorded equally often."""
    recorders, first = list[ModelRecorder](), 0
    for every, group in groupby(cells, key=lambda cell: cell.record_every):
        count, size = len(list(group)), cells[0].steps.n_features
        recorders.append(ModelRecorder(every, first, count, replicates, horizon, size))
        first += count * replicates
    return recorders
