"""From encoded columns to features, with a projection that the public rows alone decide."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.specification import FAMILY_BY_NAME, Variant
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, Table, frozen, note_if_any, take

LARGEST = 1e50
"""Largest number in a record: what is squared twice, and summed, stays a number."""


@dataclass(frozen=True, eq=False)
class Projection:
    """The affine map x ↦ (x − shift) · matrix, and y ↦ y − target_shift.

    Attributes
    ----------
    shift : NDArray or None
        (columns,); None where nothing is subtracted.
    matrix : NDArray or None
        (columns, features); None for the identity.
    target_shift : float
        In units of the target.
    notes : tuple of str
        What the user should know about it.
    ones : bool
        Whether the last feature is 1 in every row, as for a model with an intercept.
    """

    shift: Array | None
    matrix: Array | None
    target_shift: float
    notes: tuple[str, ...] = ()
    ones: bool = False

    def features(self, rows: Array) -> Array:
        """Return the features of encoded rows: (n, p), Fortran order, a fresh array."""
        if self.ones:
            varied = replace(self, ones=False).features(rows)
            return np.asfortranarray(np.column_stack([varied, np.ones(len(rows))]))
        if self.matrix is None:
            return np.array(rows, order="F")
        # (p, c) @ (c, n) is C-ordered, so that its transpose is Fortran-ordered without a copy.
        projected = (self.matrix.T @ rows.T).T
        if self.shift is not None:
            projected -= self.shift @ self.matrix
        return projected

    def targets(self, target: Array) -> Array:
        """Return the shifted targets, a fresh array."""
        return np.array(target - self.target_shift)


class PreprocessingKind(Variant):
    """A way from encoded columns to features, which the public rows alone decide."""

    fitted: ClassVar[bool]
    """It needs public rows, at least as many as there are features."""
    uncentred: ClassVar[bool] = False
    """It makes features of columns together that are not centred."""

    @abstractmethod
    def fit(self, rows: Array, target: Array, features: int, *, ones: bool = False) -> Projection:
        """Fit a projection to the public rows.

        Parameters
        ----------
        rows, target : NDArray
            The public rows, (m, columns) and (m,).
        features : int
            The number of features to keep.
        ones : bool
            Whether a feature of ones is added to them afterwards, of which errors tell.

        Raises
        ------
        DataError
            On ``data.features``, when the public rows span fewer dimensions.
        """


def _wrong_features(
    given: int, count: int, words: str, *, ones: bool, most: bool = False
) -> DataError:
    """Return the error on features that a table's columns do not make, the one of ones included."""
    words += ", and one for model.intercept" if ones else ""
    rule = f"allowed is {'at most ' if most else ''}{count + ones}, {words}"
    return DataError([Fault("data.features", str(given + ones), rule)])


class EigenUncentred(PreprocessingKind):
    """Features X V D^{-1/2}, without centring, scaling or division by the number of rows.

    V, D are the eigenvectors and the largest eigenvalues of XᵀX over the public rows, on which the
    features are orthonormal: ΦᵀΦ = I.
    """

    fitted = True
    uncentred = True

    kind: Literal["eigen-uncentred"] = "eigen-uncentred"

    @override
    def fit(self, rows: Array, target: Array, features: int, *, ones: bool = False) -> Projection:
        vectors, singular = _leading(rows, features, ones=ones)
        return Projection(None, vectors / singular, 0.0)


class PrincipalComponents(PreprocessingKind):
    """Leading eigenvectors of centred and scaled columns, with unit variance on the public rows.

    Columns and target are centred by public means, columns scaled by public standard deviations.
    """

    fitted = True

    kind: Literal["pca"] = "pca"

    @override
    def fit(self, rows: Array, target: Array, features: int, *, ones: bool = False) -> Projection:
        mean, scale = rows.mean(axis=0), rows.std(axis=0)
        # A constant column's computed deviation is rounding, not zero.
        varies = scale > 1e-12 * np.maximum(np.abs(mean), np.finfo(float).tiny)
        usable = np.flatnonzero(varies)
        scaled = (rows[:, usable] - mean[usable]) / scale[usable]
        vectors, singular = _leading(scaled, features, ones=ones)
        matrix = np.zeros((rows.shape[1], features))
        matrix[usable] = vectors / scale[usable, None] * (np.sqrt(len(rows)) / singular)
        constant = rows.shape[1] - len(usable)
        notes = note_if_any("constant", columns=constant)
        shift = 0.0
        if len(target) > 0:  # rounded, the mean of equal targets may be another number
            shift = float(np.clip(target.mean(), target.min(), target.max()))
        return Projection(mean, matrix, shift, notes)


