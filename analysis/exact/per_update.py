"""The exact mean and second moment of asynchronous learning after every update.

No Monte Carlo: owners i_k and noise are averaged over exactly, by a linear recursion.

Asynchronous learning on quadratic losses is seen as a random affine map of all models, whose
numbers :mod:`~analysis.exact.turns` needs too.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.formulas import refused
from asyncdp_sim.theory.formulas.convergence import CentralStep

Initial = Literal["zeros", "ones", "uniform"]
Shape = Literal["vector", "scalar-as-published"]


@dataclass(frozen=True, eq=False)
class GossipMap:
    """One update of Algorithm 1 (Async), in deviations u = θ − θ* from the optimum.

    With C_i = X_iᵀX_i/n_i, r_i = X_iᵀy_i/n_i, H = Σ (n_i/n) C_i + (σ/2) I, θ* = H⁻¹ Σ (n_i/n) r_i,
    an update with owner i replaces, where ū = (u_L + u_i)/2 and w is the answer's noise,

        u_L by m ū + a,    u_i by M_i ū + e_i − s_i w,    and leaves all others as they are;

        s_i = (Nρ/(T²σ)) n_i/n,  M_i = (1 − ρ/(2T²)) I − 2 s_i C_i,  e_i = M_i θ* − θ* + 2 s_i r_i,
        (both s_i and ρ/(2T²) in M_i divided by Nπ_i where selection is "inverse-rate"),
        m = 1 − βσ,  a = (m − 1) θ*,  β = ρ/(2T²σ) ("proof") or (N−1)ρ/(N T²σ) ("text").

    Assumes the loss (y − θᵀx)², ∇g = σθ, no clipping of gradients, a projection that never acts,
    answers at staleness 0, and owners i_k independent with probabilities π_i.

    Attributes
    ----------
    optimum : array (p,)
        θ*.
    hessian : array (p, p)
        H; f(θ) − f(θ*) = uᵀHu.
    central_factor : float
        m.
    central_drift : array (p,)
        a.
    factor : array (N, p, p)
        M_i.
    drift : array (N, p)
        e_i.
    step : array (N,)
        s_i.
    probability : array (N,)
        π_i.
    updates : int
        T.
    """

    optimum: Array
    hessian: Array
    central_factor: float
    central_drift: Array
    factor: Array
    drift: Array
    step: Array
    probability: Array
    updates: int

    @property
    def n_owners(self) -> int:
        """Number of owners N."""
        return len(self.step)

    @property
    def n_features(self) -> int:
        """Number of features p."""
        return len(self.optimum)


def gossip_map_of(
    objective: Quadratic,
    *,
    rho: float,
    updates: int,
    central_step: CentralStep = "proof",
    probability: Array | None = None,
    inverse_rate: bool = False,
) -> GossipMap:
    """Fill in the numbers of :class:`GossipMap`.

    Parameters
    ----------
    objective : Quadratic
        With C_i, r_i, n_i/n and σ > 0.
    rho : float
        ρ > 0.
    updates : int
        T ≥ 1, the horizon that the step is made for and the number of updates.
    central_step : str
        "proof" or "text".
    probability : array (N,), optional
        π_i; uniform by default.
    inverse_rate : bool
        Whether the step is divided by Nπ_i, so that owners that come unequally often count alike;
        else it keeps its factor N whatever π is (as published).

    Raises
    ------
    SpecError
        If the unconstrained θ* is not inside Θ, so that the projection acts.
    """
    share, square, inner = objective.weights, objective.gram, objective.moment
    n_owners, n_features = inner.shape
    identity, rate = np.eye(n_features), rho / updates**2
    hessian = np.tensordot(share, square, 1) + objective.sigma / 2 * identity
    optimum: Array = np.linalg.solve(hessian, share @ inner).astype(float)
    bound = objective.theta_max
    if bound is not None and np.max(np.abs(optimum)) >= bound:
        raise refused("theta_max", bound, "a box that holds the optimum in its interior, or none")
    chance = np.full(n_owners, 1 / n_owners) if probability is None else probability
    often = n_owners * chance if inverse_rate else np.ones(n_owners)
    step = n_owners * rate / objective.sigma * share / often
    kept = rate / 2 / often
    factor = (1 - kept)[:, None, None] * identity - 2 * step[:, None, None] * square
    shrink = rate / 2 if central_step == "proof" else (n_owners - 1) / n_owners * rate
    return GossipMap(
        optimum=optimum,
        hessian=hessian,
        central_factor=1 - shrink,
        central_drift=-shrink * optimum,
        factor=factor,
        # e_i = −(ρ/(2T²)) θ* − 2 s_i (C_i θ* − r_i), without the cancellation of M_i θ* − θ*
        drift=-kept[:, None] * optimum - 2 * step[:, None] * (square @ optimum - inner),
        step=step,
        probability=chance,
        updates=updates,
    )


@dataclass(frozen=True, eq=False)
class CentralMoments:
    """Means and second moments of one model, k = 0 … T; deviations are taken from θ*.

    Attributes
    ----------
    hessian : array (p, p)
        H.
    optimum : array (p,)
        θ*.
    mean : array (T + 1, p)
        E θ_L,k.
    second : array (T + 1, p, p)
        E (θ_L,k − θ*)(θ_L,k − θ*)ᵀ.
    """

    hessian: Array
    optimum: Array
    mean: Array
    second: Array

    @property
    def covariance(self) -> Array:
        """Cov θ_L,k, shape (T + 1, p, p)."""
        bias = self.mean - self.optimum
        with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
            return np.asarray(self.second - bias[:, :, None] * bias[:, None, :])

    @property
    def bias(self) -> Array:
        """‖E θ_L,k − θ*‖₂, shape (T + 1,)."""
        return np.asarray(np.linalg.norm(self.mean - self.optimum, axis=1))

    @property
    def reach(self) -> float:
        """The largest |E θ_L,k| + 6 sd over coordinates and k."""
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.sqrt(np.maximum(np.einsum("kaa->ka", self.covariance), 0.0))
            return float((np.abs(self.mean) + 6 * spread).max())

    def expected_excess(self, hessian: Array | None = None, optimum: Array | None = None) -> Array:
        """Return E f(θ_L,k) − f(θ*) = tr(H E uuᵀ), shape (T + 1,); ψ is this over f(θ*).

        Parameters
        ----------
        hessian, optimum : array (p, p), array (p,), optional
            Of another quadratic fitness (uᵀHu about its own optimum) that judges the model, such
            as one over more records; the training one by default.
        """
        judge = self.hessian if hessian is None else hessian
        excess = np.einsum("kab,ab->k", self.second, judge)
        if optimum is not None:
            shift = self.optimum - optimum
            slope = judge @ shift
            excess = excess + 2 * (self.mean - self.optimum) @ slope + shift @ slope
        return np.asarray(excess)


@dataclass(frozen=True, eq=False)
class Moments(CentralMoments):
    """Those of the learner's model, and of the owners' copies at the end.

    Attributes
    ----------
    copies_mean : array (N, p)
        E θ_i after the last update.
    copies_second : array (N, p, N, p)
        E (θ_i − θ*)(θ_j − θ*)ᵀ after the last update, entry [i, :, j, :].
    cross_second : array (p, N, p)
        E (θ_L − θ*)(θ_j − θ*)ᵀ after the last update, entry [:, j, :].
    """

    copies_mean: Array
    copies_second: Array
    cross_second: Array


def moments(
    process: GossipMap,
    noise_variance: Array | None = None,
    *,
    noise: Shape = "vector",
    initial: Initial = "zeros",
    spread: SampleSpread | None = None,
) -> Moments:
    """Run the recursion for T updates, in blocks: O(N²p³) each.

    Let v = E u and U = E uuᵀ be the moments of all models' deviations u from θ*, with blocks
    v_L, v_i, U_LL, U_Lj, U_ij, and for owner i (notation of :class:`GossipMap`)
    q_i = (v_L + v_i)/2, P_i = (U_LL + U_Li + U_iL + U_ii)/4, Q_ij = (U_Lj + U_ij)/2.
    Given i_k = i,

        v_L⁺ = m q_i + a,   v_i⁺ = M_i q_i + e_i,
        U_LL⁺ = m² P_i + m (q_i aᵀ + a q_iᵀ) + aaᵀ,
        U_Li⁺ = m P_i M_iᵀ + m q_i e_iᵀ + a (M_i q_i + e_i)ᵀ,    U_Lj⁺ = m Q_ij + a v_jᵀ,
        U_ii⁺ = M_i P_i M_iᵀ + M_i q_i e_iᵀ + e_i (M_i q_i)ᵀ + e_i e_iᵀ + s_i² (Cov w_i + Cov g_i),
        U_ij⁺ = M_i Q_ij + e_i v_jᵀ  (j ≠ i),

    Cov g_i being that of gradients over samples at (P_i, q_i), if they are; the rest stays; the
    next moments are the averages over i with weights π_i.

    It is affine in the noise variances. Where the algorithm diverges, so do its moments (to
    infinity or NaN).

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers, and its assumptions.
    noise_variance : array (N,), optional
        Variance of each coordinate of owner i's noise, ≥ 0: 2b_i² for Laplace noise of scale b_i.
        Absent: no noise.
    noise : str
        "vector": Cov w = variance · I. "scalar-as-published": one draw on all coordinates,
        Cov w = variance · 11ᵀ.
    initial : str
        All models start at 0, at 1, or each coordinate of each on its own uniform on [0, 1).
    spread : SampleSpread, optional
        Where answers are over samples of records: their spread depends on the model.
    """
    n, p, chance = process.n_owners, process.n_features, process.probability
    m, a, big, e = process.central_factor, process.central_drift, process.factor, process.drift
    pushed = variances(process, noise_variance)[:, None, None] * form_of(process, noise)
    part, stack, blocks = chance[:, None, None], n * p, np.arange(n)
    # E U_ij⁺ = U_ij + B_ij + B_jiᵀ with B_ij = inner U_ij + outer (U_Lj, v_jᵀ)
    inner = part * (big / 2 - np.eye(p))
    outer = np.concatenate([part * big / 2, (chance[:, None] * e)[:, :, None]], 2)
    outer = outer.reshape(stack, p + 1)
    v, u = started(process, initial)
    v_central, v_copies, central, cross = v[0], v[1:], u[0, :, 0], u[0][:, 1:]
    copies = u[1:, :, 1:].copy()
    change, more = np.empty((2, stack, stack))  # asked for once: that takes longer than an update
    mean, second = [v_central], [central]
    diverging = np.errstate(over="ignore", invalid="ignore")  # then there is nothing to warn of
    with one_thread(), diverging:  # several threads wait for each other longer than they work
        for _ in range(process.updates):
            link, own = cross.transpose(1, 0, 2), copies[blocks, :, blocks, :]  # U_Li and U_ii
            q = (v_central + v_copies) / 2
            middle = (central + link + link.transpose(0, 2, 1) + own) / 4  # P_i
            moved = (big @ q[:, :, None])[:, :, 0]
            central_copy = (
                m * middle @ big.transpose(0, 2, 1)
                + m * q[:, :, None] * e[:, None, :]
                + a[:, None] * (moved + e)[:, None, :]
            )
            mixed = moved[:, :, None] * e[:, None, :]
            copy = big @ middle @ big.transpose(0, 2, 1) + mixed + mixed.transpose(0, 2, 1)
            copy += e[:, :, None] * e[:, None, :] + pushed
            if spread is not None:
                copy += np.square(process.step)[:, None, None] * spread.at(middle, q)

            # U_Lj as if the update were another's for every i; then i = j is taken out
            met = (chance @ copies.reshape(n, -1)).reshape(p, n, p)
            rest = m / 2 * (cross + met) + a[:, None, None] * v_copies
            alone = m / 2 * (link + own) + a[:, None] * v_copies[:, None, :]
            crossed = rest + (part * (central_copy - alone)).transpose(1, 0, 2)

            np.matmul(inner, copies.reshape(n, p, stack), out=change.reshape(n, p, stack))
            models = np.concatenate([cross.reshape(p, stack), v_copies.reshape(1, stack)])
            change += np.matmul(outer, models, out=more)
            flat = copies.reshape(stack, stack)
            flat += change
            flat += change.T
            copies[blocks, :, blocks, :] = own + part * (copy - own)

            tilt = m * np.outer(chance @ q, a)
            central = m * m * np.tensordot(chance, middle, 1) + tilt + tilt.T + np.outer(a, a)
            cross, v_central = crossed, m * chance @ q + a
            v_copies = v_copies + chance[:, None] * (moved + e - v_copies)
            mean.append(v_central)
            second.append(central)
    optimum = process.optimum
    return Moments(
        hessian=process.hessian,
        optimum=optimum,
        mean=np.array(mean) + optimum,
        second=np.array(second),
        copies_mean=v_copies + optimum,
        copies_second=copies,
        cross_second=cross,
    )


def form_of(process: GossipMap, noise: Shape) -> Array:
    """Return the covariance of noise of variance 1, (p, p): I, or 11ᵀ where draws are shared."""
    p = process.n_features
    return np.eye(p) if noise == "vector" else np.ones((p, p))


def variances(process: GossipMap, noise_variance: Array | None) -> Array:
    """Return the variance s_i² Var w_i of each coordinate of what noise adds to θ_i, (N,).

    Of (N, K), the first, second … answer of each owner, where that is what is given.
    """
    values = np.zeros(process.n_owners) if noise_variance is None else noise_variance
    return np.asarray((process.step**2 * values.T).T)


def drawn(initial: Initial) -> tuple[float, float]:
    """Return mean and variance of each coordinate of a model at k = 0."""
    return {"zeros": (0.0, 0.0), "ones": (1.0, 0.0), "uniform": (0.5, 1 / 12)}[initial]


def started(process: GossipMap, initial: Initial) -> tuple[Array, Array]:
    """Return E u (N + 1, p) and E uuᵀ (N + 1, p, N + 1, p) of all models at k = 0, θ_L first."""
    mean, scatter = drawn(initial)
    n_models, p = process.n_owners + 1, process.n_features
    v = np.tile(mean - process.optimum, (n_models, 1))
    u = v[:, :, None, None] * v
    blocks = np.arange(n_models)
    if scatter > 0:
        u[blocks, :, blocks, :] += scatter * np.eye(p)
    return v, u
