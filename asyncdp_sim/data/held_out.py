"""Rows of owners that are held out of training: a share of each owner's, drawn or the latest."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import if_any
from asyncdp_sim.core.specification import about
from asyncdp_sim.core.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd

HeldOutShare = Annotated[
    float,
    Field(ge=0, lt=1, allow_inf_nan=False),
    about("Share of every owner's rows that is kept apart from training", "none"),
]


def trained_on(share: float, records: Sequence[int]) -> tuple[int, ...]:
    """Return how many of each owner's rows are left to train on: n − round(share·n).

    Rounding is to the nearest whole number, of two to the even one.
    """
    return tuple(n - round(share * n) for n in records)


def held_out_faults(share: float, records: Sequence[int]) -> list[Fault]:
    """Return a fault where an owner has no row left to train on, or where no row is kept apart."""
    left = trained_on(share, records) if share > 0 else ()
    if 0 in left:
        owner = left.index(0)
        problem = f"{share:g}, which keeps all {records[owner]} rows of owner {owner + 1} apart"
        rule = "allowed is a share that leaves every owner one row"
        return [Fault("data.held_out", problem, rule)]
    if len(left) > 0 and sum(left) == sum(records):
        problem = f"{share:g}, which is less than half a row of every owner"
        return [Fault("data.held_out", problem, "allowed is 0, or a share that keeps rows apart")]
    return []


def keep_apart(
    share: float,
    records: Sequence[int],
    streams: Streams | Scope,
    persons: Sequence[Ints] | None = None,
    order: Sequence[Array] | None = None,
) -> tuple[list[Ints], list[Ints]]:
    """Return the places of each owner's rows to train on, and of those kept apart.

    Owner i's are drawn from the stream ``("data", "owner", i, "held-out")``, so that adding owners
    changes nothing, and a larger share keeps apart what a smaller one does, and more.

    Parameters
    ----------
    share : float
        In [0, 1); of n rows, round(share·n) are kept apart.
    records : sequence of int
        Rows per owner.
    streams : Streams or Scope
        The run's random streams; nothing is drawn where the share is 0.
    persons : sequence of array, optional
        Whose each of the owner's rows is: all rows of a person are kept apart, or none. Persons
        are drawn until round(share·n) rows or more are apart; one person at least stays.
    order : sequence of array, optional
        Ranks in time: the latest rows are kept apart, or the persons with the latest ones; nothing
        is drawn.

    Returns
    -------
    list of array, list of array
        From 0 to n − 1, ascending, owner by owner.

    Raises
    ------
    DataError
        On ``data.held_out``, where an owner has no row left to train on, or no row is kept apart.
    """
    wrong = held_out_faults(share, records)
    if len(wrong) > 0:
        raise DataError(wrong)
    if share == 0:
        return [np.arange(n) for n in records], [np.arange(0) for _ in records]
    kept, apart = [], []
    for owner, (n, left) in enumerate(zip(records, trained_on(share, records), strict=True), 1):
        if order is None:
            ranked = streams.generator("data", "owner", owner, "held-out").permutation(n)
        else:
            ranked = np.argsort(-order[owner - 1], kind="stable")
        count = n - left
        if persons is not None:
            ranked = _by_person(persons[owner - 1], ranked)
            count = _of_whole_persons(persons[owner - 1][ranked], count)
        apart.append(np.sort(ranked[:count]))
        kept.append(np.sort(ranked[count:]))
    return kept, apart


def _by_person(persons: Ints, ranked: Ints) -> Ints:
    """Return ranked rows with those of a person together, persons in the order of their first."""
    _, firsts, group = np.unique(persons[ranked], return_index=True, return_inverse=True)
    return ranked[np.argsort(firsts[group], kind="stable")]


def _of_whole_persons(persons: Ints, least: int) -> int:
    """Return the smallest number ≥ ``least`` of first rows that ends with a person, but the last.

    ``persons`` names the person of each row, rows of a person together.
    """
    ends = np.append(np.flatnonzero(np.diff(persons) != 0) + 1, len(persons))
    enough = ends[ends >= least]
    return int(enough[0]) if len(ends) == 1 or enough[0] < len(persons) else int(ends[-2])


def held_out_note(kept: Sequence[Ints], apart: Sequence[Ints]) -> tuple[str, ...]:
    """Return what was kept apart in a sentence, for the user; nothing where nothing was."""
    held, left = sum(map(len, apart)), sum(map(len, kept))
    return if_any(
        "{held} of the owners' {rows} rows are held out: nothing is trained on them, and n_i "
        "counts the others.",
        held=held,
        rows=held + left,
    )


def codes_of(column: "pd.Series") -> Ints:
    """Return whose each row is, from 0; a row without a name is a person of its own."""
    import pandas as pd

    codes, names = pd.factorize(column.astype(object).where(column.notna(), None))
    nobody = codes < 0
    codes = np.array(codes, dtype=np.int64)
    codes[nobody] = len(names) + np.arange(np.count_nonzero(nobody))
    return codes


def ranks_of(column: "pd.Series") -> Array:
    """Return how late each row is, from 0: equal values rank alike, rows without one first.

    Numbers are ordered as numbers; where any value is none, all are ordered as texts, as dates such
    as 2024-05-17 may be.
    """
    import pandas as pd

    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    as_numbers = numbers.notna().eq(column.notna()).all()
    values = numbers if as_numbers else column.astype(object).map(str, na_action="ignore")
    codes, _ = pd.factorize(values, sort=True)
    return np.asarray(codes, dtype=np.float64)
