"""The processes of a rehearsal: started, watched, started again, and ended."""

import asyncio
import os
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from asyncdp_sim import outside
from asyncdp_sim.errors import MachineError
from asyncdp_sim.rehearsals.learner import LearnerPeer, Rehearsed
from asyncdp_sim.rehearsals.orders import Order
from asyncdp_sim.rehearsals.owner import OwnerPeer
from asyncdp_sim.rehearsals.wire import run_here
from asyncdp_sim.runs.workers import begin, server_of

LIVES = 5
"""How often an owner whose process is killed is started, before it is gone."""


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
    restarts : int
        How often an owner was started again.
    """

    def __init__(self, order: Order, tell: Callable[[int], None] = lambda updates: None) -> None:  # noqa: ARG005
        self._tell = tell
        # A server that has read the package forks each process: quick, and without threads.
        self._context: Any = server_of(__name__, "scipy.special")
        self._pipe, theirs = self._context.Pipe()
        self._packed = outside.packed(order)
        self.learner = self._started(_learn, theirs)
        theirs.close()
        self.owners: dict[int, BaseProcess] = {}
        self.restarts = 0
        self._lives = dict.fromkeys(range(1, order.network.n_owners + 1), 0)

    def run(self) -> Rehearsed:
        """Start owners, and wait until the learner has what it was asked for.

        Raises
        ------
        MachineError
            If the learner's process is killed.
        """
        port = self._heard()
        for owner in self._lives:
            self._start(owner, port)
        while True:
            alive = {process.sentinel: owner for owner, process in self.owners.items()}
            ready = wait([self._pipe, self.learner.sentinel, *alive])
            if self._pipe in ready or self.learner.sentinel in ready:
                said = self._heard()
                if isinstance(said, Rehearsed):
                    return said
                self._tell(said)
            for sentinel in ready:
                if sentinel in alive:
                    self._ended(alive[sentinel], port)

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
        """Return what the learner says."""
        try:
            said = self._pipe.recv()
        except (EOFError, OSError):
            raise MachineError("the process of the learner was killed") from None
        if isinstance(said, BaseException):
            raise said
        return said

    def _start(self, owner: int, port: int) -> None:
        self._lives[owner] += 1
        self.owners[owner] = self._started(_own, owner, port)

    def _started(self, work: Callable[..., None], *given: Any) -> BaseProcess:
        process = self._context.Process(target=work, args=(self._packed, *given), daemon=True)
        process.start()
        return process  # type: ignore[no-any-return]

    def _ended(self, owner: int, port: int) -> None:
        """Start an owner again whose process was killed, unless that has happened too often."""
        process = self.owners.pop(owner)
        process.join()
        if process.exitcode == 0:  # the run is over, or there is no learner any more
            return
        if process.exitcode is None or process.exitcode > 0:
            raise MachineError(f"the process of owner {owner} failed")
        if self._lives[owner] < LIVES:
            self.restarts += 1
            self._start(owner, port)
        else:
            self._pipe.send(owner)


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
    loop.add_reader(pipe.fileno(), _told, peer, pipe)
    try:
        return await peer.run(pipe.send)
    finally:
        loop.remove_reader(pipe.fileno())


def _told(peer: LearnerPeer, pipe: Connection) -> None:
    """Hear who is gone for good; where it is the command itself, be gone too."""
    try:
        peer.leave(pipe.recv())
    except (EOFError, OSError):
        os._exit(1)


def _own(packed: bytes, owner: int, port: int) -> None:
    begin({})
    run_here(OwnerPeer(pickle.loads(packed), owner).run(port))
