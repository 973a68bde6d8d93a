"""One update of the exact moments of asynchronous learning, averaged over whose it is."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.moments.gossip_map import GossipMap
from asyncdp_sim.theory.moments.sample_spread import SampleSpread

Array = npt.NDArray[np.float64]


@dataclass(eq=False)
class Deviations:
    """Moments of all models' deviations u from θ*; advanced in place.

    Attributes
    ----------
    central, copies : array (p,), array (N, p)
        v_L and v_i.
    central_second : array (p, p)
        U_LL.
    cross_second : array (p, N, p)
        U_Lj, entry [:, j, :].
    copies_second : array (N, p, N, p)
        U_ij, entry [i, :, j, :].
    room : array (2, N p, N p)
        To work in: to ask for as much anew in every update takes longer than the update.
    """

    central: Array
    copies: Array
    central_second: Array
    cross_second: Array
    copies_second: Array
    room: Array

    @classmethod
    def of(cls, v: Array, u: Array) -> "Deviations":
        """Return them from those of all models together, θ_L first."""
        stack = v[1:].size
        room = np.empty((2, stack, stack))
        return cls(v[0], v[1:], u[0, :, 0], u[0][:, 1:], u[1:, :, 1:].copy(), room)


@dataclass(frozen=True, eq=False)
class Given:
    """Moments after an update, given whose it is: entry i is of owner i's.

    Attributes
    ----------
    own : array (N, p, p)
        U_ii before it.
    q, moved : array (N, p)
        q_i and M_i q_i.
    middle : array (N, p, p)
        P_i.
    central_copy, copy : array (N, p, p)
        U_Li⁺ and U_ii⁺.
    """

    own: Array
    q: Array
    moved: Array
    middle: Array
    central_copy: Array
    copy: Array


@dataclass(frozen=True, eq=False)
class Update:
    """An update of all moments, in blocks: O(N²p³).

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

    Attributes
    ----------
    process : GossipMap
        The algorithm with its numbers.
    pushed : array (N, p, p)
        s_i² Cov w_i.
    inner : array (N, p, p)
        π_i (½M_i − I), and
    outer : array (N p, p + 1)
        π_i (½M_i, e_i): E U_ij⁺ = U_ij + B_ij + B_jiᵀ with B_ij = ``inner`` U_ij +
        ``outer`` (U_Lj, v_jᵀ).
    spread : SampleSpread, optional
        Where answers are over samples of records.
    """

    process: GossipMap
    pushed: Array
    inner: Array
    outer: Array
    spread: SampleSpread | None = None

    @classmethod
    def of(cls, process: GossipMap, pushed: Array, spread: SampleSpread | None = None) -> "Update":
        """Prepare what is the same in all updates."""
        p, chance = process.n_features, process.probability[:, None, None]
        inner = chance * (process.factor / 2 - np.eye(p))
        drifts = (process.probability[:, None] * process.drift)[:, :, None]
        outer = np.concatenate([chance * process.factor / 2, drifts], 2)
        return cls(process, pushed, inner, outer.reshape(process.n_owners * p, p + 1), spread)

    def advance(self, now: Deviations) -> None:
        """Make the update."""
        process, given = self.process, self._given(now)
        m, a, chance = process.central_factor, process.central_drift, process.probability
        cross = self._crossed(now, given)
        self._advance_copies(now, given)
        tilt = m * np.outer(chance @ given.q, a)
        now.central_second = (
            m * m * np.tensordot(chance, given.middle, 1) + tilt + tilt.T + np.outer(a, a)
        )
        now.cross_second = cross
        now.central = m * chance @ given.q + a
        now.copies = now.copies + chance[:, None] * (given.moved + process.drift - now.copies)

    def _given(self, now: Deviations) -> Given:
        """Return the moments that depend on whose update it is."""
        m, a = self.process.central_factor, self.process.central_drift
        big, e = self.process.factor, self.process.drift
        cross = now.cross_second.transpose(1, 0, 2)  # (N, p, p): U_Li
        each = np.arange(len(now.copies))
        own = now.copies_second[each, :, each, :]
        q = (now.central + now.copies) / 2
        middle = (now.central_second + cross + cross.transpose(0, 2, 1) + own) / 4
        moved = (big @ q[:, :, None])[:, :, 0]
        central_copy = (
            m * middle @ big.transpose(0, 2, 1)
            + m * q[:, :, None] * e[:, None, :]
            + a[:, None] * (moved + e)[:, None, :]
        )
        mixed = moved[:, :, None] * e[:, None, :]
        copy = big @ middle @ big.transpose(0, 2, 1) + mixed + mixed.transpose(0, 2, 1)
        copy += e[:, :, None] * e[:, None, :] + self.pushed
        if self.spread is not None:
            copy += np.square(self.process.step)[:, None, None] * self.spread.at(middle, q)
        return Given(own, q, moved, middle, central_copy, copy)

    def _crossed(self, now: Deviations, given: Given) -> Array:
        """Return U_Lj after the update."""
        process, chance = self.process, self.process.probability
        n_owners, p = process.n_owners, process.n_features
        m, a, v = process.central_factor, process.central_drift, now.copies
        cross = now.cross_second.transpose(1, 0, 2)
        met = (chance @ now.copies_second.reshape(n_owners, -1)).reshape(p, n_owners, p)
        # as if the update were another's for every i; then i = j is taken out
        rest = m / 2 * (now.cross_second + met) + a[:, None, None] * v
        alone = m / 2 * (cross + given.own) + a[:, None] * v[:, None, :]
        changed = chance[:, None, None] * (given.central_copy - alone)
        return np.asarray(rest + changed.transpose(1, 0, 2))

    def _advance_copies(self, now: Deviations, given: Given) -> None:
        """Make U_ij what it is after the update."""
        n_owners, p, chance = len(now.copies), len(now.central), self.process.probability
        stack, each, u = n_owners * p, np.arange(n_owners), now.copies_second
        change, more = now.room
        np.matmul(self.inner, u.reshape(n_owners, p, stack), out=change.reshape(n_owners, p, stack))
        known = np.concatenate([now.cross_second.reshape(p, stack), now.copies.reshape(1, stack)])
        change += np.matmul(self.outer, known, out=more)
        flat = u.reshape(stack, stack)
        flat += change
        flat += change.T
        u[each, :, each, :] = given.own + chance[:, None, None] * (given.copy - given.own)
