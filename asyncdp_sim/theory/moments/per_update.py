"""The exact mean and second moment of asynchronous learning after every update.

No Monte Carlo: owners i_k and noise are averaged over exactly, by a linear recursion.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.arguments import finite, refused
from asyncdp_sim.theory.moments.gossip_map import GossipMap
from asyncdp_sim.theory.moments.sample_spread import SampleSpread
from asyncdp_sim.theory.moments.update import Deviations, Update
from asyncdp_sim.threads import one_thread

Array = npt.NDArray[np.float64]
Initial = Literal["zeros", "ones", "uniform"]
Shape = Literal["vector", "scalar-as-published"]


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
    """Run the recursion for T updates; see :class:`~asyncdp_sim.theory.moments.update.Update`.

    It is affine in the noise variances: :mod:`~asyncdp_sim.theory.moments.noise_gain` serves many
    budgets. Where the algorithm diverges, so do its moments (to infinity or NaN).

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

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    update = Update.of(process, injected(process, noise_variance, noise), spread)
    now = Deviations.of(*started(process, initial))
    mean, second = [now.central], [now.central_second]
    diverging = np.errstate(over="ignore", invalid="ignore")  # then there is nothing to warn of
    with one_thread(), diverging:  # several threads wait for each other longer than they work
        for _ in range(process.updates):
            update.advance(now)
            mean.append(now.central)
            second.append(now.central_second)
    optimum = process.optimum
    return Moments(
        hessian=process.hessian,
        optimum=optimum,
        mean=np.array(mean) + optimum,
        second=np.array(second),
        copies_mean=now.copies + optimum,
        copies_second=now.copies_second,
        cross_second=now.cross_second,
    )


def injected(process: GossipMap, noise_variance: Array | None, noise: Shape) -> Array:
    """Return s_i² Cov w_i, the second moment that an answer's noise adds to θ_i, (N, p, p).

    Raises
    ------
    SpecError
        If the variances do not fit the owners or are negative.
    """
    variance = variances(process, noise_variance, noise)
    return np.asarray(variance[:, None, None] * form_of(process, noise))


def form_of(process: GossipMap, noise: Shape) -> Array:
    """Return the covariance of noise of variance 1, (p, p): I, or 11ᵀ where draws are shared."""
    p = process.n_features
    return np.eye(p) if noise == "vector" else np.ones((p, p))


def variances(process: GossipMap, noise_variance: Array | None, noise: Shape) -> Array:
    """Return the variance s_i² Var w_i of each coordinate of what noise adds to θ_i, (N,).

    Of (N, K), the first, second … answer of each owner, where that is what is given.

    Raises
    ------
    SpecError
        As :func:`injected`.
    """
    if noise not in ("vector", "scalar-as-published"):
        raise refused("noise", repr(noise), "vector or scalar-as-published")
    given = np.zeros(process.n_owners) if noise_variance is None else noise_variance
    variance = finite("noise_variance", given, (process.n_owners, *given.shape[1:2]))
    if np.any(variance < 0):
        raise refused("noise_variance", variance.tolist(), "numbers ≥ 0")
    return np.asarray((process.step**2 * variance.T).T)


def started(process: GossipMap, initial: Initial) -> tuple[Array, Array]:
    """Return E u (N + 1, p) and E uuᵀ (N + 1, p, N + 1, p) of all models at k = 0, θ_L first.

    Raises
    ------
    SpecError
        If the start is unknown.
    """
    if initial not in ("zeros", "ones", "uniform"):
        raise refused("initial", repr(initial), "zeros, ones or uniform")
    n_models, p = process.n_owners + 1, process.n_features
    v = np.tile(
        {"zeros": 0.0, "ones": 1.0, "uniform": 0.5}[initial] - process.optimum, (n_models, 1)
    )
    u = v[:, :, None, None] * v
    blocks = np.arange(n_models)
    if initial == "uniform":
        u[blocks, :, blocks, :] += np.eye(p) / 12
    return v, u