class AsTheyAre(PreprocessingKind):
    """The columns themselves."""

    fitted = False

    kind: Literal["none"] = "none"

    @override
    def fit(self, rows: Array, target: Array, features: int, *, ones: bool = False) -> Projection:
        if features != rows.shape[1]:
            words = 'the number of columns, with preprocessing = "none"'
            raise _wrong_features(features, rows.shape[1], words, ones=ones)
        return Projection(None, None, 0.0)


class WithOnes(PreprocessingKind):
    """Another preprocessing, with a last feature that is 1 in every row: a model's intercept."""

    fitted = True

    kind: str
    other: PreprocessingKind

    @override
    def fit(self, rows: Array, target: Array, features: int, *, ones: bool = False) -> Projection:
        return replace(self.other.fit(rows, target, features - 1, ones=True), ones=True)


Preprocessing = Annotated[EigenUncentred | PrincipalComponents | AsTheyAre, FAMILY_BY_NAME]
"""Every preprocessing; a new one joins by its line here."""


def _leading(rows: Array, features: int, *, ones: bool) -> tuple[Array, Array]:
    """Return the leading right singular vectors (columns; largest entry positive) and values.

    A singular value decomposition of X rather than eigenvalues of XᵀX: the columns' scales span
    six decades, and squaring them would lose the small ones.
    """
    _, singular, transposed = np.linalg.svd(rows, full_matrices=False)
    floor = max(rows.shape) * np.finfo(float).eps * singular.max(initial=0.0)
    rank = int(np.count_nonzero(singular > floor))
    if features > rank:
        words = "the number of linearly independent columns among the public rows"
        raise _wrong_features(features, rank, words, ones=ones, most=True)
    vectors = transposed[:features].T
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.where(vectors[largest, np.arange(features)] < 0, -1.0, 1.0)
    return vectors * signs, singular[:features]


def too_large_rows(rows: Array) -> Bools:
    """Return which rows (n, p) hold a number above :data:`LARGEST`, or none at all."""
    too_large = np.zeros(len(rows), dtype=np.bool_)
    for column in rows.T:  # Fortran order: a column is at hand
        too_large |= ~(np.abs(column) <= LARGEST)
    return too_large


def set_aside(features: Array, targets: Array) -> Bools:
    """Void records in place where a number is too large or a target absent; return the former."""
    large = (too_large_rows(features) | (np.abs(targets) > LARGEST)) & ~np.isnan(targets)
    targets[large] = np.nan
    features[np.isnan(targets)] = 0.0
    return large


def set_aside_note(absent: int, large: int, *, real: bool) -> tuple[str, ...]:
    """Return how many private records contribute nothing, and why; nothing where all do."""
    reasons = ["without a target: {absent}"] if absent > 0 else []
    reasons += [f"with a number above {LARGEST:g}: {{large}}"] if large > 0 else []
    if len(reasons) == 0:
        return ()
    nothing = "Their loss and gradient are 0, and n_i counts them."
    heading = FROM_PRIVATE if real else ""
    told_of = f"{heading}Records {'; '.join(reasons)}. {nothing}"
    return (FormattedMessage(told_of, absent=absent, large=large),)


def records_of(
    table: Table, projection: Projection, sets: Sequence[Ints], first_public: int, *, real: bool
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[str, ...]]:
    """Return features and targets of each set of rows, read-only, and what was set aside of them.

    Parameters
    ----------
    table : Table
    projection : Projection
    sets : sequence of array
        Row numbers.
    first_public : int
        Rows from it on are public, and are not counted.
    real : bool
        Whether the others are private rows of a file.
    """
    y = [projection.targets(take(table.target, rows)) for rows in sets]
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers too large: set aside next
        x = [_projected(table, projection, rows) for rows in sets]
    private = [rows < first_public for rows in sets]
    absent = sum(int(np.sum(np.isnan(t) & p)) for t, p in zip(y, private, strict=True))
    large = sum(int(np.sum(set_aside(f, t) & p)) for f, t, p in zip(x, y, private, strict=True))
    return tuple(map(frozen, x)), tuple(map(frozen, y)), set_aside_note(absent, large, real=real)


def _projected(table: Table, projection: Projection, rows: Ints) -> Array:
    """Return the features of rows, (n, p), Fortran order."""
    made = [projection.features(piece) for piece in table.pieces(rows)]
    return made[0] if len(made) == 1 else np.asfortranarray(np.concatenate(made))
