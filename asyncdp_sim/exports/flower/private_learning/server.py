"""The server's part: whom to ask when, the model, a checkpoint and a log; nothing here is private.

Owners need not trust this file for their privacy; the owners of the model trust it with accuracy.
An owner without budget is asked no more, but it is the owner's own ledger that refuses.
"""

import json
import logging
import os
from collections import deque
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .steps import ServerSteps


class Sent(NamedTuple):
    """A query under way: to which node and owner, what was read, after which update, and when."""

    node: int
    owner: int | None
    point: list[float] | None
    k: int
    at: float


class RunServer:
    """A run of a plan, or the rest of it by the checkpoint in a folder.

    A link to the owners has ``nodes()``, ``send(node, point)``, which returns a message's id,
    ``receive(ids)``, which returns pairs of an id and a reply, and ``now()``.
    """

    def __init__(self, plan: dict, link, folder: Path, digest: str) -> None:
        self.plan, self.link, self.protocol = plan, link, plan["protocol"]
        self._checkpoint, self._log = folder / "checkpoint.json", folder / "exchanges.csv"
        self._saved = {"plan": digest, "start": link.now(), "state": {}}
        if self._checkpoint.exists():
            self._saved = json.loads(self._checkpoint.read_text(encoding="utf-8"))
        if self._saved["plan"] != digest:
            raise SystemExit(f"{self._checkpoint} is of another plan: move it away to begin anew")
        if not self._log.exists():
            self._log.write_text("client,sent,received\n", encoding="utf-8")
        self.learner = ServerSteps(plan["algorithm"], self._saved["state"])
        self._sent: dict[str, Sent] = {}
        self._nodes: dict[int, int] = {}  # by owner, as are all that follow
        self._left: dict[int, int] = {}
        self._ticks: dict[int, deque[float]] = {}
        self._queue: deque[int] = deque()

    @property
    def k(self) -> int:
        """Updates made, in all runs together."""
        return self.learner.state["k"]

    def run(self) -> str:
        """Learn until T updates are made, or nobody has budget left, and return which."""
        while self.k < self.plan["updates"]:
            met = len(self._left) == len(self.plan["owners"])
            if met and not any(self._left.values()):
                return "no owner has budget left"
            there = self.link.nodes()
            self._meet(there)
            replies = dict(self.link.receive(list(self._sent)))
            able = [o for o, node in self._nodes.items() if self._left[o] > 0 and node in there]
            if self.protocol["kind"] != "rounds":
                self._follow(able)  # first: until now, these replies were under way
            elif (met or self.k > 0) and not self._asked():  # the first round waits for all
                for owner in able:
                    self._send(self._nodes[owner], owner)
            self._take_replies(replies)
        return "all updates are made"

    def _meet(self, there: set[int]) -> None:
        """Ask new nodes whose they are, and owners whose announced ticks are over for more."""
        asked = {sent.node for sent in self._sent.values()}
        known = {node for owner, node in self._nodes.items() if self._ticks[owner]}
        for node in there - asked - known:
            self._send(node)

    def _send(self, node: int, owner: int | None = None) -> None:
        point = None if owner is None else self.learner.query(owner).tolist()
        sent = Sent(node, owner, point, self.k, self.link.now())
        self._sent[self.link.send(node, point)] = sent

    def _asked(self) -> set[int]:
        return {sent.owner for sent in self._sent.values() if sent.owner is not None}

    def _follow(self, able: list[int]) -> None:
        """Serve the owners whose clocks have ticked: each at once, or one by one over request."""
        now, one_by_one = self.link.now(), self.protocol["kind"] == "request"
        due = [o for o in able if self._ticks[o] and self._ticks[o][0] <= now]
        for _, owner in sorted((self._ticks[o].popleft(), o) for o in due):
            waiting = self._asked() | set(self._queue)
            free = not one_by_one or not waiting or self.protocol["busy"] == "queue"
            if free and owner not in waiting:
                self._queue.append(owner)
        while self._queue and not (one_by_one and self._asked()):
            owner = self._queue.popleft()
            if owner in able:
                self._send(self._nodes[owner], owner)

    def _take_replies(self, replies: dict[str, dict]) -> None:
        now, patience = self.link.now(), self.plan["patience"]
        late = {m: {} for m, sent in self._sent.items() if now - sent.at > patience}
        for message, reply in {**late, **replies}.items():
            self._take(self._sent.pop(message), reply)
        gathered = self.learner.state["weight"] > 0
        if self.protocol["kind"] == "rounds" and gathered and not self._asked():
            self.learner.end_round()
            self._save()

    def _take(self, sent: Sent, reply: dict) -> None:
        """Take a reply; an empty one is a failure, whose answer may be charged and is lost."""
        at, answer = self.link.now(), reply.get("answer")
        if len(reply) == 0:
            names = {node: self.plan["owners"][o]["name"] for o, node in self._nodes.items()}
            who = names.get(sent.node, f"node {sent.node}")
            text = "no answer from %s: if this goes on, its owner starts the node again"
            logging.getLogger("flwr").warning(text, who)
        if sent.owner is not None:
            start, name = self._saved["start"], self.plan["owners"][sent.owner]["name"]
            received = "" if answer is None else f"{at - start:.6f}"
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{name},{sent.at - start:.6f},{received}\n")
        if "owner" in reply:
            owner, gaps = int(reply["owner"]), reply.get("gaps", [np.inf])
            self._nodes[owner], self._left[owner] = sent.node, int(reply["left"])
            self._ticks[owner] = deque((at + np.cumsum(gaps)).tolist())
            if answer is not None and owner == sent.owner:
                point, answer = np.array(sent.point), np.array(answer)
                self.learner.take(owner, point, answer, self.k - sent.k)
                self._save()
        elif sent.owner is not None:
            self._ticks[sent.owner].clear()  # so that it is asked what it has left

    def _save(self) -> None:
        """Write the checkpoint, whole or not at all, and sync it."""
        partial = self._checkpoint.with_suffix(".tmp")
        with partial.open("w", encoding="utf-8") as file:
            json.dump({**self._saved, "state": self.learner.state}, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._checkpoint)
