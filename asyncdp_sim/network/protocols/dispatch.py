"""Dispatch: the learner hands tasks out, a few at a time, and each that returns begins the next."""

from collections.abc import Iterator, Sequence
from math import fsum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols.desk import Desk
from asyncdp_sim.network.protocols.kind import ProtocolKind
from asyncdp_sim.network.protocols.policies import Policy
from asyncdp_sim.spec import EACH_OWNER, Several, about, wrong_length
from asyncdp_sim.streams import Scope

Queue = Literal["fifo", "shared", "none"]
"""How owners deal with several tasks."""


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
    at_mean = True
    update_of = "answer"
    ideal_only = False

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
    def one_each(self) -> bool:
        return False

    @property
    @override
    def shares_work(self) -> bool:
        return self.queue == "shared"

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
    def words(self, network: Any, said: str, service: float) -> Iterator[str]:
        whom = {"drawn": "drawn at random", "in-turn": "in turn", "same": "that have answered"}
        how = whom[self.to] if self.policy is None else self.policy.words()
        yield f"network: {self.tasks} tasks at a time, to owners {how}, {said}"

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
