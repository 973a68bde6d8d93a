"""Releases of an owner: answers that are paid for first."""

import numpy as np

from asyncdp_sim.learning.algorithms import Turn
from asyncdp_sim.learning.released import of_owner
from asyncdp_sim.rehearsals.charges import Charges, ledger_file
from asyncdp_sim.rehearsals.orders import Order
from asyncdp_sim.rehearsals.wire import Numbers
from asyncdp_sim.streams import Scope


class OwnersReleases:
    """An owner's records and noise, behind its ledger.

    Parameters
    ----------
    order : Order
    streams : Scope
        The replicate's streams.
    number : int
        Which owner, from 1.
    """

    def __init__(self, order: Order, streams: Scope, number: int) -> None:
        steps, self._reply = order.task.steps, order.task.reply
        self._allowed = order.network.answers_allowed[number - 1]
        self._turn = Turn(np.array([number - 1]), rows=np.array([0]))
        self._charges = Charges(ledger_file(order.folder, number))
        self._unused = Charges(order.folder / f"unused-{number}.txt")
        self._answers = of_owner(self._reply, streams, number, steps.answer_size)
        for _ in range(self._charges.count):  # what a former life has released
            self._answers.give(self._turn, np.zeros((1, steps.n_features)))

    @property
    def left(self) -> int:
        """How many answers the owner may still release."""
        return self._allowed - self._charges.count

    def release(self, message: int, tick: int, points: Numbers) -> Numbers:
        """Pay for an answer to a query, then return it."""
        self._charges.charge(message, tick)
        return np.asarray(self._answers.give(self._turn, points[None])[0])

    def close(self) -> None:
        """Let go of the ledgers."""
        self._charges.close()
        self._unused.close()

    def pretend(self, points: Numbers) -> Numbers:
        """Do as much work as for an answer, and return nothing that is of records."""
        self._unused.charge(0, 0)
        return np.zeros_like(self._reply.gradients.gradient(self._turn.owners, points[None])[0])


__all__ = ["OwnersReleases"]
