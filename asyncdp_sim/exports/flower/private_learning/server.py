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
_NOBODY = "no owner can answer"
PROGRESS, SETTLED = 60.0, 10
"""Seconds between two lines of progress, at least; and updates that show a run's pace."""


class Sent(NamedTuple):
    """A query under way: to which node and owner, what was read, after which update, and when."""

    node: int
    owner: int | None
    point: list[float] | None
    k: int
    at: float


@dataclass
class Party:
    """An owner, as far as the server knows it."""

    name: str
    most: int
    """K_i: answers that its budget allows, in all runs of the plan."""
    answers: int = 0
    """Received in all runs of the plan, whatever its ledger says."""
    node: int | None = None
    left: int | None = None
    """What its ledger has left, as it says itself."""
    refused: str = ""
    gaps: list[float] = field(default_factory=list)
    """Seconds between its next ticks, as its last reply announced them."""
    ticks: deque[float] = field(default_factory=deque)
    """Times of its next ticks, in seconds of the link's clock."""

    @property
    def spent(self) -> bool:
        """Whether its ledger has nothing left, or K_i answers have arrived."""
        return self.left == 0 or self.answers >= self.most

    @property
    def is_able(self) -> bool:
        """Whether it has connected, has budget, and does not refuse."""
        return self.node is not None and not self.refused and not self.spent

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
        self.plan, self.link, self.wait, self._folder = plan, link, wait, folder
        self.rounds = plan["protocol"]["kind"] == "rounds"
        self.one_by_one = plan["protocol"]["kind"] == "request"
        self._checkpoint, self._log = folder / "checkpoint.json", folder / "exchanges.csv"
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
        self.parties = [Party(each["name"], each["answers"]) for each in plan["owners"]]
        for party in self.parties:
            party.answers = self._saved["answers"].get(party.name, 0)
        # Queries under way, by the id of their message.
        self._sent: dict[str, Sent] = {}
        # Which owner each node says it speaks for; a node outside is a stranger.
        self._owner_of: dict[int, int] = {}
        # Failures and refusals of a node in a row.
        self._fails: dict[int, int] = {}
        # When a node that has failed or refused may be asked again.
        self._ask_again_at: dict[int, float] = {}
        # Owners whose clocks have ticked and that are not asked yet, in the order of their ticks.
        self._queue: deque[int] = deque()
        # The last warning of each subject, so that it is not logged twice in a row.
        self._warned: dict[str, str] = {}
        # When clocks began to tick: all owners had connected, or the wait was over.
        self.begun: float | None = None
        # Updates made before this run, from which its pace is counted.
        self._first = self.k
        self._started = link.now()
        # When an owner that can answer was last there.
        self._last_able_at = link.now()
        # When progress was last logged.
        self._reported = link.now()

    @property
    def k(self) -> int:
        """Updates made, in all runs together."""
        return self.learner.state["k"]

    def start(self) -> bool:
        """Learn to the end, which is logged and stands in ``model.json``.

        Returns
        -------
        bool
            True if T updates are made or all budgets are spent; False if no owner with budget
            could answer for ``wait`` seconds, so that a later run may go on.
        """
        (self._folder / "model.json").unlink(missing_ok=True)  # it would be of an earlier run
        LOG.info("starts at update %d of %d", self.k, self.plan["updates"])
        while not (ending := self._ending()):
            there = self.link.nodes()
            self._query(there)
            replies = dict(self.link.receive(list(self._sent), self._next_time(there)))
            self._query(there)  # first: until now, these replies were under way
            self._take_replies(replies)
            if any(party.node in there and party.is_able for party in self.parties):
                self._last_able_at = self.link.now()
        complete = ending != _NOBODY
        owners = {
            party.name: {"status": party.status(), "answers": party.answers, "of": party.most}
            for party in self.parties
        }
        model = {"model": self.learner.state["central"], "updates": self.k, "end": ending}
        _write(self._folder / "model.json", {**model, "complete": complete, "owners": owners})
        for name, part in owners.items():
            LOG.info("%s: %s, %d answers of %d", name, *part.values())
        LOG.info("update %d of %d: %s", self.k, self.plan["updates"], ending)
        return complete

    def _ending(self) -> str:
        """Return why the run ends; nothing while it goes on."""
        if self.k >= self.plan["updates"]:
            return "all updates are made"
        if all(party.spent for party in self.parties):
            return "no owner has budget left"
        over = self.begun is not None and self.link.now() - self._last_able_at >= self.wait
        return _NOBODY if over else ""

    def _askable(self, there: set[int]) -> list[int]:
        """Return the owners that are there, have budget, and do not refuse."""
        askable = (party.is_able and party.ticks and party.node in there for party in self.parties)
        return [owner for owner, holds in enumerate(askable) if holds]

    def _next_time(self, there: set[int]) -> float:
        """Return when there is something to do, whether or not a reply arrives."""
        times = [sent.at + self.plan["patience"] for sent in self._sent.values()]
        again = self._ask_again_at
        times += [again[node] for node in self._strangers(there) if node in again]
        if self.begun is None:
            return min([self._started + self.wait, *times])
        times += [self.parties[owner].ticks[0] for owner in self._askable(there)]
        return min([self._last_able_at + self.wait, *times])

    def _has_begun(self) -> bool:
        """Begin once all owners have connected, or ``wait`` is over; return whether that is so."""
        now = self.link.now()
        absent = [party.name for party in self.parties if party.node is None]
        if self.begun is None and (not absent or now >= self._started + self.wait):
            self.begun = now
            if absent:
                LOG.warning("goes on without %s: never connected", ", ".join(absent))
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

    def _send(self, node: int, owner: int | None = None) -> None:
        point = None if owner is None else self.learner.query(owner).tolist()
        message = self.link.send(node, point, self.plan["patience"])
        self._sent[message] = Sent(node, owner, point, self.k, self.link.now())

    def _asked(self) -> set[int]:
        return {sent.owner for sent in self._sent.values() if sent.owner is not None}

    def _query(self, there: set[int]) -> None:
        """Ask strangers who they are, and send queries: in a round, or when clocks have ticked."""
        for node in self._strangers(there):
            if self._ask_again_at.get(node, 0.0) <= self.link.now():
                self._send(node)
        if not self._has_begun():
            return
        able = self._askable(there)
        if not self.rounds:
            self._follow(able)
        elif not self._asked():
            for owner in able:
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
        there, now, patience = self.link.nodes(), self.link.now(), self.plan["patience"]
        for message, sent in list(self._sent.items()):
            if message in replies or sent.at + patience <= now or sent.node not in there:
                del self._sent[message]
                self._take(sent, replies.get(message, {}))
        gathered = self.learner.state["weight"] > 0
        if self.rounds and gathered and not self._asked():
            self.learner.end_round()
            self._save()
            self._report()

    def _take(self, sent: Sent, reply: dict) -> None:
        """Take a reply; an empty one is a failure, whose answer may be charged and is lost."""
        now, answer = self.link.now(), np.array(reply.get("answer", []))
        # 1. An answer counts if it was asked for and is a vector of the model's size. A reply for
        #    an owner that the plan does not have counts as none.
        answered = (
            sent.owner is not None
            and answer.shape == (self.plan["size"],)
            and np.isfinite(answer).all()
        )
        if reply.get("owner", sent.owner) not in (sent.owner, *range(len(self.parties))):
            reply = {}
        # 2. Every query to an owner is logged, whether or not it was answered.
        if sent.owner is not None:
            start, name = self._saved["start"], self.parties[sent.owner].name
            received = f"{now - start:.6f}" if answered else ""
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{name},{sent.at - start:.6f},{received}\n")
        # 3. A second node of an owner is not listened to.
        if "owner" in reply and not self._is_its_node(int(reply["owner"]), sent.node):
            return
        unknown = Party(f"node {sent.node}", 0)
        party = next((party for party in self.parties if party.node == sent.node), unknown)
        # 4. A refusal, or a query without an answer: the node is asked again later.
        if "left" not in reply or (sent.owner is not None and not answered):
            self._fail(sent.node, party, reply)
            return
        # 5. What the ledger has left, and the next ticks.
        self._ask_again_at.pop(sent.node, None)
        party.left, party.refused = int(reply["left"]), ""
        party.gaps = list(reply.get("gaps", [np.inf]))
        party.tick_from(now)
        # 6. The answer enters the model, which is saved before anything else is asked.
        if answered and party is self.parties[sent.owner]:
            party.answers += 1
            self._fails.pop(sent.node, None)
            self._warned.pop(party.name, None)
            before = self.k
            self.learner.take(sent.owner, np.array(sent.point), answer, self.k - sent.k)
            self._save()
            if self.k > before:
                self._report()
        # 7. A ledger that has charged fewer answers than arrived is not the one that paid for them.
        if party.left > party.most - party.answers:
            text = "has charged fewer answers than arrived: a second or a restored ledger"
            self._warn(f"{party.name}'s ledger", f"{party.name} {text}")

    def _is_its_node(self, owner: int, node: int) -> bool:
        """Return whether a node speaks for an owner, and remember a node that is new."""
        party, there = self.parties[owner], self.link.nodes()
        self._owner_of[node] = owner
        if party.node not in (None, node) and party.node in there:
            text = f"node {node} claims to be {party.name}, as node {party.node} does: not asked"
            self._warn(f"node {node}", text + " (two ledgers would be two budgets)")
            return False
        if party.node != node:
            LOG.info("%s connected, by node %d", party.name, node)
        party.node = node
        return True

    def _fail(self, node: int, party: Party, reply: dict) -> None:
        """Ask a node later again that refuses, or from which nothing came."""
        fails = self._fails[node] = self._fails.get(node, 0) + 1
        pause = min(FIRST_PAUSE * 2.0 ** min(fails - 1, 50), LONGEST_PAUSE)
        self._ask_again_at[node] = self.link.now() + pause
        if "refused" in reply:
            party.refused = REASONS[int(reply["refused"]) % len(REASONS)]
            party.left = 0 if party.refused == "spent" else party.left
            self._warn(party.name, f"{party.name} refuses ({party.refused}): its own log says more")
        else:
            text = "no answer from %s (asked again in %g s): if this goes on, start its node again"
            LOG.warning(text, party.name, pause)
        party.gaps = []
        party.ticks.clear()  # so that it is asked what it has left

    def _warn(self, about: str, text: str) -> None:
        """Log a line once, and again when it changes."""
        if self._warned.get(about) != text:
            LOG.warning(text)
        self._warned[about] = text

    def _report(self) -> None:
        """Log progress, and when the end is expected: by the forecast, later by this run's pace."""
        now, total, made = self.link.now(), self.plan["updates"], self.k - self._first
        if now - self._reported < PROGRESS:
            return
        pace = self.plan["expected_seconds"] / total
        if made >= SETTLED:
            pace = (now - self.begun) / made
        self._reported, left = now, (total - self.k) * pace / 60
        LOG.info("update %d of %d: about %.0f minutes left", self.k, total, left)

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
