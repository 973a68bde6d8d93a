"""Record gradients of the ridge loss: ∇ℓ = −2(y − θᵀx)x, clipped or measured record by record."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Norm = Literal["l1", "l2"]


@dataclass(frozen=True, eq=False)
class RidgeRecords:
    """Owners' records, for what second moments cannot tell.

    Attributes
    ----------
    features : sequence of array (n_i, p)
        Best in Fortran order: a gradient reads it by columns.
    targets : sequence of array (n_i,)
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of :meth:`largest_gradient`.
    """

    features: Sequence[Array]
    targets: Sequence[Array]
    clip: float | None = None
    norm: Norm = "l1"

    @cached_property
    def lengths(self) -> list[Array]:
        """‖x‖ of every record, one array per owner."""
        order = 1 if self.norm == "l1" else 2
        return [np.linalg.norm(x, ord=order, axis=1) for x in self.features]

    @cached_property
    def _residual_bounds(self) -> list[Array]:
        """|y − θᵀx| above which a gradient's norm 2|y − θᵀx|‖x‖ exceeds C; inf where x = 0."""
        clip = np.inf if self.clip is None else self.clip
        with np.errstate(divide="ignore"):
            return [clip / (2 * length) for length in self.lengths]

    def gradient(self, owners: npt.NDArray[np.int64], points: Array) -> Array:
        """Return the mean (clipped) record gradient, one owner and point per row.

        A ridge gradient points along x, so clipping it to norm C is clipping its residual to
        ±C/(2‖x‖).

        Parameters
        ----------
        owners : array of int (R,)
            Owners, from 0.
        points : array (R, p)
        """
        rows = []
        for owner, point in zip(owners, points, strict=True):
            features, targets = self.features[owner], self.targets[owner]
            residual = targets - features @ point
            if self.clip is not None:
                bound = self._residual_bounds[owner]
                np.clip(residual, -bound, bound, out=residual)
            rows.append((-2 / len(targets)) * (features.T @ residual))
        return np.stack(rows)

    def largest_gradient(self, models: Array) -> Array:
        """Return, per owner, the largest unclipped record gradient at any of the models.

        Parameters
        ----------
        models : array (m, p)

        Returns
        -------
        array (N,)
            max over records and models of 2|y − θᵀx|‖x‖, in the norm of these records.
        """
        largest = np.zeros(len(self.targets))
        for owner, (x, y) in enumerate(zip(self.features, self.targets, strict=True)):
            for first in range(0, len(y), _CHUNK):
                rows = slice(first, first + _CHUNK)
                residual = np.abs(y[rows, None] - x[rows] @ models.T).max(axis=1)
                peak = 2 * float(np.max(residual * self.lengths[owner][rows]))
                largest[owner] = max(largest[owner], peak)
        return largest


_CHUNK = 8192
"""Rows looked at together, so that they stay in the cache."""
