"""Observers, the attackers that ε is stated for: their interface, and those in one place.

:class:`TranscriptObserver` sees every answer, :class:`AggregateObserver` sums of masked answers.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Tally, Variant, kind_of, trait
from asyncdp_sim.core.words import extent
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.privacy import mechanisms
from asyncdp_sim.privacy.accountants import Accountant, each_once, gaussian_epsilon
from asyncdp_sim.theory.formulas.channels import delivered
from asyncdp_sim.theory.formulas.exchanges import sum_opens
from asyncdp_sim.trace import Trace


@dataclass(frozen=True, eq=False)
class Learned:
    """The knowledge of an observer about owners in R replicates.

    Attributes
    ----------
    most : array (R, N)
        ε of owner i against the observer that learned most about it.
    zcdp : array (R, N) or None
        The same as ρ of zero-concentrated privacy; None for mechanisms that are not Gaussian.
    median : array (R, N) or None
        ε against the median of the other owners; None if all learn the same.
    """

    most: Array
    zcdp: Array | None
    median: Array | None = None


class Listener(Protocol):
    """An observer whose knowledge about owners is computed after a run."""

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what it learned about each owner in these replicates."""


def gaussian_epsilons(squared: Array, delta: float) -> Array:
    """Return ε at δ of Gaussian answers, one per value of μ²."""

    def epsilon(mu_squared: float) -> float:
        return 0.0 if mu_squared == 0 else gaussian_epsilon(mu_squared**-0.5, delta)

    return each_once(squared, epsilon)


def at_most_all(accountant: Accountant, traces: Sequence[Trace], squared: Array) -> Array:
    """Return ε of μ² = ``squared`` (R, N), at most what all released answers cost."""
    spent = accountant.spent(np.stack([trace.released for trace in traces]))
    return np.minimum(gaussian_epsilons(squared, accountant.delta), spent)


def multipliers(accountant: Accountant) -> Array:
    """Return z_i of Gaussian answers, (N,), of which alone is known what such observers learn."""
    if accountant.multiplier is None:
        raise ValueError("what models and nodes reveal is known of Gaussian answers alone")
    return accountant.multiplier


class Requirement(NamedTuple):
    """A requirement on a scenario, without which an observer's ε is not known."""

    unmet: bool
    allowed: str
    """What ε is known of."""
    given: str = ""
    """What the scenario has instead, where its other settings do not show it."""


def plainly(scenario: Any, gaussian: str = "Gaussian noise") -> list[Requirement]:
    """Return the requirements of an observer that does not receive all answers."""
    privacy, steps = scenario.privacy, scenario.values_hidden
    mechanism = privacy.mechanism
    return [
        Requirement(mechanism.composition != "gaussian", gaussian, mechanism.kind),
        Requirement(not np.isfinite(privacy.asked(scenario.owners.count)).all(), "finite ε"),
        Requirement(privacy.sampling is not None, "answers over all records"),
        Requirement(steps > 1, "answers of one gradient each", f"algorithm.local_steps = {steps}"),
        Requirement(privacy.overlap > 1, "records that one owner has"),
        Requirement(privacy.learner is not None, "one copy of the algorithm"),
        Requirement(privacy.on_trust, "bounds that are enforced", "declared"),
        Requirement(
            scenario.timing_unaccounted is not None, "timing that reveals nothing about records"
        ),
    ]


