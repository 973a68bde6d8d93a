"""Uncertainty of a measure of a sweep: its replicates drawn again, the same in all cells."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.figures.sweep_figure import psi_of_replicates
from asyncdp_sim.results import Result, Sweep

Columns = tuple[npt.NDArray[Any], ...]
DRAWS = 40
"""Times that replicates are drawn again: a standard error to a ninth of itself."""
SEED = 20


@dataclass(frozen=True)
class Held(Result):
    """A result whose columns are read once.

    Attributes
    ----------
    known : dict
        Columns by table and name, as far as they have been read; those of the curve at the last
        record of every replicate under the table "".
    """

    known: dict[tuple[str, str], npt.NDArray[Any]] = field(default_factory=dict, compare=False)

    def last(self, *wanted: str) -> Columns:
        """Return columns of the curve at the last record of every replicate, shape (R,) each."""
        return self._once(super().last, "", wanted)

    def columns(self, name: str, *wanted: str) -> Columns:
        """Return columns of a table as arrays."""
        return self._once(partial(super().columns, name), name, wanted)

    def _once(self, read: Callable[..., Columns], name: str, wanted: Sequence[str]) -> Columns:
        missing = [column for column in wanted if (name, column) not in self.known]
        if len(missing) > 0:
            keys = [(name, column) for column in missing]
            self.known.update(zip(keys, read(*missing), strict=True))
        return tuple(self.known[name, column] for column in wanted)


@dataclass(frozen=True)
class Redrawn(Result):
    """A result as if these had been its replicates; none of a table's rows is read again.

    Attributes
    ----------
    origin : Result
    places : tuple of int
        Of the replicates in the origin's, one for each here.
    """

    origin: Result
    places: tuple[int, ...]

    @property
    def summary(self) -> dict[str, Any]:
        """The origin's, with ψ at the end of these replicates."""
        return {**self.origin.summary, "psi_final": self._spread}

    @cached_property
    def _spread(self) -> dict[str, float]:
        psi = psi_of_replicates(self)
        low, middle, high = np.quantile(psi, (0.25, 0.5, 0.75))
        spread = {"mean": psi.mean(), "median": middle, "q25": low, "q75": high}
        return {name: float(value) for name, value in spread.items()}

    def last(self, *wanted: str) -> Columns:
        """Return columns of the curve at the last record of every replicate, in the order drawn."""
        (replicate,) = self.origin.last("replicate")
        rows = np.searchsorted(replicate, self._numbers)
        found = self.origin.last(*wanted)
        return _taken(found, wanted, rows, np.arange(len(rows)))

    def columns(self, name: str, *wanted: str) -> Columns:
        """Return columns of a table, replicates in the order drawn and numbered anew."""
        if name == "optimum":  # of all replicates
            return self.origin.columns(name, *wanted)
        (replicate,), numbers = self.origin.columns(name, "replicate"), self._numbers
        first, last = (np.searchsorted(replicate, numbers, side=side) for side in ("left", "right"))
        rows = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)])
        again = np.repeat(np.arange(len(first)), last - first)
        return _taken(self.origin.columns(name, *wanted), wanted, rows, again)

    @cached_property
    def _numbers(self) -> Ints:
        """The numbers in the origin of the replicates here."""
        return np.array(self.origin.replicates)[list(self.places)]


def _taken(found: Columns, wanted: Sequence[str], rows: Ints, replicate: Ints) -> Columns:
    """Return these rows of columns, with replicates numbered anew."""
    pairs = zip(wanted, found, strict=True)
    return tuple(replicate if name == "replicate" else values[rows] for name, values in pairs)


def places(result: Result) -> list[int]:
    """Return which of the replicates that were run a result has, by their places."""
    if isinstance(result, Redrawn):
        return list(result.places)
    return list(range(len(replicates(result))))


def held(sweep: Sweep) -> Sweep:
    """Return a sweep whose tables are read once however often they are asked for."""
    return _with(sweep, lambda result: Held(result.directory, result.manifest))


def redrawn(sweep: Sweep, places: Sequence[int]) -> Sweep:
    """Return a sweep as if every cell had these of its replicates."""
    chosen = tuple(places)
    return _with(sweep, lambda each: Redrawn(each.directory, each.manifest, each, chosen))


class Redraws:
    """The redraws of sweeps, which are the same for all measures: each is made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[int, ...]], tuple[Sweep, list[Sweep]]] = {}

    def of(self, swept: Sequence[Sweep]) -> Iterator[tuple[Sweep, ...]]:
        """Yield sweeps side by side as if their cells had had other replicates."""
        counts = tuple(sorted({_count(sweep) for sweep in swept}))
        return zip(*(self._again(sweep, counts) for sweep in swept), strict=True)

    def _again(self, sweep: Sweep, counts: tuple[int, ...]) -> list[Sweep]:
        name = (id(sweep), counts)
        if name not in self._known:
            again = [redrawn(sweep, each[_count(sweep)]) for each in _drawn(counts)]
            self._known[name] = (sweep, again)  # as long as it is held, no other has its id
        return self._known[name][1]


@cache
def _drawn(counts: tuple[int, ...]) -> tuple[dict[int, list[int]], ...]:
    """Return the replicates of each redraw, by how many there are."""
    generator = np.random.default_rng(SEED)
    return tuple(
        {count: generator.integers(0, count, count).tolist() for count in counts}
        for _ in range(DRAWS)
    )


def standard_error(
    measure: Callable[..., float], swept: Sequence[Sweep], redraws: Redraws | None = None
) -> float | None:
    """Return the standard error of a measure over replicates (bootstrap, Efron 1979).

    Replicate r shares its noise and its owners' order between cells, and of variants that have as
    many: so do its redraws. None of
    a measure that is the same whichever replicates are drawn, of a single replicate, and where a
    redraw is not finite.
    """
    if min(map(_count, swept)) < 2:
        return None
    again = Redraws() if redraws is None else redraws
    known = np.array([measure(*sweeps) for sweeps in again.of(swept)])
    if not np.isfinite(known).all() or np.ptp(known) == 0:
        return None
    return float(known.std(ddof=1))


def replicates(result: Result) -> list[int]:
    """Return a result's replicates; of a cell put together by hand there may be none."""
    return [int(each) for each in result.manifest.get("replicates", [])]


def _count(sweep: Sweep) -> int:
    return len(replicates(sweep.cells[0].result))


def _with(sweep: Sweep, change: Callable[[Result], Result]) -> Sweep:
    cells = tuple(replace(cell, result=change(cell.result)) for cell in sweep.cells)
    return replace(sweep, cells=cells)
