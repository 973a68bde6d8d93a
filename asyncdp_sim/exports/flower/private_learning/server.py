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
    ticks: deque[float] = field(default_factory=deque)
    """Times of its next ticks, by the link's clock; if none is left, it is asked for more."""

    @property
    def spent(self) -> bool:
        """Whether its ledger has nothing left, as it says, or K_i answers have arrived."""
        return self.left == 0 or self.answers >= self.most

    @property
    def next_tick(self) -> float:
        """When its clock ticks next."""
        return self.ticks[0] if self.ticks else np.inf

    def part(self) -> dict:
        """Return what its part was; lost answers are charged, and came too late or never."""
        status = "answered" if self.answers > 0 else "never answered"
        if self.spent:
            status = "spent"
        elif self.refused:
            status = f"refused: {self.refused}"
        elif self.node is None:
            status = "never connected"
        lost = 0 if self.left is None else max(self.most - self.left - self.answers, 0)
        return {"status": status, "answers": self.answers, "of": self.most, "lost": lost}


class AsyncStrategy:
    """A run of a plan, or the rest of it by the checkpoint in a folder.

    A link to the owners has ``nodes()``, which are there; ``send(node, point, timeout)``, which
    returns a message's id; ``receive(ids, until)``, which waits no longer than until a time and
    returns pairs of an id and a reply; and ``now()``. Each message has one reply: it is empty, and
    the message is cancelled, once the timeout is over or the node is gone.

    ``wait`` is how many seconds owners have to connect at the start, and after which a run ends if
    no owner with budget can answer.
    """

    def __init__(self, plan: dict, link, folder: Path, digest: str, wait: float) -> None:
        self.plan, self.link, self.wait, self._folder = plan, link, wait, folder
        self.rounds = plan["protocol"]["kind"] == "rounds"
        # What a learner that serves one query after another does meanwhile: refuse or queue.
        self.busy = plan["protocol"]["busy"]
        self._checkpoint, self._log = folder / "checkpoint.json", folder / "exchanges.csv"
        self._saved = {"plan": digest, "state": {}, "answers": {}}
        if self._checkpoint.exists():
            self._saved = json.loads(self._checkpoint.read_text(encoding="utf-8"))
        if self._saved["plan"] != digest:
            raise ValueError(f"{self._checkpoint} is of another plan: move it away to begin anew")
        if not self._log.exists():
            self._log.write_text("client,sent,received\n", encoding="utf-8")
        self.learner = ServerSteps(plan["algorithm"], self._saved["state"])
        if self.rounds:
            self.learner.gather_anew()  # the answers of a round that was not ended are lost
        self.parties = [
            Party(owner["name"], owner["answers"], self._saved["answers"].get(owner["name"], 0))
            for owner in plan["owners"]
        ]
        # Queries under way, by the id of their message.
        self._sent: dict[str, Sent] = {}
        # Owners to be sent a query, in the order of their ticks.
        self._queue: deque[int] = deque()
        # Seconds of a node's last pause after a failure or refusal, and when it may be asked again.
        self._pauses: dict[int, float] = {}
        self._ask_at: dict[int, float] = {}
        # The last warning of each subject, so that it is not logged twice in a row.
        self._warned: dict[str, str] = {}
        # When clocks began to tick: all owners had connected, or the wait was over.
        self.begun: float | None = None
        # Updates made before this run, from which its pace is counted.
        self._first = self.k
        # When the run continues without absent owners; later, when it ends if nobody can answer.
        self._deadline = link.now() + wait
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
            replies = list(self.link.receive(list(self._sent), self._next_time()))
            self._tick()  # first: until now, these replies were under way
            for message, reply in replies:
                self._take(self._sent.pop(message), reply)
            if self.rounds and self.learner.state["weight"] > 0 and not self._asked():
                self.learner.end_round()
            if replies:
                self._save()
            self._report()
            self._query()
        complete = ending != "no owner can answer"
        owners = {party.name: party.part() for party in self.parties}
        model = {"model": self.learner.state["central"], "updates": self.k, "end": ending}
        _write(self._folder / "model.json", {**model, "complete": complete, "owners": owners})
        for name, part in owners.items():
            LOG.info("%s: %s, %d answers of %d, %d lost", name, *part.values())
        LOG.info("update %d of %d: %s", self.k, self.plan["updates"], ending)
        return complete

    def _ending(self) -> str:
        """Return why the run ends; nothing while it goes on."""
        if self.k >= self.plan["updates"]:
            return "all updates are made"
        if all(party.spent for party in self.parties):
            return "no owner has budget left"
        over = self.begun is not None and self.link.now() >= self._deadline
        return "no owner can answer" if over else ""

    def _next_time(self) -> float:
        """Return when there is something to do, whether or not a reply arrives."""
        asks = [self._ask_at.get(node, 0.0) for node in self._strangers()]
        ticks = [self.parties[owner].next_tick for owner in self._able()]
        return min([self._deadline, *asks, *ticks])

    def _able(self) -> list[int]:
        """Return the owners that are there, have budget, and do not refuse, once all may begin."""
        connected = self.link.nodes() if self.begun is not None else set()
        able = (p.node in connected and not p.refused and not p.spent for p in self.parties)
        return [owner for owner, is_able in enumerate(able) if is_able]

    def _asked(self) -> set[int]:
        """Return the owners with a query under way."""
        return {sent.owner for sent in self._sent.values() if sent.owner is not None}

    def _strangers(self) -> list[int]:
        """Return nodes to be asked whose they are, what they have left, and when they tick."""
        expected = {sent.node for sent in self._sent.values()}
        for owner, party in enumerate(self.parties):
            if party.ticks or party.spent or owner in self._queue:
                expected.add(party.node)
        return sorted(self.link.nodes() - expected)

    def _tick(self) -> None:
        """Queue the owners whose clocks have ticked; over request, a busy server may refuse."""
        due = [owner for owner in self._able() if self.parties[owner].next_tick <= self.link.now()]
        for _, owner in sorted((self.parties[owner].ticks.popleft(), owner) for owner in due):
            waiting = self._asked() | set(self._queue)
            if owner not in waiting and (self.busy != "refuse" or not waiting):
                self._queue.append(owner)

    def _query(self) -> None:
        """Ask strangers who they are, and send queries: in a round, or when clocks have ticked."""
        for node in self._strangers():
            if self._ask_at.get(node, 0.0) <= self.link.now():
                self._send(node)
        if self.begun is None:
            self._begin()
        able = self._able()
        if able:
            self._deadline = self.link.now() + self.wait
        if self.rounds and not self._asked():
            self._queue.extend(owner for owner in able if self.parties[owner].ticks)
        while self._queue and not (self.busy and self._asked()):
            owner = self._queue.popleft()
            if owner in able:
                self._send(self.parties[owner].node, owner)

    def _send(self, node: int, owner: int | None = None) -> None:
        point = None if owner is None else self.learner.query(owner).tolist()
        message = self.link.send(node, point, self.plan["patience"])
        self._sent[message] = Sent(node, owner, point, self.k, self.link.now())

    def _begin(self) -> None:
        """Let all clocks tick from now on, once all owners have connected or ``wait`` is over."""
        now = self.link.now()
        absent = [party.name for party in self.parties if party.node is None]
        if absent and now < self._deadline:
            return
        if absent:
            LOG.warning("continues without %s: never connected", ", ".join(absent))
        self.begun = now
        self._saved.setdefault("start", now)  # of the first run; times in the log count from it
        for party in self.parties:  # whose Poisson clocks have no memory
            party.ticks = deque(tick for tick in party.ticks if tick >= now)

    def _take(self, sent: Sent, reply: dict) -> None:
        """Take a reply; an empty one is a failure, whose answer may be charged and is lost."""
        now, answer = self.link.now(), np.array(reply.get("answer", []))
        # An answer counts if its owner was asked for it, and is a vector of the model's size.
        answered = (
            sent.owner is not None
            and reply.get("owner") == sent.owner
            and answer.shape == (self.plan["size"],)
            and np.isfinite(answer).all()
        )
        if sent.owner is not None:
            start, name = self._saved["start"], self.parties[sent.owner].name
            received = f"{now - start:.6f}" if answered else ""
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{name},{sent.at - start:.6f},{received}\n")
        party = self._party_of(sent.node, reply.get("owner"))
        if "refused" in reply:
            party.refused = REASONS[int(reply["refused"]) % len(REASONS)]
            party.left = 0 if party.refused == "spent" else party.left
            self._pause(sent.node, party)
            self._warn(party.name, f"refuses ({party.refused}): its own log has the reason")
        elif "left" not in reply or (sent.owner is not None and not answered):
            again = f"asked again in {self._pause(sent.node, party):g} s"
            text = f"gives no answer ({again}): if this continues, start its node again"
            self._warn(party.name, text)
        elif party.most == 0:
            self._pause(sent.node, party)
        else:
            party.left, party.refused = int(reply["left"]), ""
            party.ticks = deque((now + np.cumsum(reply.get("gaps", [np.inf]))).tolist())
            if answered:
                party.answers += 1
                self._pauses.pop(sent.node, None)
                self._warned.pop(party.name, None)
                self.learner.take(sent.owner, np.array(sent.point), answer, self.k - sent.k)
            if party.left > party.most - party.answers:
                text = "has charged fewer answers than arrived: a second or a restored one"
                self._warn(f"{party.name}'s ledger", text)

    def _party_of(self, node: int, owner: int | None) -> Party:
        """Return the owner that a node speaks for: none of the plan's, if another node is there."""
        if owner in range(len(self.parties)):
            party = self.parties[owner]
            if party.node not in self.link.nodes():
                LOG.info("%s connected, by node %d", party.name, node)
                party.node = node
            if party.node != node:
                text = f"claims to be {party.name}, as node {party.node} does: not asked"
                self._warn(f"node {node}", text + " (two ledgers would be two budgets)")
        stranger = Party(f"node {node}", 0)
        return next((party for party in self.parties if party.node == node), stranger)

    def _pause(self, node: int, party: Party) -> float:
        """Ask a node later whose it is and what it has left; return in how many seconds."""
        pause = min(2 * self._pauses.get(node, FIRST_PAUSE / 2), LONGEST_PAUSE)
        self._pauses[node], self._ask_at[node] = pause, self.link.now() + pause
        party.ticks.clear()
        return pause

    def _warn(self, about: str, text: str) -> None:
        """Log a line once, and again when it changes."""
        if self._warned.get(about) != text:
            LOG.warning("%s %s", about, text)
        self._warned[about] = text

    def _report(self) -> None:
        """Log progress and the expected end: by the forecast, or by this run if it is slower."""
        now, total, made = self.link.now(), self.plan["updates"], self.k - self._first
        if self.begun is None or now - self._reported < PROGRESS:
            return
        pace = max(self.plan["expected_seconds"] / total, (now - self.begun) / (made + 1))
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
