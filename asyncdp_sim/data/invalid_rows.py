"""Records that contribute nothing, because what is in them is no number that can be computed with.

A private record may lack its target, have a text there, or a value whose square floating point does
not hold. It is not left out, for then every other record would move, nor does the run end, for
that would tell of it: it stays, n_i counts it, and its loss and gradient are 0 at every model. In
a :class:`~asyncdp_sim.data.dataset.Dataset` its target is NaN and its features are 0; a model is
handed rows that are 0 with the constant of an intercept, and the target 0, where every loss is 0
and flat.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.data.dataset import FROM_PRIVATE, Array

LARGEST = 1e50
"""Largest number in a record: what is squared twice, and summed, stays a number."""

FAR = 1e3
"""Times the median record's largest number: beyond it a solver may lose sight of the others."""

Void = npt.NDArray[np.bool_]


def beyond(rows: Array) -> Void:
    """Return which rows (n, p) hold a number above :data:`LARGEST`, or none at all."""
    too_large = np.zeros(len(rows), dtype=np.bool_)
    for column in rows.T:  # Fortran order: a column is at hand
        too_large |= ~(np.abs(column) <= LARGEST)
    return too_large


def set_aside(features: Array, targets: Array) -> Void:
    """Void records in place where a number is too large or a target absent; return the former."""
    large = (beyond(features) | (np.abs(targets) > LARGEST)) & ~np.isnan(targets)
    targets[large] = np.nan
    features[np.isnan(targets)] = 0.0
    return large


def said(absent: int, large: int, *, real: bool) -> tuple[str, ...]:
    """Return how many private records contribute nothing, and why; nothing where all do."""
    reasons = ["without a target: {absent}"] if absent > 0 else []
    reasons += [f"with a number above {LARGEST:g}: {{large}}"] if large > 0 else []
    if len(reasons) == 0:
        return ()
    nothing = "Their loss and gradient are 0, and n_i counts them."
    heading = FROM_PRIVATE if real else ""
    told_of = f"{heading}Records {'; '.join(reasons)}. {nothing}"
    return (FormattedMessage(told_of, absent=absent, large=large),)


def void(targets: Sequence[Array]) -> list[Void]:
    """Return which records contribute nothing, owner by owner."""
    return [np.isnan(y) for y in targets]


def outlying(features: Sequence[Array]) -> list[Void]:
    """Return whose largest number is above :data:`FAR` times the median one, owner by owner."""
    largest = [np.abs(x).max(axis=1, initial=0.0) for x in features]
    usual = float(np.median(np.concatenate(largest)))
    return [sizes > FAR * usual for sizes in largest]


def only_labels(targets: Array, labels: Sequence[float]) -> Array:
    """Return targets of a model that classifies, NaN where they are none of its labels."""
    return np.where(np.isin(targets, labels), targets, np.nan)


def blank(arrays: Sequence[Array], nothing: Sequence[Void]) -> list[Array]:
    """Return rows or targets, those of void records 0; the same arrays where none is void."""
    blanked = []
    for array, places in zip(arrays, nothing, strict=True):
        if places.any():
            array = array.copy(order="F")
            array[places] = 0.0
        blanked.append(array)
    return blanked
