"""Minimises the hinge loss over a box: a primal-dual interior-point method.

min (λ/2)‖θ‖² + Σ ξ_j, ξ_j ≥ 0, ξ_j ≥ 1 − y_j θᵀx_j, |θ| ≤ θ_max, with λ = nσ. Each iteration
solves one p×p system (Ferris and Munson, "Interior-point methods for massive support vector
machines", SIAM J. Optimization 13 (2002)), with Mehrotra's predictor and corrector. What is
returned is judged by the duality gap: for any α ∈ [0, 1]ⁿ, v = (1/n) Σ α_j y_j x_j,

f(θ*) ≥ D(α) = (1/n) Σ α_j + min over Θ of (σ/2)‖θ‖² − vᵀθ.
"""

import numpy as np

from asyncdp_sim.learning.objectives.losses import Array, Fit, unsolved
from asyncdp_sim.learning.objectives.minimisers.newton import solve

PROMISED = 1e-8
"""Largest duality gap f(θ*) − D(α), relative to f(θ*)."""
_AIM = 1e-14
_ITERATIONS = 400
_PATIENCE = 3


def duality_gap(
    fit: Fit, x: Array, y: Array, sigma: float, theta_max: float | None
) -> tuple[float, float]:
    """Return f(θ) and f(θ) − D(α) of a fit with the hinge loss, α_j = −y_j s_j."""
    bound = np.inf if theta_max is None else theta_max
    theta, alpha = fit.theta, -y * fit.slopes
    primal = sigma / 2 * theta @ theta + np.maximum(0, 1 - y * (x @ theta)).mean()
    pull = -x.T @ fit.slopes / len(y)
    lowest = np.clip(pull / sigma, -bound, bound)
    dual = alpha.mean() + sigma / 2 * lowest @ lowest - pull @ lowest
    return float(primal), float(primal - dual)


def interior(x: Array, y: Array, sigma: float, theta_max: float | None) -> Fit:
    """Return the minimum of (σ/2)‖θ‖² + (1/n) Σ max(0, 1 − y_j θᵀx_j) over ‖θ‖_∞ ≤ θ_max.

    Raises
    ------
    DataError
        If the relative duality gap stays above :data:`PROMISED`.
    """
    bound = np.inf if theta_max is None else theta_max
    rows = x * y[:, None]
    state = _State(rows, len(y) * sigma, theta_max)
    found, best, left = Fit(state.theta, 0 * y), np.inf, _PATIENCE
    for _ in range(_ITERATIONS):
        with np.errstate(all="ignore"):  # what is found is judged, however it was
            state.advance()
            fit = _fit_of(state, y, sigma, bound)
            value, gap = duality_gap(fit, x, y, sigma, theta_max)
        if not np.isfinite(gap):
            break
        reached = abs(gap) / value
        left = _PATIENCE if reached < best / 2 else left - 1
        if reached < best:
            found, best = fit, reached
        if best <= _AIM or (best <= PROMISED / 100 and left <= 0):
            break
    if best > PROMISED:
        raise unsolved(sigma, best, PROMISED)
    return found


def _fit_of(state: "_State", y: Array, sigma: float, bound: float) -> Fit:
    """Return the state's θ and α brought into Θ and [0, 1]ⁿ, θ on the boundary where α puts it."""
    alpha = np.clip(state.alpha, 0, 1)
    pull = state.rows.T @ alpha / len(y) / sigma
    inside = np.clip(state.theta, -bound, bound)
    return Fit(np.where(np.abs(pull) >= bound, np.sign(pull) * bound, inside), -y * alpha)


