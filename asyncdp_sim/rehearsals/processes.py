"""The processes of a rehearsal: started, watched, and ended."""

import asyncio
import os
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from asyncdp_sim.core.errors import MachineError
from asyncdp_sim.rehearsals.config import Order
from asyncdp_sim.rehearsals.learner import LearnerPeer, Rehearsed
from asyncdp_sim.rehearsals.owner import OwnerPeer
from asyncdp_sim.rehearsals.transport import run_here
from asyncdp_sim.runs.workers import begin, server_of
from asyncdp_sim.spec import plugins


class Crew:
    """A learner and its owners, each a process, over one replicate.

    Parameters
    ----------
    order : Order
    tell : callable
        Told the number of updates so far, now and then.

    Attributes
    ----------
    owners : dict
        From an owner (from 1) to its process.
    learner : BaseProcess
    """

    def __init__(self, order: Order, tell: Callable[[int], object]) -> None:
        self._tell = tell
        # A server that has read the package forks each process: quick, and without threads.
        self._context: Any = server_of(__name__, "scipy.special")
        self._pipe, theirs = self._context.Pipe()
        self._packed = plugins.packed(order)
        self.learner = self._started(_learn, theirs)
        theirs.close()
        self.owners: dict[int, BaseProcess] = {}
        self._n_owners = order.network.n_owners

    def run(self) -> Rehearsed:
        """Start owners, and wait until the learner has what it was asked for.

        Raises
        ------
        MachineError
            If a process is killed.
        """
        port = self._heard()
        for owner in range(1, self._n_owners + 1):
            self.owners[owner] = self._started(_own, owner, port)
        while True:
            alive = {process.sentinel: owner for owner, process in self.owners.items()}
            ready = wait([self._pipe, self.learner.sentinel, *alive])
            if self._pipe in ready or self.learner.sentinel in ready:
                message = self._heard()
                if isinstance(message, Rehearsed):
                    return message
                self._tell(message)
            for owner in [alive[sentinel] for sentinel in ready if sentinel in alive]:
                process = self.owners.pop(owner)
                process.join()
                if process.exitcode != 0:
                    raise MachineError(f"the process of owner {owner} was killed, or failed")

    def close(self) -> None:
        """End all processes that are left."""
        every = [self.learner, *self.owners.values()]
        for process in every:
            process.kill()
        for process in every:
            process.join()
            process.close()
        self._pipe.close()

    def _heard(self) -> Any:
        """Return the learner's message."""
        try:
            message = self._pipe.recv()
        except (EOFError, OSError):
            raise MachineError("the process of the learner was killed") from None
        if isinstance(message, BaseException):
            raise message
        return message

    def _started(self, work: Callable[..., None], *given: Any) -> BaseProcess:
        process: BaseProcess = self._context.Process(
            target=work, args=(self._packed, *given), daemon=True
        )
        process.start()
        return process


def _learn(packed: bytes, pipe: Connection) -> None:
    begin({})
    order = pickle.loads(packed)
    try:
        pipe.send(run_here(_held(pipe, order)))
    except Exception as error:
        pipe.send(error)


async def _held(pipe: Connection, order: Order) -> Rehearsed:
    peer = LearnerPeer(order, pipe.send)
    loop = asyncio.get_running_loop()
    loop.add_reader(pipe.fileno(), os._exit, 1)  # it says nothing: the command has ended
    try:
        return await peer.run(pipe.send)
    finally:
        loop.remove_reader(pipe.fileno())


def _own(packed: bytes, owner: int, port: int) -> None:
    begin({})
    run_here(OwnerPeer(pickle.loads(packed), owner).run(port))
