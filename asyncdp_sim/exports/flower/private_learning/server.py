"""The server's part: whom to ask when, the model, a checkpoint and a log; nothing here is private.

Owners need not trust this file for their privacy; the owners of the model trust it with accuracy.
An owner without budget is asked no more, but it is the owner's own ledger that refuses.
"""

import json
import logging
import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .ledger import REASONS
from .steps import ServerSteps

LOG = logging.getLogger("flwr")
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds until a node is asked again after a failure or refusal: doubled for each in a row."""
PROGRESS = 60.0
"""Seconds between two lines of progress, at least."""


class Sent(NamedTuple):
    """A query under way: to which node and owner, what was read, after which update, and when."""

    node: int
    owner: int | None
    point: list[float] | None
    k: int
    at: float
    until: float


@dataclass
class Party:
    """An owner, as far as the server knows it."""

    name: str
    most: int
    answers: int = 0
    """Received in all runs of the plan, whatever its ledger says."""
    node: int | None = None
    left: int | None = None
    """What its ledger has left, as it says itself."""
    refused: str = ""
    gaps: list[float] = field(default_factory=list)
    ticks: deque[float] = field(default_factory=deque)

    @property
    def spent(self) -> bool:
        """Whether its ledger has nothing left, or K_i answers have arrived."""
        return self.left == 0 or self.answers >= self.most

    def tick_from(self, now: float) -> None:
        """Let the announced gaps between ticks begin now."""
        self.ticks = deque((now + np.cumsum(self.gaps)).tolist())

    def status(self) -> str:
        """Return in words what the owner's part was."""
        if self.spent:
            return "spent"
        if self.refused:
            return f"refused: {self.refused}"
        if self.node is None:
            return "never connected"
        return "answered" if self.answers > 0 else "never answered"