class ObserverKind(Variant):
    """An observer of a part of what owners send.

    Four methods state what it means for noise. By default it sees every answer by itself.

    =================== ======================= =================================================
    method              called for              by
    =================== ======================= =================================================
    ``allowed``         all answers of a run    the privacy of a scenario, before noise is set
    ``shares``          one answer of a sum     the privacy of a scenario, which sets the noise
    ``share_of_noise``  one sum                 a forecast that compares observers
    ``heard``           one answer              the audit of single answers
    =================== ======================= =================================================
    """

    by_count: ClassVar[bool]
    """Its ε for an owner follows from the number of released answers, by the accountant.

    Otherwise it is computed after a run.
    """
    sees_sums: ClassVar[bool] = False
    """It sees only the sum of the answers of an update, and no answer."""
    knows_parts: ClassVar[bool] = False
    """Its ε is also known if answers have unequal parts of a budget."""
    hides_owners: ClassVar[bool] = False
    """Its ε is also known for whole owners."""
    learner_adds_noise: ClassVar[bool] = False
    """The learner is trusted: it adds noise to sums, and may count answers within a clip bound."""
    sees_models: ClassVar[bool] = False
    """It sees central models and no answer; the audit also attacks models."""
    sees_meetings: ClassVar[bool] = False
    """It sees its own meetings; the audit also attacks the views of nodes."""

    @classmethod
    def ways(cls) -> tuple[Self, ...]:
        """Return the variants of this observer that a forecast compares."""
        return (cls.model_validate({}),)

    name: ClassVar[str] = trait(lambda self: str(self.model_dump()["kind"]))
    """Its name in a table."""

    @abstractmethod
    def describe(self) -> str:
        """Return the observer and what it sees, in words that follow "against"."""

    @abstractmethod
    def misfits(self, scenario: Any) -> list[Fault]:
        """Return a fault for each reason why its ε is not known in a scenario."""

    def unmet(self, known: str, requirements: Sequence[Requirement]) -> list[Fault]:
        """Return a fault for each unmet requirement; ``known`` names the known result."""
        kind = repr(kind_of(type(self)))
        return [
            Fault(
                "privacy.observer.kind",
                f"{kind} with {each.given}" if each.given else kind,
                f"{known} is known only of {each.allowed}: allowed is transcript",
            )
            for each in requirements
            if each.unmet
        ]

    def for_owners(self) -> "ObserverKind":
        """Return the observer to use if whole owners are hidden."""
        return self

    def check_words(self, scenario: Any) -> Iterator[str]:  # noqa: ARG002
        """Yield additional lines for ``check``."""
        yield from ()

    def allowed(
        self, allowance: mechanisms.OwnerBudgets, mechanism: mechanisms.MechanismKind
    ) -> mechanisms.OwnerBudgets:
        """Return the budgets of answers; in a sum all owners have μ = 1/z of the strictest.

        z is the noise multiplier: the noise's standard deviation over the answer's sensitivity.
        The strictest owner has the largest, and the shares of noise in a sum must be alike.
        """
        if not self.sees_sums:
            return allowance
        multiplier = mechanism.accountant(allowance).multiplier
        if multiplier is None or multiplier.max() == 0:  # noise is not Gaussian, or there is none
            return allowance
        if allowance.mu is not None:  # set already, for answers over sampled records
            return allowance
        return replace(allowance, mu=np.full(len(multiplier), 1 / multiplier.max()))

    def shares(
        self,
        noise: mechanisms.AnswerNoise,
        influence: mechanisms.RecordSensitivity,  # noqa: ARG002
        parts: int,  # noqa: ARG002
    ) -> mechanisms.AnswerNoise:
        """Return the noise on each answer, where ``noise`` is to hide sums of ``parts`` of them.

        An observer may split it otherwise: into as many shares as hide a sum, if some are missing.
        """
        return noise

    def share_of_noise(self, n_owners: int, in_sum: int) -> float:  # noqa: ARG002
        """Return the ratio of its noise to the noise against an observer of every answer."""
        return 1.0

    def heard(self, noise: mechanisms.AnswerNoise) -> mechanisms.AnswerNoise:
        """Return the least noise on one answer as this observer sees it."""
        return noise

    def aggregation(self, n_owners: int) -> Aggregation | None:  # noqa: ARG002
        """Return how answers are aggregated; None without aggregation."""
        return None

    def listening(self, scenario: Any) -> Listener:  # noqa: ARG002
        """Return the observer with the public facts of a scenario."""
        return self

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what it learned about each owner: by default all released answers."""
        released = np.stack([trace.released for trace in traces])
        return Learned(accountant.spent(released), accountant.zcdp(released))


class TranscriptObserver(ObserverKind):
    """An observer of every answer, its sender and time, which may collude with all other owners."""

    by_count = True
    knows_parts = True
    hides_owners = True

    kind: Literal["transcript"] = "transcript"

    @override
    def describe(self) -> str:
        return "an observer of every answer, its sender and its time"

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        return []


Size = Annotated[int, Field(ge=0, le=10**6)]
_ROUNDING = 1e-3
"""A cost that differs from ε by a smaller share is the same: noise multipliers are rounded."""


class AggregateObserver(ObserverKind):
    """An observer of the sums of masked answers, one per update, with their owners and times.

    Every owner adds a share of the sum's noise such that any n − d − t shares suffice: d owners may
    drop out, and t others may subtract their noise. A sum of fewer than n − d answers is not
    opened, but its answers are charged. The noise of a sum is set by the smallest ε_i.
    """

    by_count = True
    sees_sums = True
    hides_owners = True

    kind: Literal["aggregate"] = "aggregate"
    dropouts: Tally = 0
    colluders: Tally = 0
    key_bytes: Size = 64
    share_bytes: Size = 80
    absent_at: Literal["answer", "opening", "every-step"] = "answer"

    @override
    def describe(self) -> str:
        seen = "an observer of each update's sum of answers and its list of owners"
        if self.colluders == 0:
            return seen
        if self.colluders == 1:
            return f"{seen}, with 1 colluding owner that reveals its answers"
        return f"{seen}, with {self.colluders} colluding owners that reveal their answers"

    @override
    def share_of_noise(self, n_owners: int, in_sum: int) -> float:
        """Return 1/√(n − d − t), relative to the noise of the strictest owner.

        It does not depend on ``in_sum``: shares are made for n − d − t answers, with or without
        others.
        """
        return float(self.enough(n_owners) ** -0.5)

    def enough(self, n_owners: int) -> int:
        """Return n − d − t, the number of shares that hide a sum."""
        return n_owners - self.dropouts - self.colluders

    @override
    def misfits(self, scenario: Any) -> list[Fault]:
        algorithm = scenario.algorithm
        n_owners, protocol = scenario.owners.count, scenario.protocol
        in_rounds = protocol.makes_updates
        one_answer_per_tick = protocol.one_each and protocol.clocked and not protocol.one_on_one
        requirements = [
            Requirement(
                not (algorithm.sums_suffice and (in_rounds or one_answer_per_tick)),
                "learning in rounds, and fedbuff of constant weights on "
                "push or broadcast whose owners answer at a tick, one answer at a time",
                f"{algorithm.kind} on {protocol.kind}",
            ),
            *plainly(scenario, "Gaussian noise, whose shares add up to it"),
            Requirement(scenario.channel.contended is not None, "answers that share no channel"),
            Requirement(scenario.clock.superposed, "owners that have clocks of their own"),
            Requirement(
                self.absent_at == "every-step" and not in_rounds,
                "rounds, if keys and shares take trips of their own (absent_at = every-step)",
            ),
            Requirement(
                self.absent_at != "answer" and scenario.energy is not None,
                "absent_at = answer, if energy is measured",
            ),
        ]
        faults = self.unmet("what a sum reveals", requirements)
        asked = protocol.asked_at_most or n_owners
        if asked < n_owners - self.dropouts:
            hint = f"a sum opens with n − d answers: allowed is {n_owners - self.dropouts} or more"
            faults.append(Fault("protocol.owners", str(asked), hint))
        buffer = algorithm.answers_per_update
        if len(faults) == 0 and buffer is not None and buffer != n_owners - self.dropouts:
            hint = f"a sum is of the buffer's {buffer} answers: allowed is n − d = {buffer}"
            value = f"{self.dropouts} of {n_owners} owners"
            faults.append(Fault("privacy.observer.dropouts", value, hint))
        if self.enough(n_owners) < 1:
            value = f"{self.dropouts} of {n_owners} owners, {self.colluders} colluding"
            hint = "allowed is n − d − t ≥ 1: at least one share of noise must hide a sum"
            faults.append(Fault("privacy.observer.dropouts", value, hint))
        return faults

    @override
    def check_words(self, scenario: Any) -> Iterator[str]:
        n_owners, network = scenario.owners.count, scenario.network
        least, enough = n_owners - self.dropouts, self.enough(n_owners)
        yield (
            f"sums: opened with the answers of {least} of {n_owners} owners or more; the shares of "
            f"{enough} of them hide one"
        )
        accountant = scenario.accountant
        cost = accountant.spent(accountant.answers)
        if (cost < accountant.epsilon * (1 - _ROUNDING)).any():
            owner = int(np.argmax(cost / accountant.epsilon))
            yield (
                f"the strictest, owner {scenario.owners.participants[owner]} with ε "
                f"{accountant.epsilon[owner]:g}, sets the noise for all: they spend {extent(cost)}"
            )
        yield from self._exposed(accountant, cost)
        through = self.stays(scenario)
        if len(through) > 0 and through[-1] < 1:
            chance = sum_opens(scenario.protocol.asked_at_most or n_owners, least, through[-1])
            yield (
                f"absences: an owner stays until a sum is opened with probability "
                f"{through[-1]:.3g}; of all sums {100 * chance:.3g} % are opened"
            )
        asking, opening = network.opening_bytes
        yield (
            f"masks: a query takes {network.query_bytes} bytes and an answer "
            f"{network.answer_bytes}; an update takes a trip more, of {asking} bytes to each owner "
            f"and {opening} back"
        )

    def _exposed(self, accountant: Any, cost: Array) -> Iterator[str]:
        """Yield what a run costs where more is seen than is claimed, of the dearest owner."""
        enough = self.enough(len(cost))
        squared = 2 * float(accountant.zcdp(accountant.answers).max())
        # Each answer has 1/enough of the variance that hides a sum: a colluder more takes away one
        # share, and a single answer has one. If one share is enough, each answer has all of it.
        wider = np.array([squared * enough / max(1, enough - 1), squared * enough])
        collude, single = gaussian_epsilons(wider, accountant.delta)
        yield (
            f"beyond the claim: with {self.colluders + 1} colluding, ε {collude:.3g} instead of "
            f"{cost.max():.3g}; if every answer is late and unmasked singly, {single:.3g}"
        )

    def stays(self, scenario: Any) -> tuple[float, ...]:
        """Return the chances that an owner stays through a sum's first, second, … step.

        Without steps where these are no independent draws, alike for all owners.
        """
        n_owners, channel, present = scenario.owners.count, scenario.channel, scenario.availability
        laws = [channel.packet_loss(message) for message in ("query", "answer")]
        # The product of chances holds if a step's draws are independent of the steps before …
        drawn = present.always_online or (present.drawn_per_tick and present.keeps_poisson)
        late = scenario.protocol.round_deadline is not None or scenario.topology is not None
        bursty = any(law.bursty for law in laws)
        if late or bursty or not (scenario.protocol.makes_updates and drawn):
            return ()
        # … and the same for all owners.
        online = set(present.online_share(n_owners))
        lost_queries, lost_answers = (set(law.shares(n_owners)) for law in laws)
        if max(map(len, (online, lost_queries, lost_answers))) > 1:
            return ()
        [here], [query], [answer] = online, lost_queries, lost_answers
        asked = here * (1 - query)
        # An answer may be sent again; a message of keys, shares or the opening is sent once.
        answers = asked * delivered(answer, 1 + channel.retransmissions)
        once = asked * (1 - answer)
        steps = {
            "answer": (answers,),
            "opening": (answers, once),
            "every-step": (once, once, answers, once),  # keys, shares, answer, opening
        }
        return tuple(np.cumprod(steps[self.absent_at]).tolist())

    @override
    def shares(
        self,
        noise: mechanisms.AnswerNoise,
        influence: mechanisms.RecordSensitivity,
        parts: int,
    ) -> mechanisms.AnswerNoise:
        if influence.xi == 0 or not (noise.scale > 0).all():
            return noise
        return mechanisms.shared(noise, influence, self.enough(len(noise.scale)))

    @override
    def heard(self, noise: mechanisms.AnswerNoise) -> mechanisms.AnswerNoise:
        shares = self.enough(len(noise.scale))
        return noise.summed(shares) if isinstance(noise, mechanisms.GaussianShares) else noise

    @override
    def aggregation(self, n_owners: int) -> Aggregation | None:
        return Aggregation(
            least=max(1, n_owners - self.dropouts),
            number_bytes=mechanisms.NUMBER_BYTES,
            key_bytes=self.key_bytes,
            share_bytes=self.share_bytes,
            absent_at=None if self.absent_at == "answer" else self.absent_at,
        )
