"""A link to owners in one process, by a virtual clock: nothing sleeps, and no Flower is needed."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Reply = dict[str, Any]
Node = Callable[[np.ndarray | None], Reply | None]
"""From a point, or None, to the reply; None if none ever comes, empty if Flower says so."""


@dataclass
class _Message:
    """A query under way: its reply is due at a time, and it is cancelled at an end."""

    node: int
    point: list[float] | None
    due: float
    end: float


class World:
    """Nodes that answer after an exchange's time; a message without an answer ends as Flower's do.

    Attributes
    ----------
    parties : dict
        From a node's number to what it replies; may change while a run goes on.
    exchange : callable
        Returns the seconds of the next exchange.
    at : list
        Pairs of a time and what happens then.
    """

    def __init__(self, parties: dict[int, Node], exchange: Callable[[], float]) -> None:
        self.parties, self.exchange = parties, exchange
        self.at: list[tuple[float, Callable[[], object]]] = []
        self.clock, self.limit, self.messages = 0.0, 1e5, 0
        self.sent: list[tuple[float, int, bool]] = []
        self._open: dict[str, _Message] = {}

    def nodes(self) -> set[int]:
        return set(self.parties)

    def send(self, node: int, point: list[float] | None, timeout: float) -> str:
        assert node not in (each.node for each in self._open.values()), "a second query of a node"
        self.messages += 1
        self.sent.append((self.clock, node, point is not None))
        due, end = self.clock + self.exchange(), self.clock + timeout
        self._open[str(self.messages)] = _Message(node, point, due, end)
        return str(self.messages)

    def receive(self, ids: list[str], until: float) -> Iterable[tuple[str, Reply]]:
        times = [min(self._open[each].due, self._open[each].end) for each in ids]
        times += [time for time, _ in self.at]
        self.clock = max(self.clock, min([until, *times], default=math.inf))
        assert self.clock < self.limit, "the run does not end"
        for time, happens in [each for each in self.at if each[0] <= self.clock]:
            self.at.remove((time, happens))
            happens()
        for identity in ids:
            message, reply = self._open[identity], None
            if message.node not in self.parties:
                reply = {}
            elif message.due <= self.clock:
                reply = self._answer(message)
            if message.end <= self.clock and reply is None:
                reply = {}
                if message.due < math.inf:  # under way: its answer is charged, and nobody takes it
                    self.at.append((message.due, lambda late=message: self._answer(late)))
            if reply is not None:
                del self._open[identity]
                yield identity, reply

    def _answer(self, message: "_Message") -> Reply | None:
        message.due = math.inf
        if message.node not in self.parties:
            return None
        point = None if message.point is None else np.array(message.point)
        return self.parties[message.node](point)

    def end_run(self) -> None:
        """Cancel what is under way, as Flower does when a run ends."""
        self._open.clear()

    def now(self) -> float:
        return self.clock


class FakeOwner:
    """An owner without rows, whose answers are all 0.1, with a ledger in memory."""

    def __init__(self, place: int, left: int, ticks: Callable[[], Reply] = dict) -> None:
        self.place, self.left, self.ticks = place, left, ticks
        self.charged, self.lost, self.silent, self.refusal = 0, False, False, None

    def __call__(self, point: np.ndarray | None) -> Reply | None:
        if self.refusal is not None:
            return {"owner": self.place, "refused": self.refusal}
        if point is not None and self.silent:
            return None
        reply: Reply = {"owner": self.place, **self.ticks()}
        if point is not None:
            if self.left == 0:
                return {"owner": self.place, "refused": 5}
            self.charged += 1
            self.left -= 1
            reply["answer"] = [0.1] * len(point)
            if self.lost:
                return {}
        return {**reply, "left": self.left}


def fake_world(plan: dict[str, Any], left: list[int]) -> tuple[World, dict[int, FakeOwner]]:
    """Return a world of fake owners at nodes 100, 101, ..., whose exchanges take a second."""
    draw = np.random.default_rng(5)

    def ticks(place: int) -> Callable[[], Reply]:
        has = plan["owners"][place]["mean_gap"] is not None
        return lambda: {"gaps": draw.exponential(size=8).tolist()} if has else {}

    owners = {place: FakeOwner(place, most, ticks(place)) for place, most in enumerate(left)}
    return World({100 + place: owner for place, owner in owners.items()}, lambda: 1.0), owners
