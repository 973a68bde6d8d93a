"""Exact expected ψ where owners have the same second moments, for many groups of owners at once.

With C_i = C the recursion of :mod:`~asyncdp_sim.theory.moments.per_update` falls apart, in C's
eigenvectors, into p recursions of numbers; and owners of the same size and noise are alike. A group
is then a count of owners of each class, and groups are rows of one array.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.formulas.arguments import positive
from asyncdp_sim.theory.moments.gossip_map import CentralStep
from asyncdp_sim.theory.moments.per_update import Initial, Shape
from asyncdp_sim.theory.moments.synchronous import drawn

Array = npt.NDArray[np.float64]
_BLOCK = 200_000  # numbers in the largest array of a block: what a processor's cache holds


@dataclass(frozen=True, eq=False)
class Course:
    """Numbers that all groups of owners share; vectors are in C's eigenvectors.

    Attributes
    ----------
    values : array (p,)
        Eigenvalues of C.
    optimum : array (p,)
        θ*.
    start : array (p,)
        E θ_0.
    scatter : float
        Variance of each coordinate of each copy of θ_0.
    pattern : array (p,)
        Variance of noise of unit variance along each eigenvector: 1 ("vector"), or (vᵀ1)².
    sigma : float
        σ > 0.
    least : float
        f(θ*) > 0.
    central_step : str
        "proof" or "text".
    updates : int
        T.
    """

    values: Array
    optimum: Array
    start: Array
    scatter: float
    pattern: Array
    sigma: float
    least: float
    central_step: CentralStep
    updates: int

    @classmethod
    def of(
        cls,
        objective: Quadratic,
        *,
        updates: int,
        central_step: CentralStep = "proof",
        noise: Shape = "vector",
        initial: Initial = "zeros",
    ) -> "Course":
        """Fill in the numbers from an objective; C and r are taken pooled over its owners."""
        gram = np.einsum("i,ijk->jk", objective.weights, objective.gram)
        values, vectors = np.linalg.eigh(gram)
        ones = vectors.T @ np.ones(len(values))
        mean, scatter = drawn(initial)
        return cls(
            values=values,
            optimum=vectors.T @ objective.free_optimum,
            start=mean * ones,
            scatter=scatter,
            pattern=np.ones(len(values)) if noise == "vector" else ones**2,
            sigma=positive("sigma", objective.sigma),
            least=objective.least,
            central_step=central_step,
            updates=updates,
        )

    @property
    def hessian(self) -> Array:
        """Eigenvalues of H = C + (σ/2) I, shape (p,)."""
        return self.values + self.sigma / 2

    @property
    def untrained(self) -> float:
        """E ψ(θ_0)."""
        square = np.square(self.start - self.optimum) + self.scatter
        return float(self.hessian @ square / self.least)

    @property
    def per_record(self) -> float:
        """(s²/f*) tr(C H⁻¹): ψ that a sample of n_S records misses, over 1/n_S − 1/n.

        See :func:`~asyncdp_sim.forecasts.advice.who_profits.value_alone`.
        """
        error = self.least - self.sigma / 2 * float(self.optimum @ self.optimum)
        return error / self.least * float(np.sum(self.values / self.hessian))

    def expected_psi(self, rho: Array, counts: Array, records: Array, variance: Array) -> Array:
        """Return E ψ(θ_L,T) of groups about their own optimum, exactly; infinite if they diverge.

        Parameters
        ----------
        rho : array (B,)
            ρ > 0 of each group.
        counts : array (B, K)
            Owners of each class, at least one in a group.
        records : array (K,) or (B, K)
            n_i of a class.
        variance : array (K,) or (B, K)
            Variance of each coordinate of an answer's noise.

        Returns
        -------
        array (B,)

        Notes ----- Assumes what :class:`~asyncdp_sim.theory.moments.gossip_map.GossipMap` does,
        uniform selection and common second moments.
        """
        counts = np.asarray(counts, dtype=float)
        records, variance = (np.broadcast_to(each, counts.shape) for each in (records, variance))
        size = max(1, _BLOCK // (len(self.values) * counts.shape[1] ** 2))
        found = [
            self._block(*(each[at : at + size] for each in (rho, counts, records, variance)))
            for at in range(0, len(counts), size)
        ]
        psi = np.concatenate(found) if len(found) > 0 else np.zeros(0)
        return np.where(np.isfinite(psi), psi, np.inf)

    def _block(self, rho: Array, counts: Array, records: Array, variance: Array) -> Array:
        """Run the recursion; arrays are (group, direction, class, class), L is the learner."""
        rate = (rho / self.updates**2)[:, None, None]
        number = counts.sum(axis=1)[:, None, None]
        count, chance = counts[:, None, :], 1 / number
        share = records / np.sum(counts * records, axis=1)[:, None]
        step = number * rate / self.sigma * share[:, None, :]  # s_i
        optimum = self.optimum[:, None]
        big = 1 - rate / 2 - 2 * step * self.values[:, None]  # M_i
        e = (step * self.sigma - rate / 2) * optimum
        pushed = step**2 * variance[:, None, :] * self.pattern[:, None]
        shrink = rate / 2 if self.central_step == "proof" else (number - 1) / number * rate
        m, a = 1 - shrink, -shrink * optimum

        u = np.broadcast_to(self.start[:, None] - optimum, big.shape)
        u_central = u[:, :, :1]
        central, cross = u_central**2 + self.scatter, u**2
        own, pair = cross + self.scatter, cross[..., None] * np.ones(big.shape[-1])
        classes = np.arange(big.shape[-1])
        with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
            for _ in range(self.updates):
                q, middle = (u_central + u) / 2, (central + 2 * cross + own) / 4
                moved = big * q
                half = (cross[:, :, None, :] + pair) / 2  # [i, j]: (U_Lj + U_ij)/2
                central = chance * np.sum(
                    count * (m**2 * middle + 2 * m * a * q + a**2), axis=2, keepdims=True
                )
                others = (count[:, :, None, :] @ half)[:, :, 0, :] - half[:, :, classes, classes]
                given = m * big * middle + m * q * e + a * (moved + e)
                cross = chance * (given + m * others + (number - 1) * a * u)
                kept = big**2 * middle + 2 * moved * e + e**2 + pushed
                own = own + chance * (kept - own)
                half *= big[..., None]
                half += e[..., None] * u[:, :, None, :]
                pair = (1 - 2 * chance[..., None]) * pair
                half *= chance[..., None]
                pair += half
                pair += half.transpose(0, 1, 3, 2)
                u_central = chance * np.sum(count * (m * q + a), axis=2, keepdims=True)
                u = u + chance * (moved + e - u)
        return np.asarray(central[:, :, 0] @ self.hessian / self.least)
