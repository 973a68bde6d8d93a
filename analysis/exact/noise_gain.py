"""The cost of each owner's noise in expected fitness: one recursion for all budgets."""

import numpy as np

from analysis.exact.gossip_map import GossipMap
from analysis.exact.per_update import Shape
from asyncdp_sim.core.arrays import Array


def noise_gain(process: GossipMap, *, noise: Shape = "vector") -> Array:
    """Return ∂ E f(θ_L,k)/∂ v_i, v_i the variance of each coordinate of owner i's noise.

    The expected fitness is affine in the variances: E f(θ_L,k) − f(θ*) is its value without noise
    (:func:`~analysis.exact.per_update.moments`) plus Σ_i gain[k, i] v_i. Two recursions
    thus serve every choice of budgets: v_i = 2b_i² for Laplace noise of scale b_i.

    Let 𝒜 be the linear part of one update and G_0 the quadratic form u_LᵀHu_L. The adjoint
    recursion G_{l+1} = E 𝒜ᵀ G_l 𝒜 tells how much a deviation counts l updates later; noise of
    update k−l entered θ_i with probability π_i as s_i w, hence
    gain[k, i] = π_i s_i² Σ_{l<k} tr(F G_l,ii), with F = I ("vector") or 11ᵀ. In blocks, with
    K_i = (m² G_LL + m G_Li M_i + m M_iᵀ G_iL + M_iᵀ G_ii M_i)/4 and R_ij = (m G_Lj + M_iᵀ G_ij)/2,

        G_LL⁺ = Σ π_i K_i,   G_Li⁺ = π_i K_i + Σ_{j≠i} π_j R_ji,   G_ii⁺ = π_i K_i + (1−π_i) G_ii,
        G_ij⁺ = π_i R_ij + π_j R_jiᵀ + (1 − π_i − π_j) G_ij.

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers, and its assumptions.
    noise : str
        "vector" or "scalar-as-published", as for
        :func:`~analysis.exact.per_update.moments`.

    Returns
    -------
    array (T + 1, N)
        ≥ 0, growing with k.
    """
    n_owners, p, chance = process.n_owners, process.n_features, process.probability
    view = "iaa->i" if noise == "vector" else "iab->i"  # tr(F G_ii)
    m, stack, blocks = process.central_factor, n_owners * p, np.arange(n_owners)
    back = np.ascontiguousarray(process.factor.transpose(0, 2, 1))  # M_iᵀ
    part = chance[:, None, None]
    inner = part * (back / 2 - np.eye(p))
    gather = (part * back / 2).transpose(1, 0, 2).reshape(p, stack)  # row of ½π_i M_iᵀ
    central = process.hessian.copy()
    cross = np.zeros((p, n_owners, p))
    g = np.zeros((n_owners, p, n_owners, p))
    felt = np.zeros((process.updates + 1, n_owners))
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k in range(process.updates):
            own = g[blocks, :, blocks, :]
            felt[k + 1] = felt[k] + np.einsum(view, own)
            link = cross.transpose(1, 0, 2)  # G_Li
            bent = m * link @ process.factor
            kept = m * m * central + bent + bent.transpose(0, 2, 1)
            kept = (kept + back @ own @ process.factor) / 4  # K_i

            flat = g.reshape(stack, stack)
            rest = m / 2 * cross + (gather @ flat).reshape(p, n_owners, p)  # Σ_j π_j R_ji, every j
            alone = (m * link + back @ own) / 2  # R_ii, to be taken out
            cross_next = rest + (part * (kept - alone)).transpose(1, 0, 2)

            change = inner @ g.reshape(n_owners, p, stack)
            change += part * (m / 2 * cross.reshape(p, stack))
            square = change.reshape(stack, stack)
            flat += square
            flat += square.T
            g[blocks, :, blocks, :] = own + part * (kept - own)
            central, cross = np.tensordot(chance, kept, 1), cross_next
        gain = chance * process.step**2 * felt
    return np.asarray(gain)