class _State:
    """Primal and dual variables, all slacks and multipliers positive."""

    def __init__(self, rows: Array, ridge: float, theta_max: float | None) -> None:
        n, p = rows.shape
        self.rows, self.ridge, self.boxed = rows, ridge, theta_max is not None
        self.bound = 1.0 if theta_max is None else theta_max
        self.theta = np.zeros(p)
        self.loss = np.full(n, 2.0)  # ξ, and 1 − α, its multiplier
        self.spare = np.full(n, 0.5)
        self.slack = np.ones(n)  # ξ − (1 − y θᵀx), and α, its multiplier
        self.alpha = np.full(n, 0.5)
        self.room = np.full((2, p), self.bound)  # θ + θ_max, θ_max − θ, and their multipliers
        self.push = np.full((2, p), 1 / self.bound if self.boxed else 0.0)

    def advance(self) -> None:
        """Take one predictor-corrector step."""
        weight = 1 / (self.slack / self.alpha + self.loss / self.spare)
        matrix = (self.rows * weight[:, None]).T @ self.rows
        matrix[np.diag_indices_from(matrix)] += self.ridge + (self.push / self.room).sum(axis=0)
        mean = self._products()
        tried = self._direction(matrix, weight, 0.0, None)
        reach = self._length(tried)
        after = self._products(tried, reach)
        step = self._direction(matrix, weight, mean * (after / mean) ** 3, tried)
        length = 0.9995 * self._length(step)
        for name, change in zip(_NAMES, step, strict=True):
            setattr(self, name, getattr(self, name) + length * change)

    def _products(self, step: tuple[Array, ...] | None = None, length: float = 0.0) -> float:
        """Return the mean product of slacks and multipliers after a step."""
        now: list[Array] = [getattr(self, name) for name in _NAMES]
        if step is not None:
            now = [value + length * change for value, change in zip(now, step, strict=True)]
        _, loss, spare, slack, alpha, room, push = now
        count = 2 * len(loss) + (room.size if self.boxed else 0)
        return float((loss @ spare + slack @ alpha + (room * push).sum()) / count)

    def _length(self, step: tuple[Array, ...]) -> float:
        """Return the longest step ≤ 1 that leaves all slacks and multipliers non-negative."""
        length = 1.0
        for name, change in zip(_NAMES[1:], step[1:], strict=True):
            falls = change < 0
            if falls.any():
                length = min(length, float(np.min(getattr(self, name)[falls] / -change[falls])))
        return length

    def _direction(
        self, matrix: Array, weight: Array, target: float, tried: tuple[Array, ...] | None
    ) -> tuple[Array, ...]:
        """Return the Newton step towards products of slack and multiplier equal to ``target``."""
        _, d_loss, d_spare, d_slack, d_alpha, d_room, d_push = tried or (0.0,) * len(_NAMES)
        to_slack = target - self.slack * self.alpha - d_slack * d_alpha
        to_loss = target - self.loss * self.spare - d_loss * d_spare
        to_room = (target - self.room * self.push - d_room * d_push) if self.boxed else 0.0
        off_sum = 1 - self.alpha - self.spare
        off_slack = self.rows @ self.theta + self.loss - 1 - self.slack
        sign = np.array([[1.0], [-1.0]])
        off_room = self.bound + sign * self.theta - self.room if self.boxed else 0.0
        pull = self.rows.T @ self.alpha + self.push[0] - self.push[1] - self.ridge * self.theta
        keen = self.alpha / self.slack
        total = keen + self.spare / self.loss
        rest = to_slack / self.slack + to_loss / self.loss - off_sum
        fixed = to_slack / self.slack - keen / total * rest - weight * off_slack
        walls = (to_room - self.push * off_room) / self.room
        theta = solve(matrix, pull + self.rows.T @ fixed + walls[0] - walls[1])
        moved = self.rows @ theta
        alpha = fixed - weight * moved
        loss = (rest - keen * (moved + off_slack)) / total
        room = sign * theta + off_room if self.boxed else np.zeros_like(self.room)
        return (
            theta,
            loss,
            (to_loss - self.spare * loss) / self.loss,
            moved + loss + off_slack,
            alpha,
            room,
            (to_room - self.push * room) / self.room,
        )


_NAMES = ("theta", "loss", "spare", "slack", "alpha", "room", "push")
