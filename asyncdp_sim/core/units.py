"""Time: integer ticks inside, model time units outside, which may have a name (``run.time_unit``).

One time unit is the mean time between two ticks of a rate-one clock; the simulation counts
10⁹ ticks in it, so that order never hangs on the rounding of a float.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints

TICKS_PER_UNIT = 10**9
LAST_TICK = 2**62
"""No run goes beyond this tick (4.6·10⁹ time units): tables hold 64-bit integers."""
LAST_UNIT = LAST_TICK / TICKS_PER_UNIT
"""The last tick in time units: a float whose product with the ticks per unit is it exactly."""


def to_ticks(units: float) -> int:
    """Return a duration or an instant in ticks, rounded to the nearest one.

    Parameters
    ----------
    units : float
        Time in model units; finite.

    Raises
    ------
    ValueError
        If ``units`` is not finite.
    """
    if not isfinite(units):
        raise ValueError(f"a time must be finite, given {units!r}")
    return round(units * TICKS_PER_UNIT)


def to_units(ticks: npt.ArrayLike) -> Array:
    """Return times in model units (float64), elementwise."""
    return np.asarray(ticks, dtype=np.int64) / TICKS_PER_UNIT


def total_units(ticks: Ints) -> float:
    """Return the sum of times in model units, which may be more ticks than 64 bits hold."""
    high, low = int((ticks >> 32).sum()), int((ticks & (2**32 - 1)).sum())
    return float((high << 32) + low) / TICKS_PER_UNIT


def block_to_ticks(units: Array) -> Ints:
    """Return a block of durations in ticks; the same rounding as :func:`to_ticks`.

    A duration beyond :data:`LAST_TICK` becomes that: no run sees its end.
    """
    ticks = np.minimum(units, LAST_UNIT)
    ticks *= TICKS_PER_UNIT
    return np.rint(ticks, out=ticks).astype(np.int64)


SECONDS = {
    "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0,
    "month": 2629800.0, "year": 31557600.0,
}  # fmt: skip
"""Of the units that durations are read in; a month is a twelfth of 365.25 days."""
_SHORT = {"s": "second", "sec": "second", "min": "minute", "h": "hour", "d": "day"}
ROUNDS = "the mean time between two ticks of an owner's clock (one round of answers)"
"""Said where a time unit has no name and all clocks tick once in it."""


def duration(text: str) -> tuple[float, str]:
    """Return the number and the unit of a duration such as "2 h", "1 day" or "1.5 weeks".

    Raises
    ------
    ValueError
        If it is none, or not > 0.
    """
    result = re.fullmatch(r"\s*(\d*\.?\d+)\s*([a-z]+)\s*", text)
    number, unit = (0.0, "") if result is None else (float(result[1]), result[2])
    unit = _SHORT.get(unit, unit.removesuffix("s"))
    if number <= 0 or unit not in SECONDS:
        units = ", ".join(SECONDS)
        raise ValueError(f'{text!r}; allowed is a number > 0 and a unit, as in "2 h": {units}')
    return number, unit


def unit_of(scenarios: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what the time unit of scenarios, as tables, is called; None where not all agree."""
    names = {scenario["run"].get("time_unit") for scenario in scenarios}
    return names.pop() if len(names) == 1 else None


def in_unit(text: str, name: str | None) -> str:
    """Return words about times in "unit" and "units" with the unit's name, if it has one."""
    if name is not None:
        text = re.sub(r"(?:\btime )?\bunits\b", f"{name}s", text)
        text = re.sub(r"(?<!time )\bunit\b", name, text)
    return re.sub(rf"(?<![\d.])1 ((?:time )?{name or 'unit'})s\b", r"1 \1", text)


def counts_rounds(name: str | None, clock: Mapping[str, Any]) -> bool:
    """Return whether the unit has no name and all clocks, as a table, tick once in it."""
    rate = clock.get("rate")
    rates = rate if isinstance(rate, list | tuple) else [rate]
    return name is None and all(item == 1 for item in rates)
