"""Record gradients of a network with one hidden layer, clipped or measured without forming them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.learning.objectives.largest import Rows
from asyncdp_sim.learning.objectives.losses import Array, Loss
from asyncdp_sim.learning.objectives.perceptron.network import Perceptron
from asyncdp_sim.learning.objectives.rows import Norm, StackedRecords, unbounded_where_sums_overflow


@dataclass(frozen=True, eq=False)
class PerceptronRecords(StackedRecords):
    """Owners' records; ∇ℓ = φ'(z, y) ∂z/∂θ.

    Attributes
    ----------
    net : Perceptron
    features : sequence of array (n_i, d + 1)
        Rows (x, 1).
    targets : sequence of array (n_i,)
    loss : Loss
        φ.
    clip : float or None
        C: each record's gradient is scaled down to norm ≤ C; None clips nothing.
    norm : str
        The norm of ``clip`` and of :meth:`largest_gradient`.
    """

    net: Perceptron
    features: Sequence[Array]
    targets: Sequence[Array]
    loss: Loss
    clip: float | None = None
    norm: Norm = "l1"

    @override
    def stacks(self, models: int, rows: int) -> Iterator[slice]:
        return self.net.stacks(models, rows)

    @override
    def total(self, x: Array, y: Array, lengths: Array, theta: Array, clip: float | None) -> Array:
        active = self.net.active(x, theta)
        slope = self.loss.slope(self.net.outputs(x, theta, active), y)
        if clip is not None:  # ‖∇ℓ‖ = |φ'|‖∂z/∂θ‖: to clip it is to clip φ'
            bound = clip / self.net.lengths(theta, active, lengths, self.norm)
            np.clip(slope, -bound, bound, out=slope)
            slope[np.isnan(slope)] = 0.0  # ∞ − ∞ in a model that has diverged
        return self.net.pulled(x, theta, active, slope)

    @override
    def ceilings(self, owner: int, rows: Rows, centres: Array, radius: float) -> Array:
        """Return bounds of ‖∇ℓ‖ over balls of models; see :class:`~.largest.Bounded`.

        That of |φ'| over the interval of z times that of ‖∂z/∂θ‖, each over its own worst case.
        """
        x, y = self.features[owner][rows], self.targets[owner][rows]
        long = self._spreads[owner][rows], self.lengths[owner][rows]
        far = np.linalg.norm(centres, axis=1) + radius
        radius += _ROUNDING * (centres.shape[1] + 8) * float(far.max())
        found = np.empty((len(y), len(centres)))
        for some in self.net.stacks(len(centres), len(y)):
            z, reach, longest = self.net.around(x, centres[some], radius, *long, self.norm)
            steepest = np.abs(self.loss.slope(z + reach, y))
            np.maximum(steepest, np.abs(self.loss.slope(z - reach, y)), out=steepest)
            found[:, some] = (steepest * longest).T
        found *= 1 + 1e-9
        unbounded_where_sums_overflow(found, long[0][:, None], far)
        return found

    @override
    def lengths_at(self, owner: int, rows: npt.NDArray[np.int64], points: Array) -> Array:
        """Return |φ'(z, y)|‖∂z/∂θ‖, shape (m,), one record and point per row."""
        x, y, lengths = (each[owner][rows] for each in (self.features, self.targets, self.lengths))
        units, weights, threshold = self.net.parts(points)
        active = np.tanh(np.einsum("ihj,ij->ih", units, x))
        slope = self.loss.slope(
            np.einsum("ih,ih->i", weights, active) + threshold[:, 0] * x[:, -1], y
        )
        longest = self.net.lengths(points, active[..., None], lengths[:, None], self.norm)
        return np.asarray(np.abs(slope) * longest[:, 0])

    def gradient_bound(self, theta_max: float | None) -> float | None:
        """Return an upper bound of ‖∇ℓ‖ over Θ and these records; None where Θ is the whole space.

        max sup|φ'| · :meth:`Perceptron.longest`, sup|φ'| over |z| ≤ θ_max(H + 1).
        """
        if theta_max is None:
            return None
        reach, bounds = self.net.reach(theta_max), []
        for y, length in zip(self.targets, self.lengths, strict=True):
            steepest = self.loss.steepest(reach, np.abs(y))
            bounds.append(np.max(steepest * self.net.longest(theta_max, length, self.norm)))
        return float(max(bounds))


_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""Relative, of a product; of a sum, times its terms."""
