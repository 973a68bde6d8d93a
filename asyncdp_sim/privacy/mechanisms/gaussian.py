"""Gaussian noise: (ε, δ), calibrated and composed exactly."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants.own import Gaussian, gaussian_epsilon, gaussian_multiplier
from asyncdp_sim.privacy.budget import Allotment, gaussian_answers
from asyncdp_sim.privacy.mechanisms.kind import Allowance, Influence, MechanismKind
from asyncdp_sim.privacy.mechanisms.noise import AnswerNoise, Array, Indices, Shape, alike
from asyncdp_sim.privacy.sensitivity import NormChoice


@dataclass(frozen=True, eq=False)
class GaussianNoise(AnswerNoise):
    """Gaussian noise w with standard deviation s_i = z_i · 2Ξ/n_i on each coordinate.

    Attributes
    ----------
    scale : array (N,)
        s_i ≥ 0; 0 where ε_i is infinite.
    """

    scale: Array

    @property
    @override
    def variance(self) -> Array:
        return np.square(self.scale)

    @property
    @override
    def added(self) -> str | None:
        return "gaussian"

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {"Gaussian with standard deviation": self.scale}

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal(size=(count, size))

    @override
    def hide(self, owners: Indices, gradients: Array, rows: Array) -> Array:
        gradients += rows * self.scale[owners, None]
        return gradients

    @override
    def longest(self, size: int, quantile: float) -> Array:
        """Return what ‖s_i w‖₁ ≤ √size ‖s_i w‖₂ exceeds with probability at most 1 − q, (N,)."""
        from scipy.special import gammaincinv  # ‖w‖₂²/2 is Gamma(size/2, 1)

        return np.asarray(self.scale * np.sqrt(2 * size * gammaincinv(size / 2, quantile)))

    @override
    def log_likelihood(self, owners: Indices, gradients: Array, answers: Array) -> Array:
        residual, scale = answers - gradients, self.scale[owners]
        exact = alike(residual, 0.0, answers)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.square(residual / scale[:, None]).sum(axis=1) / 2
            found -= residual.shape[1] * np.log(scale * np.sqrt(2 * np.pi))
        return np.where(scale > 0, found, np.where(exact, 0.0, -np.inf))


class GaussianMechanism(MechanismKind):
    """Gaussian noise on every coordinate: (ε, δ)-DP at L2 sensitivity (Balle and Wang 2018)."""

    exact = False
    norm: ClassVar[Norm] = "l2"
    norms: ClassVar[tuple[NormChoice, ...]] = ("l2",)
    needs_delta = True
    composition: ClassVar[Literal["pure", "gaussian", "own"]] = "gaussian"
    over_samples: ClassVar[Literal["pure", "gaussian"] | None] = "gaussian"
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = False
    calibrated = (1e-5, 1e6)
    noise_name = "Gaussian"

    kind: Literal["gaussian"] = "gaussian"

    @override
    def part(self, epsilon: float, parts: int, delta: float) -> float:
        return gaussian_epsilon(gaussian_multiplier(epsilon, delta) * parts**0.5, delta)

    @override
    def fits(self, price: float, epsilon: float, delta: float) -> int:
        return gaussian_answers(gaussian_multiplier(price, delta), epsilon, delta)

    @override
    def accountant(self, allowance: Allowance) -> Gaussian:
        epsilon, price = allowance.epsilon, allowance.price
        if allowance.mu is not None:
            return Gaussian(allowance.answers, epsilon, 1 / allowance.mu, allowance.delta)
        one = epsilon if price is None else np.where(np.isinf(epsilon), np.inf, price)
        each = np.array([gaussian_multiplier(e, allowance.delta) for e in one.tolist()])
        if price is None:
            each *= np.sqrt(allowance.answers)
        return Gaussian(allowance.answers, epsilon, each, allowance.delta)

    @override
    def apart(self, allowance: Allowance, allotment: Allotment) -> Allowance:
        """Return μ_ik² = K_i s_ik/z_i² of each answer, z_i the multiplier of K_i equal ones."""
        with np.errstate(divide="ignore"):
            even = 1 / self.accountant(allowance).multiplier
        mu = allotment.of_owners(even) * np.sqrt(allotment.relative)
        epsilon = allotment.of_owners(allowance.epsilon)
        one = np.ones(len(mu), dtype=np.int64)
        return Allowance(one, epsilon, None, allowance.delta, mu)

    @override
    def noise(
        self, influence: Influence, allowance: Allowance, shape: Shape, grid: float | None
    ) -> GaussianNoise:
        multiplier = self.accountant(allowance).multiplier
        return GaussianNoise(2 * influence.xi * multiplier / influence.records)
