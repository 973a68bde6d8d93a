"""What every kind of data ends in: one array of features and one of targets per owner."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Source:
    """The file that the records came from.

    Attributes
    ----------
    name : str
        File name without its folder.
    sha256 : str
        Hexadecimal SHA-256 digest of the file's bytes.
    """

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """The owners' records, ready for learning.

    Attributes
    ----------
    features : tuple of NDArray
        Owner i's features, (n_i, p) float64, read-only, in Fortran order (gradients of tall
        thin arrays take half the time in it).
    targets : tuple of NDArray
        Owner i's targets, (n_i,) float64, read-only.
    columns : tuple of str
        Names of the encoded columns that the features were made from.
    public_rows_of_owner : tuple of int
        How many of the public rows are also records of owner i; nonzero only where the scenario
        sets ``public_overlap``. Such records have ε = ∞.
    real : bool
        Whether private records of a real file were read.
    source : Source or None
        The file; None for synthetic data.
    notes : tuple of str
        What was encoded, dropped, imputed or left unused: one sentence each, for the user.
    held_out_features, held_out_targets : tuple of NDArray
        As ``features`` and ``targets``, of the rows that are kept apart; without members where
        none are.
    """

    features: tuple[Array, ...]
    targets: tuple[Array, ...]
    columns: tuple[str, ...]
    public_rows_of_owner: tuple[int, ...]
    real: bool
    source: Source | None = None
    notes: tuple[str, ...] = ()
    held_out_features: tuple[Array, ...] = ()
    held_out_targets: tuple[Array, ...] = ()

    @property
    def records(self) -> tuple[int, ...]:
        """Records per owner that are trained on, n_i."""
        return tuple(len(target) for target in self.targets)


@dataclass(frozen=True, eq=False)
class Encoded:
    """A whole table as numbers, in file order, before it is projected and split.

    Attributes
    ----------
    matrix : NDArray
        (rows, columns) float64, Fortran order, finite.
    target : NDArray
        (rows,) float64, finite.
    columns : tuple of str
        Names of the matrix's columns.
    notes : tuple of str
        As in :class:`Dataset`.
    """

    matrix: Array
    target: Array
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


def frozen(array: Array, *, order: str = "F") -> Array:
    """Return the array as read-only float64 in the given memory order, copied only if needed."""
    held = np.asarray(array, dtype=np.float64, order="F" if order == "F" else "C")
    held.flags.writeable = False
    return held
