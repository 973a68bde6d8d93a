"""Rows of the twin one after another, as many at a time as are wanted."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from asyncdp_sim.data.dataset import PIECE_ROWS, Array
from asyncdp_sim.data.tables.preprocessing import Projection

CHUNK_ROWS = 8192
"""Rows made at a time. Fixed: the last bits of a matrix product depend on its shape."""


class Law(Protocol):
    """The way from a chunk's normals to its rows."""

    @property
    def n_variables(self) -> int:
        """Normals to a row."""

    def fill(self, matrix: Array, target: Array, normals: Array, first: int, row: int) -> None:
        """Make rows of a chunk's normals, from that numbered ``first`` on.

        Parameters
        ----------
        matrix, target : NDArray
            (rows, columns), zeroed, and (rows,), filled in place.
        normals : NDArray
            (:data:`CHUNK_ROWS`, variables).
        first : int
            0…CHUNK_ROWS − rows.
        row : int
            The number of the first row in the table, from 0.
        """


class RowsOfLaw:
    """The rows of a law, from the first on; the same however many are asked for at a time."""

    def __init__(self, law: Law, generator: np.random.Generator) -> None:
        self._law = law
        self._generator = generator
        self._row = 0
        self._normals = np.empty((0, 0))

    def write(self, matrix: Array, target: Array) -> None:
        """Draw the next rows into zeroed arrays, (rows, columns) and (rows,)."""
        done = 0
        while done < len(target):
            first = self._row % CHUNK_ROWS
            if first == 0:
                shape = (CHUNK_ROWS, self._law.n_variables)
                self._normals = self._generator.standard_normal(shape)
            some = slice(done, min(len(target), done + CHUNK_ROWS - first))
            self._law.fill(matrix[some], target[some], self._normals, first, self._row)
            self._row += some.stop - done
            done = some.stop


def projected(
    rows: RowsOfLaw, sizes: Sequence[int], n_columns: int, projection: Projection
) -> tuple[list[Array], list[Array]]:
    """Return features, Fortran order, and targets (before any shift) of owners in turn.

    Encoded rows take the room of one piece: they are projected as they are drawn, with the bits of
    an owner's rows projected at once.
    """
    room = np.empty(min(max(sizes, default=0), 2 * PIECE_ROWS - 1) * n_columns)
    features, targets = [], []
    for n in sizes:
        target, made = np.empty(n), []
        for some in _pieces(n):
            count = some.stop - some.start
            piece = room[: count * n_columns].reshape(n_columns, count).T
            piece[:] = 0
            rows.write(piece, target[some])
            made.append(projection.features(piece))
        features.append(made[0] if len(made) == 1 else _joined(made, n))
        targets.append(target)
    return features, targets


def _pieces(n: int) -> Iterator[slice]:
    """Give places 0…n−1 in pieces; the last is no small one, whose products are other bits."""
    starts = [PIECE_ROWS * piece for piece in range(max(1, n // PIECE_ROWS))]
    for start, stop in zip(starts, [*starts[1:], n], strict=True):
        yield slice(start, stop)


def _joined(pieces: list[Array], n: int) -> Array:
    whole, done = np.empty((n, pieces[0].shape[1]), order="F"), 0
    for piece in pieces:
        whole[done : done + len(piece)] = piece
        done += len(piece)
    return whole
