"""The ledger: ε that each owner has spent. It charges answers at release, delivered or not."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.accountants.pairs import Attacker, of_gaussian, of_pure
from asyncdp_sim.privacy.observers import Listener, TranscriptObserver
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class Ledger:
    """The spending of the owners of R replicates, folded from their traces.

    Attributes
    ----------
    accountant : Accountant
    released : array of int (R, N)
        Distinct noisy answers whose first transmission began. A retransmission does not count; an
        answer that is computed again does.
    spent : array (R, N)
        ε spent; infinite where records of the owner are public.
    zcdp : array (R, N), optional
        ρ spent; None of mechanisms that are not Gaussian.
    median : array (R, N), optional
        ε against the median of several observers; None for a single observer of all answers.
    """

    accountant: Accountant
    released: Ints
    spent: Array
    zcdp: Array | None = None
    median: Array | None = None

    @classmethod
    def from_traces(
        cls,
        accountant: Accountant,
        traces: Sequence[Trace],
        public: Sequence[int] = (),
        observer: Listener | None = None,
    ) -> "Ledger":
        """Fold traces; ``public`` has the number of each owner's records that the learner knows.

        ``observer`` is the attacker that ε is stated for; absent, one that receives every answer.

        Raises
        ------
        InvariantError
            If an owner spent more than its budget.
        """
        released = np.stack([trace.released for trace in traces])
        learned = (observer or TranscriptObserver()).learned(accountant, traces)
        charged = learned.most
        _require_within(accountant.epsilon, charged)
        if len(public) > 0:
            charged = np.where(np.array(public) > 0, np.inf, charged)
        return cls(accountant, released, charged, learned.zcdp, learned.median)

    def attacker(self, owners: int, times: float) -> Attacker:
        """Return the rates of an attacker that uses all it receives, (R, N).

        The record is held by the owner and κ − 1 others, those that spent the most.

        Parameters
        ----------
        owners : int
            κ, owners that hold the record.
        times : float
            True cost of answers over their charge; ∞ if they may reveal anything.
        """
        unprotected = np.isinf(self.spent) | np.isinf(times)
        if self.zcdp is not None:  # Gaussian noise, whose ``times`` is 1 or ∞
            # ρ of the answers that the observer receives, not of all released ones
            rho = np.where(unprotected, np.inf, self.zcdp)
            return of_gaussian(np.sqrt(2 * _shared(rho, owners)))
        if owners == 1 and times == 1:
            limits = self.accountant.attacker(self.released)
            return Attacker(
                np.where(unprotected, 1.0, limits.power),
                np.where(unprotected, 1.0, limits.advantage),
            )
        with np.errstate(invalid="ignore"):  # 0 · ∞
            cost = np.where(unprotected, np.inf, self.spent * times)
        return of_pure(_shared(cost, owners), self.accountant.delta)

    def ratio(self) -> float | None:
        """Return the largest spent share of a finite budget; None if no budget is finite."""
        finite = np.isfinite(self.accountant.epsilon)
        if not finite.any():
            return None
        return float((self.spent[:, finite] / self.accountant.epsilon[finite]).max())

    def shared(self, owners: int) -> float:
        """Return the largest ε, over replicates, of a record that so many owners (κ) share."""
        if np.isinf(self.spent).any():
            return np.inf
        return max(self.accountant.together(released, owners) for released in self.released)


def _shared(cost: Array, owners: int) -> Array:
    """Return the joint spending of each owner and the κ − 1 others that spent the most."""
    dearest = np.sort(cost, axis=-1)[..., ::-1]
    other_costs = dearest[..., : owners - 1].sum(axis=-1, keepdims=True)
    return np.asarray(other_costs + np.minimum(cost, dearest[..., owners - 1 : owners]))


def _require_within(budget: Array, charged: Array) -> None:
    """Raise if more was charged than an owner's budget, up to the rounding of sums."""
    above = np.argwhere(charged > budget * (1 + 1e-9))
    if len(above) > 0:
        row, owner = above[0]
        sentence = f"owner {owner + 1} spent ε = {charged[row, owner]:g} of {budget[owner]:g}"
        raise InvariantError(f"the ledger is above a budget: {sentence} (row {row + 1})")
