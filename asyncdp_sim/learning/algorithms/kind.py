"""The family of algorithms: what the rest of the house asks of each."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive, Variant, about, kind_of, members
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.learning.algorithms.moments import OneCentral, OneOnOne, StepsInRounds
from asyncdp_sim.learning.algorithms.steps import (
    Algorithm,
    AnswerBatch,
    Setting,
    of_owners,
    of_rows,
    project,
)
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.protocols.kind import UpdateOf

MOST = 10_000
"""Steps before an answer, at most."""

LocalCount = Annotated[
    Annotated[int, Field(ge=1, le=MOST)] | None,
    about(
        "E: number of gradient steps that an owner takes from the model it received, before "
        "it sends the difference. Each step uses a noisy gradient and costs as much privacy "
        "as an answer. Absent: the learner takes one step",
        "gradients",
        example=4,
    ),
]


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """Steps of owner i from the model θ that it was sent: E of them, and their sum.

    x_0 = θ, x_{e+1} = x_e − (ησ x_e + s_i Q_e), with Q_e its noisy gradient at Π_Θ[x_e], which
    takes the place of x_e; it sends (θ − x_E)/u. Π_Θ looks at noisy gradients alone.

    Attributes
    ----------
    count : int
        E ≥ 2.
    step : array (N,)
        s_i.
    shrink : float
        1 − ησ.
    theta_max : float or None
        The box Θ.
    unit : float
        u.
    """

    by_row: ClassVar[tuple[str, ...]] = ("step", "shrink", "theta_max", "unit")

    count: int
    step: Array
    shrink: float | Array
    theta_max: float | Array | None
    unit: float | Array = 1.0

    def sent(self, turn: AnswerBatch, points: Array, ask: Callable[[Array], Array]) -> Array:
        """Return what owners send that were sent ``points`` (r, p), shape (r, p).

        ``ask`` gives their noisy gradients at points of their own, which may be used up.
        """
        local, step, rows = points, of_owners(self.step, turn), turn.replicates
        shrink = of_rows(self.shrink, rows)
        bound = None if self.theta_max is None else of_rows(self.theta_max, rows)
        for made in range(self.count):
            if made > 0:
                project(local, bound)
            local = shrink * local - step * ask(local)
        return np.asarray((points - local) / of_rows(self.unit, rows))


def beyond_one_step(scenario: Any) -> Iterator[Fault]:
    """Yield what several gradients for each answer are not known to go with."""
    privacy = scenario.privacy
    steps = str(scenario.algorithm.gradients_per_answer)
    if privacy.hides and privacy.on_trust:
        remedy = "allowed with local steps: clip or domain; nobody watches a bound on the way"
        yield Fault("privacy.sensitivity.kind", repr(privacy.sensitivity.kind), remedy)
    if len(privacy.prices(scenario.owners.count)) > 0:
        remedy = "allowed with local steps is answers: a price is of one gradient"
        yield Fault("privacy.budget.per_answer", steps, remedy)


class AlgorithmSpec(Variant):
    """An algorithm as a scenario names it."""

    updates_of: ClassVar[tuple[UpdateOf, ...]]
    """What an update of its protocols may be made of."""
    one_model: ClassVar[bool]
    """Owners keep no models of their own: a query and a broadcast are of the central one."""
    looks_at_models: ClassVar[bool]
    """Answers depend on the model that was sent, so that it matters how old it is."""
    obfuscates: ClassVar[bool]
    """Answers are obfuscated by the algorithm itself, which is no differential privacy."""
    answers_once: ClassVar[bool] = False
    """An owner draws one noisy answer, and whatever it sends later is worked out from that one."""
    averages_once: ClassVar[bool] = False
    """And that is a mean of vectors, each linear in its owner's answer: nothing else is sent."""
    averages_alone: ClassVar[bool] = False
    """Of two nodes that meet, one may hear the other and not be heard."""
    step_field: ClassVar[str] = "step"
    """The field that says how long steps are, which advice may choose."""
    xi: ClassVar[float | None] = None
    """Ξ of an answer that is no gradient; None is for the model and the sensitivity to say."""
    handles_gradients: ClassVar[bool] = False
    """Of one from outside: it makes something of gradients before noise hides them.

    Then no proof covers its answers. Else it is given noisy answers alone.
    """
    answers_per_update: ClassVar[int | None] = 1
    """How many answers make one update; None where the protocol decides each time."""
    sample: ClassVar[int | None] = None
    """How many records an answer is computed from; None is all of an owner's."""
    needs_shares: ClassVar[bool] = False
    """Whether it must know how often each owner's answers are used."""
    needs_lateness: ClassVar[bool] = False
    """Whether it must know the law of the staleness of each owner's answers."""
    sums_suffice: ClassVar[bool] = False
    """Whether updates are of Σ n_i Q_i and of who answered: no single answer is needed."""
    mean_step: ClassVar[float | None] = None
    """The step along f's gradient that an update with fresh answers is in the mean, if one."""
    treats_updates_alike: ClassVar[bool] = False
    """Whether no step depends on k, so that going on over the same owners may have a limit."""

    kind: str

    @property
    def gradients_per_answer(self) -> int:
        """How many gradients an answer is made of, each of which is hidden, and charged."""
        local = getattr(self, "local_steps", None)  # a field of the members that have it
        return 1 if local is None else local

    @property
    def starts_at(self) -> str | None:
        """Where models start, of the members that let a scenario choose it; else None."""
        return getattr(self, "initial", None)  # a field has its place in each member's table

    @property
    def one_on_one(self) -> OneOnOne | None:
        """What exact moments of one-on-one learning need, of an algorithm that has them."""
        return None

    @property
    def in_rounds(self) -> StepsInRounds | None:
        """What exact moments of learning in rounds need, of an algorithm that has them."""
        return None

    @property
    def one_central(self) -> OneCentral | None:
        """What moments given who answers when need, of one model that steps at each answer."""
        return None

    @property
    def no_moments(self) -> str | None:
        """Why there are no exact moments; None where there are."""
        if self.one_on_one is not None or self.in_rounds is not None:
            return None
        several = " with local steps" if self.gradients_per_answer > 1 else ""
        return f"algorithm {self.kind}{several} has no exact moments here"

    @property
    def step_length(self) -> float:
        """What stands in that field: ρ, c_1, α or η."""
        return float(getattr(self, self.step_field))

    def with_step(self, step: float) -> Self:
        """Return the same with other steps."""
        return self.model_copy(update={self.step_field: step})

    def step_of(self, n_owners: int, updates: int, sigma: float) -> float | None:
        """Return the step Nρ/(T²σ) of N owners, T updates and σ; None where steps are others."""
        return None

    def numbers_of_answer(self, numbers: int) -> int:
        """Return how many numbers an answer has, given those of a model."""
        return numbers

    @classmethod
    def runs_on(cls, protocol: Any) -> bool:
        """Return whether updates of a protocol, or of its class, are made of what this takes."""
        return protocol.update_of in cls.updates_of

    def faults(self, protocol: Any) -> list[Fault]:
        """Return what does not suit it in a protocol."""
        faults = []
        if not self.runs_on(protocol):
            fitting = [kind_of(member) for member in members(Protocol) if self.runs_on(member)]
            remedy = f"algorithm {self.kind} runs on {' or '.join(fitting)}"
            faults.append(Fault("protocol.kind", repr(protocol.kind), remedy))
        if self.one_model and protocol.sends_copies:
            remedy = f'algorithm {self.kind} has one model: allowed is payload = "central"'
            faults.append(Fault("protocol.payload", repr(protocol.payload), remedy))
        return faults

    def misfits(self, scenario: Any) -> list[Fault]:
        """Return what does not suit it in a scenario's model and privacy."""
        faults = list(beyond_one_step(scenario)) if self.gradients_per_answer > 1 else []
        if self.sample is None or not scenario.privacy.hides:
            return faults
        remedy = (
            "no ε is known of records drawn with replacement: allowed with noise is nothing, or "
            "privacy.sampling in its place"
        )
        return [*faults, Fault("algorithm.batch", str(self.sample), remedy)]

    def undeclared(self, what: str) -> Fault:
        """Return the fault of one from outside that decides ``what``, and does not declare it."""
        remedy = (
            f"it decides {what}: allowed from outside with handles_gradients = True, and its label "
            "then reads “not shown”"
        )
        return Fault("algorithm.kind", repr(self.kind), remedy)

    def reaches_for_gradients(self, numbers: int) -> list[Fault]:
        """Return what one from outside decides of answers with ``numbers`` before noise is added.

        What it decides in its steps is looked for where these are made.
        """
        if not self.outside or self.handles_gradients:
            return []
        decided = {
            "the sensitivity of answers (xi)": self.xi is not None,
            "how many numbers an answer has": self.numbers_of_answer(numbers) != numbers,
            "how many gradients an answer is made of": self.gradients_per_answer != 1,
            "that answers are drawn once": self.answers_once,
            "over which records answers are": self.sample is not None,
        }
        return [self.undeclared(decision) for decision, does in decided.items() if does]

    def answers_more_than_once(self, scenario: Any) -> list[Fault]:
        """Return a fault where a budget is divided among more answers than an owner's only one."""
        privacy, n_owners = scenario.privacy, scenario.owners.count
        if len(privacy.faults(n_owners, scenario.model)) > 0:  # what it allows is not known then
            return []
        most = max(scenario.spending.answers_allowed(n_owners, scenario.run.updates))
        if most == 1:
            return []
        once = 'an owner answers once: allowed is { kind = "per-owner-cap", answers = 1 }'
        return [Fault("privacy.budget", f"{most} answers", once)]

    @abstractmethod
    def steps(self, setting: Setting) -> Algorithm:
        """Return the algorithm with its numbers filled in.

        Raises
        ------
        SpecError
            If it needs a number that the setting does not have.
        """


class GossipKind(AlgorithmSpec):
    """An algorithm with steps of Nρ/(T²σ), which a scenario gives by ρ or by their own length."""

    step_field = "rho"

    rho: Positive | None = None
    step: Positive | None = None

    @model_validator(mode="after")
    def _one_step(self) -> Self:
        if (self.rho is None) == (self.step is None):
            value = "neither" if self.rho is None else "both"
            raise faults_of([Fault("step", value, "allowed is one of step and rho")])
        return self

    def rho_of(self, n_owners: int, updates: int, sigma: float) -> float:
        """Return ρ of N owners, T updates and σ: of all that is computed with ρ."""
        if self.rho is not None:
            return self.rho
        return (self.step or 0.0) * updates**2 * sigma / n_owners

    @override
    def step_of(self, n_owners: int, updates: int, sigma: float) -> float:
        if self.step is not None:
            return self.step
        return n_owners * (self.rho or 0.0) / (updates**2 * sigma)

    @override
    def with_step(self, step: float) -> Self:
        return self.model_copy(update={"rho": step, "step": None})
