"""The server's part: whom to ask when, the model, a checkpoint and a log; nothing here is private.

Owners need not trust this file for their privacy; the owners of the model trust it with accuracy.
An owner without budget is asked no more, but it is the owner's own ledger that refuses.
"""

import json
import os
from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .steps import ServerSteps

QUIET = 300.0
"""Seconds without any reply after which a run ends; the next one goes on from its checkpoint."""


class Sent(NamedTuple):
    """A query under way: to which node and owner, what was read, and when."""

    node: int
    owner: int | None
    point: list[float] | None
    k: int
    at: float


class RunServer:
    """A run of the algorithm over a link to the owners.

    Parameters
    ----------
    plan : dict
    link : object
        ``nodes()``, ``send(node, point) -> id``, ``receive(ids) -> [(id, reply or None)]``,
        ``now()`` and ``sleep()``.
    folder : Path
        Where the checkpoint and the log are.
    digest : str
        Of the plan: a checkpoint of another plan is refused.
    """

    def __init__(self, plan: dict, link, folder: Path, digest: str) -> None:
        self.plan, self.link, self.folder = plan, link, folder
        self.protocol = plan["protocol"]
        self.names = [owner["name"] for owner in plan["owners"]]
        self._plan = digest
        saved = self._saved()
        self.learner = ServerSteps(plan["algorithm"], saved.get("state", {}))
        self._start = saved.get("start", link.now())
        self._heard = link.now()
        self.nodes: dict[int, int] = {}  # owner → node
        self.left: dict[int, int] = {}
        self.due: dict[int, float] = {}
        self._gaps: dict[int, list[float]] = {}
        self._queue: deque[int] = deque()
        self.sent: dict[str, Sent] = {}
        self._round = False

    @property
    def k(self) -> int:
        """Updates made, in all runs together."""
        return self.learner.state["k"]

    def run(self) -> str:
        """Learn until T updates are made, nobody has budget left, or nobody replies."""
        while self.k < self.plan["updates"]:
            self._meet()
            self._take_replies()
            if self.k >= self.plan["updates"]:
                break
            if len(self.left) == len(self.names) and not any(self.left.values()):
                return "no owner has budget left"
            if self.link.now() - self._heard > QUIET:
                return "nobody replied for too long"
            self._hold_round() if self.protocol["kind"] == "rounds" else self._follow_clocks()
            self.link.sleep()
        return "all updates are made"

    def _meet(self) -> None:
        """Ask nodes that are new, such as one that was started again, whose they are."""
        known = {*self.nodes.values(), *(sent.node for sent in self.sent.values())}
        for node in self.link.nodes():
            if node not in known:
                self._send(node, None, None)

    def _send(self, node: int, owner: int | None, point: np.ndarray | None) -> None:
        read = None if point is None else [float(value) for value in point]
        at = self.link.now()
        message = self.link.send(node, read)
        self.sent[message] = Sent(node, owner, read, self.k, at)

    def _ask(self, owner: int) -> None:
        self._send(self.nodes[owner], owner, self.learner.query(owner))

    def _busy(self, owner: int) -> bool:
        return any(sent.owner == owner for sent in self.sent.values())

    def _take_replies(self) -> None:
        for message, reply in self.link.receive(list(self.sent)):
            sent = self.sent.pop(message, None)
            if sent is not None:
                self._take(sent, reply)
        now = self.link.now()
        late = [m for m, s in self.sent.items() if now - s.at > self.plan["patience"]]
        for message in late:  # its answer, if it ever comes, was charged and is lost
            self._take(self.sent.pop(message), None)

    def _take(self, sent: Sent, reply: dict | None) -> None:
        """Take a reply, or note that there is none: then the node has to say who it is again."""
        now = self.link.now()
        answer = None if reply is None else reply.get("answer")
        if sent.point is not None:
            received = "" if answer is None else f"{now - self._start:.6f}"
            self._log(f"{self.names[sent.owner]},{sent.at - self._start:.6f},{received}")
        if reply is None or reply["owner"] < 0:
            for owner in [each for each, node in self.nodes.items() if node == sent.node]:
                del self.nodes[owner]
                self.due.pop(owner, None)
            return
        owner, self._heard = int(reply["owner"]), now
        self.nodes[owner], self.left[owner] = sent.node, int(reply["left"])
        self._gaps[owner] = list(reply.get("gaps", []))
        self._tick(owner, now)
        if answer is not None and owner == sent.owner:
            point = np.array(sent.point)
            self.learner.take(owner, point, np.array(answer), self.k - sent.k)
            self._save()

    def _tick(self, owner: int, now: float) -> None:
        """Set an owner's next tick, by the gaps that it has drawn."""
        gaps = self._gaps[owner]
        if self.left[owner] > 0 and gaps:
            self.due[owner] = now + gaps.pop(0)
        else:
            self.due.pop(owner, None)
            if self.left[owner] > 0 and self.protocol["kind"] != "rounds":
                self._send(self.nodes[owner], None, None)  # for more gaps

    def _follow_clocks(self) -> None:
        """Serve the owners whose clocks have ticked, one by one or all at once."""
        now = self.link.now()
        locked = self.protocol["kind"] == "request"
        for owner in sorted((o for o, at in self.due.items() if at <= now), key=self.due.get):
            at = self.due[owner]
            serving = any(sent.point is not None for sent in self.sent.values())
            if not self._busy(owner) and owner not in self._queue:
                if not locked or not (serving or self._queue):
                    self._ask(owner)
                elif self.protocol["busy"] == "queue":
                    self._queue.append(owner)
            self._tick(owner, at)
        serving = any(sent.point is not None for sent in self.sent.values())
        if self._queue and not serving:
            owner = self._queue.popleft()
            if owner in self.nodes and self.left[owner] > 0:
                self._ask(owner)

    def _hold_round(self) -> None:
        """Begin a round when the last one is over: all have answered, or its deadline is past."""
        now, deadline = self.link.now(), self.protocol["deadline"]
        if self._round:
            under_way = [m for m, sent in self.sent.items() if sent.point is not None]
            if deadline is not None and now - self._began > deadline:
                for message in under_way:
                    self._log(f"{self.names[self.sent[message].owner]},"
                              f"{self.sent.pop(message).at - self._start:.6f},")  # fmt: skip
                under_way = []
            if under_way:
                return
            self.learner.end_round()
            self._save()
            self._round = False
            if self.k >= self.plan["updates"]:
                return
        able = [owner for owner in sorted(self.nodes) if self.left[owner] > 0]
        waiting = len(self.left) < len(self.names) and self.k == 0  # for all to have come once
        if able and not waiting:
            self._round, self._began = True, now
            for owner in able:
                self._ask(owner)

    def _log(self, line: str) -> None:
        path = self.folder / "exchanges.csv"
        begins = not path.exists()
        with path.open("a", encoding="utf-8") as file:
            file.write("client,sent,received\n" * begins + line + "\n")

    def _saved(self) -> dict:
        """Return the checkpoint of a run before; empty without one."""
        path = self.folder / "checkpoint.json"
        if not path.exists():
            return {}
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["plan"] != self._plan:
            raise SystemExit(f"{path} is of another plan: move it away to begin anew")
        return saved

    def _save(self) -> None:
        """Write the checkpoint, whole or not at all, and sync it."""
        content = {"plan": self._plan, "start": self._start, "state": self.learner.state}
        partial = self.folder / "checkpoint.json.tmp"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / "checkpoint.json")
