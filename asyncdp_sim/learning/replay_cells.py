"""Cells of a sweep as further rows of one fold: their numbers by row, and their owners' replies.

A number that all cells have alike stays a number. One that differs becomes a column, with a row for
each replicate of each cell (:func:`~asyncdp_sim.learning.algorithms.steps.of_rows`). A row is thus
computed with the very operations of its cell alone.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.learning.algorithms import Algorithm, Array, CellRows
from asyncdp_sim.learning.objectives import LinearRecords
from asyncdp_sim.learning.reply import AnswerModel, AnswerNoise
from asyncdp_sim.learning.watch import NUMBERS, GradientMonitor


@dataclass(frozen=True, eq=False)
class CellTask:
    """A sweep's cell that is to learn over traces.

    Attributes
    ----------
    steps, reply
        The algorithm, and the owners' answers.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    watch : GradientMonitor, optional
        Is shown the queries that were answered.
    """

    steps: Algorithm
    reply: AnswerModel
    record_every: int
    watch: GradientMonitor | None = None

    def size(self, replicates: int, horizon: int) -> int:
        """Return the bytes of its path, its models, second moments, and what is watched."""
        p, n = self.steps.n_features, self.reply.noise.scale.size
        numbers = p * (replicates * (horizon // self.record_every + 2 + n) + n * (p + 1))
        return 8 * (numbers + (0 if self.watch is None else NUMBERS))


def alike(cell: CellTask) -> Hashable:
    """Return what cells must have in common to be rows of one fold; None where one stays alone."""
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
    """Return cells that are :func:`alike` as one, whose owners stand at places cN + i."""
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

    def parts(name: str) -> Any:
        values = [getattr(reply, name) for reply in replies]
        return None if values[0] is None else CellParts(values, rows.owners, sizes)

    bounds = [reply.bound for reply in replies if reply.bound is not None]
    reply = AnswerModel(
        gradients=parts("gradients"),
        noise=noise,
        sample=parts("sample"),
        allotment=parts("allotment"),
        copy=first.reply.copy,
        whole=first.reply.whole,
        bound=_by_row(bounds, bounds[0].by_row, rows.replicates) if len(bounds) > 0 else None,
    )
    return CellTask(steps, reply, first.record_every)


class CellParts:
    """A part of cells' replies: each row is asked of its own cell's part, by its own owner.

    Records of linear models that differ by cell are those of further owners: they are asked once.

    Parameters
    ----------
    parts : sequence
        One for each cell; cells may share one.
    n_owners : int
        N, in every cell.
    sizes : sequence of int
        How many numbers the noise of each cell holds.
    """

    def __init__(self, parts: Sequence[Any], n_owners: int, sizes: Sequence[int]) -> None:
        self._parts = list({id(part): part for part in parts}.values())
        numbers = {id(part): number for number, part in enumerate(self._parts)}
        self._which = np.array([numbers[id(part)] for part in parts])
        self._n_owners = n_owners
        self._of_cell = np.zeros_like(self._which)
        joined = LinearRecords.joined(self._parts) if len(self._parts) > 1 else None
        if joined is not None:
            self._parts, self._of_cell = [joined], n_owners * self._which
        self._firsts = np.cumsum(sizes) - np.asarray(sizes)

    @property
    def stream(self) -> str:
        """The stream of samples, the same for all."""
        return str(self._parts[0].stream)

    @property
    def size(self) -> int:
        """How many numbers a sample takes, as many in all cells."""
        return int(self._parts[0].size)

    def gradient(self, places: Ints, *given: Array) -> Array:
        """Return gradients, those of samples where draws are given, shape (r, p)."""
        return np.asarray(self._each(lambda part: part.gradient, places, *given))

    def places(self, places: Ints, numbers: Ints) -> Ints:
        """Return the places of answers in the noise of all cells, shape (r,)."""
        within_cell = self._each(lambda part: part.places, places, numbers)
        return np.asarray(within_cell + self._firsts[places // self._n_owners])

    def _each(self, ask: Callable[[Any], Callable[..., Any]], places: Ints, *given: Any) -> Any:
        cells, owners = np.divmod(places, self._n_owners)
        if len(self._parts) == 1:
            return ask(self._parts[0])(owners + self._of_cell[cells], *given)
        which, rows, results = self._which[cells], [], []
        for number, part in enumerate(self._parts):
            mine = np.flatnonzero(which == number)
            if len(mine) > 0:
                rows.append(mine)
                results.append(ask(part)(owners[mine], *(argument[mine] for argument in given)))
        return np.concatenate(results)[np.argsort(np.concatenate(rows))]


def _common(held: Any, free: Sequence[str]) -> tuple[Hashable, ...]:
    """Return what of a dataclass is the same in all cells: all but its free numbers."""
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
    """Return a dataclass with the free numbers of its parts by row, where they differ."""
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
