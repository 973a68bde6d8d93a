"""Noisy answers of any mechanism, in a table, as numbers that an attack can tell apart.

Noise may be far below the answers. Numbers are centred in their own type, where the difference of
two is exact, before they become floats of 53 bits.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from asyncdp_sim.audits.check import Claim, Finding, Pair, attack
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError

LEAST = 100
"""Rows of each of two data sets."""


def attack_answers(frame: Any, dataset: str, delta: float, doubt: float) -> Finding:
    """Return what the answers of a table show.

    Parameters
    ----------
    frame : DataFrame
    dataset : str
        The column that says which of two data sets an answer is of.
    delta, doubt : float

    Raises
    ------
    SpecError
        If these are no answers of two data sets.
    """
    first, second = _sides(frame, dataset)
    apart = second[::2].mean(axis=0) - first[::2].mean(axis=0)
    variance = second[::2].var(axis=0) + first[::2].var(axis=0)
    weights = np.divide(apart, variance, out=np.zeros_like(apart), where=variance > 0)
    scores: Mapping[str, Pair] = {
        **{str(name): (first[:, j], second[:, j]) for j, name in enumerate(_names(frame, dataset))},
        "all numbers": (first @ weights, second @ weights),
    }
    return attack(scores, Claim(inf, delta), doubt)


def centred(column: Any) -> Array | None:
    """Return numbers less one of them, as floats; None where they are no finite numbers.

    Parameters
    ----------
    column : Series
        Integers of any type, floats, or exact numbers such as ``Decimal``.
    """
    if column.isna().any():
        return None
    values = column.to_numpy()
    if column.dtype.kind == "b":
        return np.asarray(values, dtype=float)
    if values.dtype.kind in "iu":
        # modulo 2⁶⁴ the distance to the least value is exact, whatever the sign
        whole = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
        least = whole.min()
        distance = whole.astype(np.uint64) - least.astype(np.uint64)
        middle = np.partition(distance, len(distance) // 2)[len(distance) // 2]
        above = distance >= middle
        up, down = (distance - middle).astype(float), (middle - distance).astype(float)
        return np.asarray(np.where(above, up, -down))
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            return None
        exact = values.astype(np.promote_types(values.dtype, np.float64))
        return np.asarray(
            exact - np.partition(exact, len(exact) // 2)[len(exact) // 2], dtype=float
        )
    if all(hasattr(value, "__float__") for value in values):  # Decimal, Fraction, int
        middle = sorted(values)[len(values) // 2]
        return np.array([float(value - middle) for value in values])
    return None


def _names(frame: Any, dataset: str) -> list[object]:
    return [name for name in frame.columns if name != dataset]


def _sides(frame: Any, dataset: str) -> tuple[Array, Array]:
    """Return the centred answers of the two data sets, shape (rows, numbers) each."""
    if not hasattr(frame, "columns"):
        given = f"a value of type {type(frame).__name__}"
        raise SpecError([Fault("frame", given, "allowed is a pandas DataFrame")])
    if (count := list(frame.columns).count(dataset)) != 1:
        given = "no such column" if count == 0 else f"{count} columns of this name"
        raise SpecError([Fault(dataset, given, "required: one column, the data set of each row")])
    names = _names(frame, dataset)
    if len(names) == 0:
        given = "no column besides it"
        raise SpecError([Fault(dataset, given, "required: a column for each number of an answer")])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        given = f"{names.count(twice)} columns of this name"
        raise SpecError([Fault(str(twice), given, "allowed is each name once")])
    if frame[dataset].isna().any():
        given = f"no value in {int(frame[dataset].isna().sum()):,} of {len(frame):,} rows"
        raise SpecError([Fault(dataset, given, "required: the data set of each row")])
    side = frame[dataset].astype(str)
    labels, counts = np.unique(side, return_counts=True)
    if len(labels) != 2 or counts.min() < LEAST:
        least = f", the smallest of {counts.min()} rows" if len(labels) > 0 else ""
        given = f"{len(labels)} data set{'' if len(labels) == 1 else 's'}{least}"
        raise SpecError([Fault(dataset, given, f"allowed are two of {LEAST} rows or more")])
    columns = []
    for name in names:
        numbers = centred(frame[name])
        if numbers is None:
            given = "a value that is no finite number"
            raise SpecError([Fault(str(name), given, "allowed are numbers")])
        columns.append(numbers)
    answers = np.column_stack(columns)
    return answers[(side == labels[0]).to_numpy()], answers[(side == labels[1]).to_numpy()]
