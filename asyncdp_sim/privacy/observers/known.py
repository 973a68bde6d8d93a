"""Knowledge of a pool of observers: rows that it heard, decided exactly, and their directions.

Whether a row is new is decided modulo a prime, on rows that are kept reduced: one that has come to
a single number is a node's own vector, which is known from then on and leaves the others.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
EPS = float(np.finfo(float).eps)
PRIME = 2**31 - 1
"""Weights are fractions; a row is new over the fractions if it is modulo a prime, and a row that
is new is taken for a known one only if this prime divides a certain determinant."""


class Known:
    """What a pool knows: nodes' own vectors, and rows of several with orthonormal directions."""

    def __init__(self, n_nodes: int, blind: Flags) -> None:
        self._seeing = np.flatnonzero(~blind)
        self._alone = np.zeros(len(self._seeing), dtype=np.bool_)
        self._rows = np.zeros((0, len(self._seeing)), dtype=np.int64)  # of several nodes each
        self._pivots = np.zeros(0, dtype=np.int64)
        self._directions, self._doubts = np.zeros((0, n_nodes)), np.zeros(0)

    @property
    def everything(self) -> bool:
        """Whether all nodes' vectors are known."""
        return bool(self._alone.all())

    def adds(self, row: Numbers) -> bool:
        """Return whether a row is no combination of those before, and keep it."""
        new = row[self._seeing]
        new[self._alone] = 0
        held = new[self._pivots]
        some = np.flatnonzero(held)
        if len(some) > 0:
            new = (new - (held[some, None] * self._rows[some] % PRIME).sum(axis=0)) % PRIME
        places = np.flatnonzero(new)
        if len(places) == 0:
            return False
        pivot = int(places[0])
        new = new * pow(int(new[pivot]), -1, PRIME) % PRIME
        others = self._rows[:, pivot].copy()
        some = np.flatnonzero(others)
        self._rows[some] = (self._rows[some] - others[some, None] * new % PRIME) % PRIME
        self._rows = np.vstack([self._rows, new])
        self._pivots = np.append(self._pivots, pivot)
        return True

    def newly_alone(self) -> Numbers:
        """Return the nodes whose vectors the last row has made known exactly."""
        single = np.count_nonzero(self._rows, axis=1) == 1
        places = self._pivots[single]
        self._alone[places] = True
        self._rows, self._pivots = self._rows[~single], self._pivots[~single]
        return np.asarray(self._seeing[places])

    def hints(self, nodes: Numbers) -> bool:
        """Return whether a direction has a part in any of some nodes' vectors."""
        return bool(self._directions[:, nodes].any())

    def own(self, nodes: Numbers) -> list[tuple[Array, float]]:
        """Return nodes' own vectors, and how far doubts of directions move what is left of each."""
        vectors = np.eye(self._directions.shape[1])[nodes]
        doubts = 2 * self._doubts @ np.abs(self._directions[:, nodes]) + EPS
        return list(zip(vectors, doubts.tolist(), strict=True))

    def beyond(self, row: Array) -> Array:
        """Return a row (M,) without what is known of it, and what rounding has left of that."""
        for _ in range(2):
            row = row - (self._directions @ row) @ self._directions
        return row

    def keep(self, direction: Array, doubt: float) -> None:
        """Keep a direction (M,) of length 1, and how far off it may be."""
        self._directions = np.vstack([self._directions, direction])
        self._doubts = np.append(self._doubts, doubt)

    def suppose_all(self) -> Numbers:
        """Take every vector with a part in the rows for known, and return whose they are."""
        places = np.flatnonzero(self._rows.any(axis=0))
        self._alone[places] = True
        self._rows, self._pivots = self._rows[:0], self._pivots[:0]
        self._directions, self._doubts = self._directions[:0], self._doubts[:0]
        return np.asarray(self._seeing[places])
