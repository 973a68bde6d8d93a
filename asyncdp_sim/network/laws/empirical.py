"""The law of durations that were measured."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.network.laws.kind import DrawnLaw
from asyncdp_sim.network.table_file import (
    LONGEST,
    FromFile,
    by_line,
    columns_of,
    digest_of,
    time_of,
)
from asyncdp_sim.spec.base import Duration, Positive, Several, trait
from asyncdp_sim.spec.validation import show

KINDS = "allowed is a CSV (UTF-8) or .parquet with a column of durations"


class Empirical(FromFile, DrawnLaw):
    """Drawn with replacement from durations (each ≥ 0): a list, or a column of a file."""

    memoryless = False
    listed = True
    durations_measured: ClassVar[tuple[float, ...]] = trait(
        lambda self: self._measured.durations if self.values is None else self.values
    )
    least = trait(lambda self: min(self.durations_measured))

    kind: Literal["empirical"] = "empirical"
    values: Several[Duration] | None = None
    path: str | None = None
    column: str | None = None
    unit: Positive | None = None

    @override
    def own_faults(self) -> Iterator[Fault]:
        if (self.values is None) == (self.path is None):
            shown = "nothing" if self.values is None else "beside path"
            yield Fault("values", shown, "allowed is either values, or path and column")
        elif self.path is None:
            for name in ("column", "unit"):
                if getattr(self, name) is not None:
                    yield Fault(name, show(getattr(self, name)), "allowed only with path")
        elif self.column is None:
            rule = "allowed is the name of the column of path that holds the durations"
            yield Fault("column", "nothing", rule)
        else:
            yield from self._measured.wrong

    @override
    def content_digest(self) -> str:
        if self._measured.sha256 is None:
            raise SpecError(self._measured.wrong)
        return self._measured.sha256

    @cached_property
    def _measured(self) -> "_Measured":
        return _read(str(self.path), str(self.column), self.unit or 1.0)

    @property
    @override
    def mean(self) -> float:
        return fsum(self.durations_measured) / len(self.durations_measured)

    @property
    @override
    def central_moments(self) -> tuple[float, float]:
        mean, values = self.mean, self.durations_measured
        squares, cubes = (fsum((v - mean) ** power for v in values) for power in (2, 3))
        return squares / len(values), cubes / len(values)

    @override
    def biased(self, generator: np.random.Generator) -> float:
        values = self.durations_measured
        at = float(generator.random()) * fsum(values)
        reached = 0.0
        for value in values:
            reached += value
            if at < reached:
                return value
        return values[-1]

    @override
    def draw(self, generator: np.random.Generator, size: int) -> Array:
        values = self._drawn_from
        return values[generator.integers(len(values), size=size)]

    @cached_property
    def _drawn_from(self) -> Array:
        return np.asarray(self.durations_measured)


@dataclass(frozen=True)
class _Measured:
    """A file that was read: the digest of its bytes, if it could be, durations, and faults."""

    sha256: str | None
    durations: tuple[float, ...] = ()
    wrong: tuple[Fault, ...] = ()


def _read(path: str, column: str, unit: float) -> _Measured:
    name = Path(path).name
    try:
        columns = columns_of(path, (column,), "path", KINDS)
    except SpecError as error:
        return _Measured(digest_of(path), wrong=error.faults)
    wrong, durations = list(columns.wrong), []
    rule = f"allowed is a number from 0 to {LONGEST / unit:g} in {column!r}"
    for line, text in zip(columns.lines, columns.cells[column], strict=True):
        if text in ("", "nan"):
            continue
        value = time_of(text)
        if value is None or value * unit > LONGEST:
            place = f"{name}, {columns.place} {line}"
            wrong.append((line, Fault("path", f"{show(text)} ({place})", rule)))
        else:
            durations.append(value * unit)
    if len(durations) == 0 and len(wrong) == 0:
        wrong.append((1, Fault("path", f"no number in {column!r} ({name})", KINDS)))
    return _Measured(columns.sha256, tuple(durations), tuple(by_line(wrong, name)))
