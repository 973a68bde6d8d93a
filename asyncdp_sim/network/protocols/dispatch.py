"""Dispatch: the learner hands tasks out, a few at a time, and each that returns begins the next."""

from collections.abc import Iterator, Sequence
from math import fsum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.circulation import (
    Queue,
    bounds,
    bounds_to_same,
    doubt,
    occupied,
    occupied_by_own,
    returns,
    returns_to_same,
)
from asyncdp_sim.network.protocols.desk import Desk
from asyncdp_sim.network.protocols.kind import Array, ProtocolKind
from asyncdp_sim.network.protocols.policies import Policy
from asyncdp_sim.spec import EACH_OWNER, Several, about, wrong_length
from asyncdp_sim.streams import Scope
from asyncdp_sim.theory.prediction import Prediction, Unknown, bounded


class Dispatch(ProtocolKind):
    """m tasks under way at a time, each at an owner that the learner has chosen.

    A task carries the model as it is when it is handed out. An owner works at its tasks one after
    the other, first come first served, or at all of them at once, sharing its speed among them or
    as fast as at one. An answer that arrives makes an
    update, one that fails does not; either way the next task is handed out at once. An owner that
    is offline gets to its tasks when it is back; where availability is drawn, it is for each task.
    Owners do not act on their clocks.
    """

    one_on_one = False
    sends_requests = False
    acts_on_ticks = False
    always_served = False
    reads_early = True
    begins_anew = True
    hands_out = True
    update_of = "answer"
    ideal_only = False
    fresh = ""
    dependent = "who is asked next is whom the learner chooses"

    kind: Literal["dispatch"] = "dispatch"
    tasks: Annotated[int, Field(ge=1, le=10**6), about("m: tasks under way at a time", "tasks")]
    to: Annotated[
        Literal["drawn", "in-turn", "same"],
        about(
            "Whom the next task goes to: an owner drawn with its probability; the next by number; "
            "or the one whose task has just ended, dealt in turn at first"
        ),
    ] = "drawn"
    probabilities: Annotated[
        Annotated[Several[Annotated[float, Field(gt=0, le=1)]], EACH_OWNER] | None,
        about(
            "p_i: chance that an owner is drawn, one per owner, each divided by the sum of all; "
            "absent, all alike. What owners have whose budgets are spent, or promised to tasks "
            "under way, goes to the others in proportion",
            "none",
            example=[0.2, 0.3, 0.5],
        ),
    ] = None
    policy: Annotated[
        Policy | None,
        about(
            'What chooses, in place of to = "drawn", whom the next task goes to, by what the '
            "learner knows: tasks under way, tasks ended, k",
            "none",
            example={"kind": "shortest-queue"},
        ),
    ] = None
    queue: Annotated[
        Queue,
        about(
            "An owner works at one task at a time, until its answer has arrived, first come first "
            "served (fifo); computes for all at once, for each of n at 1/n of its speed, while "
            "messages travel on their own (shared); or at all at once, each as fast as one (none)"
        ),
    ] = "fifo"

    @model_validator(mode="after")
    def _drawn_with_them(self) -> Self:
        if self.probabilities is not None and self.to != "drawn":
            allowed = 'allowed is nothing unless to = "drawn"'
            raise faults_of([Fault("probabilities", "a list", allowed)])
        if self.policy is not None and (self.to != "drawn" or self.probabilities is not None):
            allowed = 'allowed is nothing beside probabilities, or unless to = "drawn"'
            raise faults_of([Fault("policy", "a table", allowed)])
        return self

    @property
    @override
    def asks(self) -> Literal["average", "central"]:
        return "average"

    @property
    @override
    def one_each(self) -> bool:
        return False

    @property
    @override
    def shares_work(self) -> bool:
        return self.queue == "shared"

    @property
    @override
    def plain(self) -> bool:
        return False

    def chances(self, n_owners: int) -> tuple[float, ...]:
        """Return p_i, or each owner's share of the tasks where none is drawn."""
        given = (1.0,) * n_owners if self.probabilities is None else self.probabilities
        return tuple(each / fsum(given) for each in given)

    @property
    @override
    def left_open(self) -> int:
        return self.tasks - 1

    @override
    def asks_each(self, n_owners: int) -> tuple[float, ...] | None:
        by_chance = self.to != "same" and self.policy is None
        return self.chances(n_owners) if by_chance else None

    @override
    def faults_of_network(self, n_owners: int, parts: Any) -> list[Fault]:
        return wrong_length("protocol.probabilities", self.probabilities, n_owners, "number")

    @override
    def stall_period(self, network: Any, count: int) -> None:
        return  # the desk counts tasks that fail

    @override
    def flows(
        self, rates: tuple[float, ...] | None, jobs: Sequence[float], n_owners: int
    ) -> tuple[float, ...]:
        if self.to == "same":
            return tuple(1 / job if job > 0 else 1.0 for job in jobs)
        return self.chances(n_owners)

    @override
    def shares(self, facts: Facts) -> tuple[float, ...] | Unknown:
        """Return p_i: every task that is handed out returns; or how often each owner's own do."""
        lost = facts.can_lose_messages or facts.shared or self._by_policy
        if lost or self.to != "same":
            return Unknown(lost) if lost else self.chances(facts.n_owners)
        each = returns_to_same(facts, self.tasks, self.queue)
        if isinstance(each, Unknown) or min(each) == 0:
            return each if isinstance(each, Unknown) else Unknown("some owners have no task")
        return tuple(one / fsum(each) for one in each)

    @override
    def words(self, network: Any, said: str, service: float) -> Iterator[str]:
        whom = {"drawn": "drawn at random", "in-turn": "in turn", "same": "that have answered"}
        how = whom[self.to] if self.policy is None else self.policy.words()
        yield f"network: {self.tasks} tasks at a time, to owners {how}, {said}"

    @override
    def predictions(self, facts: Facts) -> Iterator[Prediction]:
        said = "a closed network of m tasks"
        yield bounded("throughput", self._returns(facts), self._bounds(facts), said)

    @property
    def _by_policy(self) -> str:
        """Why nobody knows beforehand how often each owner is asked, if a policy decides it."""
        return "" if self.policy is None else f"policy {self.policy.kind} chooses whom to ask"

    @property
    def _in_turn(self) -> str:
        """Why tasks are not where a product form would have them, if they go round in turn."""
        several = self.to == "in-turn" and self.tasks > 1
        return "several tasks that go round in turn have no product form" if several else ""

    def _returns(self, facts: Facts) -> float | Unknown:
        if self._by_policy:
            return Unknown(self._by_policy)
        if self.to == "same":
            each = returns_to_same(facts, self.tasks, self.queue)
            return each if isinstance(each, Unknown) else fsum(each)
        if self._in_turn and self.queue != "none":
            return Unknown(self._in_turn)
        return returns(facts, self.tasks, self.chances(facts.n_owners), self.queue)

    def _bounds(self, facts: Facts) -> tuple[float, float] | None:
        """Return what the returns per time unit lie between; None where a policy chooses."""
        if self._by_policy:
            return None
        if self.to == "same":
            return bounds_to_same(facts, self.tasks, self.queue)
        return bounds(facts, self.tasks, self.chances(facts.n_owners), self.queue)

    @property
    @override
    def entangled(self) -> str:
        return ""

    @override
    def occupied(self, facts: Facts, sending: Array, receiving: Array) -> Array | Unknown:
        rate: float | Unknown = Unknown(self._in_turn) if self._in_turn else self._returns(facts)
        lasts = (sending, receiving)
        if isinstance(rate, Unknown):
            return rate
        if self.to == "same":
            return occupied_by_own(facts, self.tasks, self.queue, *lasts)
        return occupied(facts, self.tasks, self.chances(facts.n_owners), rate, self.queue, *lasts)

    @override
    def staleness(self, facts: Facts) -> float | Unknown:
        """Return m − 1: so many other tasks return, on average, while one is under way.

        Whoever is asked, and whatever decides it, while budgets of all together suffice: what one
        owner has spent goes to others.
        """
        allowed, most = sum(facts.network.answers_allowed), facts.network.updates + self.left_open
        spent = "" if allowed >= most else f"budgets of {allowed} answers in all may be spent"
        doubt = facts.buffered or facts.can_lose_messages or facts.shared or spent
        return Unknown(doubt) if doubt else self.tasks - 1.0

    @override
    def ends_next(self, facts: Facts) -> tuple[float, ...] | Unknown:
        """Return 1/m of ample servers that are alike; μ_i/Σμ of owners with a task each."""
        reason = doubt(facts) or self._by_policy
        if reason or self.tasks == 1:
            return Unknown(reason) if reason else (1.0,) * facts.n_owners
        times = facts.services
        alike = max(times) - min(times) <= 1e-12 * max(times)
        each = self.to == "same" and self.tasks == facts.n_owners
        if not facts.exponential() or not (each or (alike and self.queue == "none")):
            return Unknown("tasks that wait, or whose times are not exponential, have no such law")
        rate = fsum(1 / time for time in times)
        return tuple(1 / time / rate if each else 1 / self.tasks for time in times)

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        # What is drawn for each tick elsewhere is drawn for each task.
        for owner in owners:
            owner.listens, owner.attends = owner.attends, None
        desk = Desk(
            owners,
            learner,
            streams,
            to=self.to,
            policy=self.policy,
            chances=self.chances(len(owners)),
            one_by_one=self.queue == "fifo",
        )
        for _ in range(self.tasks):
            desk.hand_out()
