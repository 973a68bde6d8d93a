"""Encoded rows, projected to features, without more of them in memory than need be."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.data.dataset import Array, OnDemand, Rows, Table, frozen, spans, take
from asyncdp_sim.data.tables.preprocessing import Projection
from asyncdp_sim.data.void import said, set_aside


def records_of(
    table: Table, projection: Projection, sets: Sequence[Rows]
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[str, ...]]:
    """Return features and targets of each set of rows, read-only, and what was set aside of them.

    Parameters
    ----------
    table : Table
    projection : Projection
    sets : sequence of array
        Row numbers; the last use of a table on demand, which may give up its columns.
    """
    y = [projection.targets(take(table.target, rows)) for rows in sets]
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers too large: set aside next
        x = _features(table, projection, sets)
    absent = sum(int(np.count_nonzero(np.isnan(each))) for each in y)
    large = sum(set_aside(rows, each) for rows, each in zip(x, y, strict=True))
    return tuple(map(frozen, x)), tuple(map(frozen, y)), said(absent, large)


def _features(table: Table, projection: Projection, sets: Sequence[Rows]) -> list[Array]:
    """Return the features of each set of rows, (n, p), Fortran order."""
    if isinstance(table, OnDemand) and table.drain is not None:
        return [_in_place(block, projection) for block in table.drain(sets)]
    return [_projected(table, projection, rows) for rows in sets]


def _in_place(block: Array, projection: Projection) -> Array:
    """Return the features of encoded rows, (n, p), in the room that those had to themselves."""
    if projection.ones:
        return projection.features(block)
    if projection.matrix is None:
        return block
    kept = projection.matrix.shape[1]
    for span in spans(len(block)):
        block[span, :kept] = projection.features(block[span].copy(order="F"))
    # Reallocated: in Fortran order what is cut off are the last columns.
    block.resize((len(block), kept), refcheck=False)
    return block


def _projected(table: Table, projection: Projection, rows: Rows) -> Array:
    """Return the features of rows, (n, p), Fortran order."""
    features, done = np.empty((0, 0)), 0
    for piece in table.pieces(rows):
        made = projection.features(piece)
        if len(made) == len(rows):
            return made
        if done == 0:
            features = np.empty((len(rows), made.shape[1]), order="F")
        features[done : done + len(made)] = made
        done += len(made)
    return features