class AsyncStrategy:
    """A run of a plan, or the rest of it by the checkpoint in a folder.

    A link to the owners has ``nodes()``, ``send(node, point, timeout)``, which returns a message's
    id, ``receive(ids, until)``, which waits no longer than until a time and returns pairs of an id
    and a reply, and ``now()``. ``wait`` is how many seconds owners have to connect at the start,
    and after which a run ends if no owner with budget can answer.
    """

    def __init__(self, plan: dict, link, folder: Path, digest: str, wait: float) -> None:
        self.plan, self.link, self.wait = plan, link, wait
        self.rounds = plan["protocol"]["kind"] == "rounds"
        self.one_by_one = plan["protocol"]["kind"] == "request"
        self._checkpoint, self._log = folder / "checkpoint.json", folder / "exchanges.csv"
        self._model = folder / "model.json"
        self._saved = {"plan": digest, "start": link.now(), "state": {}, "answers": {}}
        if self._checkpoint.exists():
            self._saved = json.loads(self._checkpoint.read_text(encoding="utf-8"))
        if self._saved["plan"] != digest:
            raise ValueError(f"{self._checkpoint} is of another plan: move it away to begin anew")
        if not self._log.exists():
            self._log.write_text("client,sent,received\n", encoding="utf-8")
        self.learner = ServerSteps(plan["algorithm"], self._saved["state"])
        if self.rounds:
            self.learner.gather_anew()  # the answers of a round that was not ended are lost
        counts = self._saved["answers"]
        self.parties = [
            Party(each["name"], each["answers"], counts.get(each["name"], 0))
            for each in plan["owners"]
        ]
        self._sent: dict[str, Sent] = {}
        self._owner_of: dict[int, int] = {}
        self._fails: dict[int, int] = {}
        self._again: dict[int, float] = {}
        self._queue: deque[int] = deque()
        self._warned: dict[str, str] = {}
        self.begun: float | None = None
        self._first, self._able = (self.k, link.now()), link.now()
        self._reported = link.now()

    @property
    def k(self) -> int:
        """Updates made, in all runs together."""
        return self.learner.state["k"]

    def start(self) -> bool:
        """Learn until T updates are made or no owner can answer; return whether that was its end.

        The end is logged, and stands in ``model.json``.
        """
        LOG.info("starts at update %d of %d", self.k, self.plan["updates"])
        while not (ending := self._ending()):
            there = self.link.nodes()
            self._introduce(there)
            self._query(there)
            replies = dict(self.link.receive(list(self._sent), self._next_time(there)))
            self._query(there)  # first: until now, these replies were under way
            self._take_replies(replies)
            if any(self._can_answer(party, there) for party in self.parties):
                self._able = self.link.now()
        owners = {
            p.name: {"status": p.status(), "answers": p.answers, "of": p.most} for p in self.parties
        }
        complete = not ending.startswith("no owner can answer")
        model = {"model": self.learner.state["central"], "updates": self.k, "end": ending,
                 "complete": complete, "owners": owners}  # fmt: skip
        _write(self._model, model)
        for party in self.parties:
            LOG.info("%s: %s, %d answers of %d", party.name, party.status(), party.answers,
                     party.most)  # fmt: skip
        LOG.info("update %d of %d: %s", self.k, self.plan["updates"], ending)
        return complete

    def _ending(self) -> str:
        """Return why the run ends; nothing while it goes on."""
        if self.k >= self.plan["updates"]:
            return "all updates are made"
        if all(party.spent for party in self.parties):
            return "no owner has budget left"
        if self.begun is not None and self.link.now() - self._able >= self.wait:
            states = ", ".join(f"{party.name} {party.status()}" for party in self.parties)
            return f"no owner can answer since {self.wait:g} seconds ({states})"
        return ""

    def _can_answer(self, party: Party, there: set[int]) -> bool:
        return party.node in there and not party.refused and not party.spent

    def _next_time(self, there: set[int]) -> float:
        """Return when there is something to do, whether or not a reply arrives."""
        times = [sent.until for sent in self._sent.values()]
        times += [self._again[node] for node in self._strangers(there) if node in self._again]
        if self.begun is None:
            return min([self._first[1] + self.wait, *times])
        times += [self._able + self.wait]
        able = [party for party in self.parties if self._can_answer(party, there)]
        return min(times + [party.ticks[0] for party in able if party.ticks])

    def _has_begun(self) -> bool:
        """Begin once all owners have connected, or ``wait`` is over; return whether that is so."""
        now = self.link.now()
        absent = [party.name for party in self.parties if party.node is None]
        if self.begun is None and (not absent or now >= self._first[1] + self.wait):
            self.begun = now
            if absent:
                LOG.warning("goes on after %g seconds without %s: never connected",
                            self.wait, ", ".join(absent))  # fmt: skip
            for party in self.parties:
                party.tick_from(now)
        return self.begun is not None

    def _strangers(self, there: set[int]) -> list[int]:
        """Return nodes to be asked whose they are, and what they have left."""
        asked = {sent.node for sent in self._sent.values()}
        return [node for node in sorted(there - asked) if self._is_stranger(node, there)]

    def _is_stranger(self, node: int, there: set[int]) -> bool:
        if node not in self._owner_of:
            return True
        party = self.parties[self._owner_of[node]]
        if party.node != node:  # a second node of an owner is of use once the first is gone
            return party.node not in there
        return not party.ticks and not party.spent

    def _introduce(self, there: set[int]) -> None:
        for node in self._strangers(there):
            if self._again.get(node, 0.0) <= self.link.now():
                self._send(node)

    def _send(self, node: int, owner: int | None = None) -> None:
        now, point = self.link.now(), None if owner is None else self.learner.query(owner).tolist()
        timeout = self.plan["patience"]
        sent = Sent(node, owner, point, self.k, now, now + timeout)
        self._sent[self.link.send(node, point, timeout)] = sent

    def _asked(self) -> set[int]:
        return {sent.owner for sent in self._sent.values() if sent.owner is not None}

    def _query(self, there: set[int]) -> None:
        """Send queries: to all owners in a round, or to those whose clocks have ticked."""
        if not self._has_begun():
            return
        nodes = {sent.node for sent in self._sent.values()}
        able = [
            owner for owner, party in enumerate(self.parties)
            if self._can_answer(party, there) and party.ticks
        ]  # fmt: skip
        if not self.rounds:
            self._follow(able)
        elif not self._asked():
            for owner in able:
                if self.parties[owner].node not in nodes:
                    self._send(self.parties[owner].node, owner)

    def _follow(self, able: list[int]) -> None:
        """Serve the owners whose clocks have ticked: each at once, or one by one over request."""
        now = self.link.now()
        ticks = {owner: self.parties[owner].ticks for owner in able}
        due = [owner for owner in able if ticks[owner][0] <= now]
        for _, owner in sorted((ticks[owner].popleft(), owner) for owner in due):
            waiting = self._asked() | set(self._queue)
            queues = self.plan["protocol"]["busy"] == "queue"
            if owner not in waiting and (queues or not self.one_by_one or not waiting):
                self._queue.append(owner)
        while self._queue and not (self.one_by_one and self._asked()):
            owner = self._queue.popleft()
            if owner in able:
                self._send(self.parties[owner].node, owner)

    def _take_replies(self, replies: dict[str, dict]) -> None:
        now = self.link.now()
        there = self.link.nodes()
        over = [m for m, sent in self._sent.items() if sent.until <= now or sent.node not in there]
        for message, reply in {**{message: {} for message in over}, **replies}.items():
            self._take(self._sent.pop(message), reply)
        gathered = self.learner.state["weight"] > 0
        if self.rounds and gathered and not self._asked():
            self.learner.end_round()
            self._save()
            self._report()

    def _take(self, sent: Sent, reply: dict) -> None:
        """Take a reply; an empty one is a failure, whose answer may be charged and is lost."""
        now, answer = self.link.now(), np.array(reply.get("answer", []))
        answered = answer.shape == (self.plan["size"],) and bool(np.isfinite(answer).all())
        if sent.owner is not None:
            start, name = self._saved["start"], self.parties[sent.owner].name
            received = f"{now - start:.6f}" if answered else ""
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{name},{sent.at - start:.6f},{received}\n")
        if "owner" in reply and not self._is_its_node(int(reply["owner"]), sent.node):
            return
        owner = self._owner_of.get(sent.node)
        party = (
            None if owner is None or self.parties[owner].node != sent.node else self.parties[owner]
        )
        if "left" not in reply or (sent.owner is not None and not answered):
            self._fail(sent.node, party, reply)
            return
        self._again.pop(sent.node, None)
        party.left, party.refused = int(reply["left"]), ""
        party.gaps = list(reply.get("gaps", [np.inf]))
        party.tick_from(now)
        if answered and owner == sent.owner:
            party.answers += 1
            self._fails.pop(sent.node, None)
            self._warned.pop(party.name, None)
            before = self.k
            self.learner.take(owner, np.array(sent.point), answer, self.k - sent.k)
            self._save()
            if self.k > before:
                self._report()
        if party.left > party.most - party.answers:
            text = "charged fewer answers than have arrived: it has a second ledger, or an old one"
            self._warn(f"{party.name}'s ledger", f"{party.name} has {text} was restored")

    def _is_its_node(self, owner: int, node: int) -> bool:
        """Return whether a node speaks for an owner, and remember a node that is new."""
        party, there = self.parties[owner], self.link.nodes()
        self._owner_of[node] = owner
        if party.node not in (None, node) and party.node in there:
            self._warn(f"node {node}", f"node {node} claims to be {party.name}, as node "
                       f"{party.node} does, and is not asked while that is connected: two ledgers "
                       "of one owner would be two budgets")  # fmt: skip
            return False
        if party.node != node:
            LOG.info("%s connected, by node %d", party.name, node)
        party.node = node
        return True

    def _fail(self, node: int, party: Party | None, reply: dict) -> None:
        """Ask a node later again that refuses, or from which nothing came."""
        fails = self._fails[node] = self._fails.get(node, 0) + 1
        pause = min(FIRST_PAUSE * 2 ** (fails - 1), LONGEST_PAUSE)
        self._again[node] = self.link.now() + pause
        who = f"node {node}" if party is None else party.name
        if "refused" in reply:
            reason = REASONS[int(reply["refused"])]
            self._warn(who, f"{who} refuses ({reason}): its own log says more")
            if party is not None:
                party.refused, party.left = reason, 0 if reason == "spent" else party.left
        else:
            text = "no answer from %s, asked again in %g s: if this goes on, its owner starts the "
            LOG.warning(text + "node again", who, pause)
        if party is not None:
            party.gaps = []
            party.ticks.clear()  # so that it is asked what it has left

    def _warn(self, about: str, text: str) -> None:
        """Log a line once, and again when it changes."""
        if self._warned.get(about) != text:
            LOG.warning(text)
        self._warned[about] = text

    def _report(self) -> None:
        """Log progress, and when the end is expected: by the forecast, or by this run's speed."""
        now, total = self.link.now(), self.plan["updates"]
        made = self.k - self._first[0]
        if now - self._reported < PROGRESS:
            return
        self._reported, each = now, (now - self.begun) / made
        LOG.info("update %d of %d, %.3g a minute: about %.0f minutes left", self.k, total,
                 60 / each, (total - self.k) * each / 60)  # fmt: skip

    def _save(self) -> None:
        answers = {party.name: party.answers for party in self.parties}
        _write(self._checkpoint, {**self._saved, "state": self.learner.state, "answers": answers})


def _write(path: Path, content: dict) -> None:
    """Write a JSON file, whole or not at all, and sync it."""
    partial = path.with_suffix(".tmp")
    with partial.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
