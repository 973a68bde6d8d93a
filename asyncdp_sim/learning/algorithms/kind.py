"""The base of algorithms as scenarios name them: fields, traits, schedules, refusals."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import Positive, Variant, about, kind_of, members
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.learning.algorithms.steps import Algorithm, Setting
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.protocols.kind import UpdateOf

Initial = Annotated[
    Literal["zeros", "ones", "uniform"],
    about("Start of all models: 0, 1, or each coordinate drawn from U[0, 1)"),
]
Selection = Annotated[
    Literal["uniform", "inverse-rate"],
    about(
        "Step size of an owner. uniform, as published: the factor N, which changes the objective "
        "unless all owners are equally likely. inverse-rate: the step is divided by Nπ_i, the "
        "owner's share π_i of the updates, which removes this bias"
    ),
]
Evening = Annotated[
    Literal["uniform", "inverse-rate", "inverse-weight"],
    about(
        "Step size of an owner. uniform: the factor N, which changes the objective unless all "
        "owners are equally likely. inverse-rate: the step is divided by Nπ_i, the owner's share "
        "π_i of the updates, which removes this bias if all are equally stale. inverse-weight: "
        "divided by Nπ_i E[w(s) | i], the mean weight of the owner's answers, which always does"
    ),
]


@dataclass(frozen=True, eq=False)
class Schedule:
    """The length of each round's step, and the model that is judged.

    Attributes
    ----------
    sizes : array (T, …)
        γ_k, k = 1 … T.
    kept : array (T,), optional
        a_k, where an average is judged: ū⁺ = a_k ū + (1 − a_k) u, u before the step. Absent, θ
        itself is judged.
    """

    sizes: Array
    kept: Array | None = None

    @classmethod
    def from_sizes(cls, size: Callable[[int], Array | float], updates: int) -> "Schedule":
        """Return the schedule of T rounds whose k-th step has this size."""
        return cls(np.stack([np.asarray(size(k)) for k in range(1, updates + 1)]))


MOST_LOCAL_STEPS = 10_000
"""Most gradient steps that an owner takes before it answers."""

LocalCount = Annotated[
    Annotated[int, Field(ge=1, le=MOST_LOCAL_STEPS)] | None,
    about(
        "E: noisy gradient steps that an owner takes before it sends the difference; each costs "
        "as much privacy as an answer. Absent: the learner takes one step",
        "gradients",
        example=4,
    ),
]


class AlgorithmSpec(Variant):
    """An algorithm as a scenario names it."""

    # Where it runs, and what an update is made of.
    updates_of: ClassVar[tuple[UpdateOf, ...]]
    """The kinds of update of the protocols that it runs on."""
    answers_per_update: ClassVar[int | None] = 1
    """How many answers make one update; None where the protocol decides each time."""
    one_model: ClassVar[bool]
    """Whether owners keep no models of their own, so that every query is the central model."""
    sums_suffice: ClassVar[bool] = False
    """Whether an update needs only Σ n_i Q_i and the set of owners that answered."""

    # What an answer depends on.
    looks_at_models: ClassVar[bool]
    """Whether answers depend on the model that was sent, so that its age matters."""
    answers_once: ClassVar[bool] = False
    """Whether an owner draws one noisy answer, from which it computes all that it sends later."""
    averages_once: ClassVar[bool] = False
    """Whether owners send only means of vectors, each linear in one owner's only answer."""
    averages_alone: ClassVar[bool] = False
    """Whether one of two nodes that meet may receive the other's vector while its own is lost."""
    sample: ClassVar[int | None] = None
    """Number of records that an answer is computed from; None is all records of its owner."""

    # What noise has to hide.
    obfuscates: ClassVar[bool]
    """Whether the algorithm itself obfuscates answers, which is no differential privacy."""
    xi: ClassVar[float | None] = None
    """Ξ of an answer that is no gradient; None where it follows from model and sensitivity."""
    handles_gradients: ClassVar[bool] = False
    """Whether an algorithm from outside uses gradients before noise is added.

    No proof covers its answers then. Otherwise it receives noisy answers only.
    """

    # Its steps.
    step_field: ClassVar[str] = "step"
    """Name of the field that sets the length of steps, which advice may choose."""
    needs_shares: ClassVar[bool] = False
    """Whether its steps need each owner's share of the updates."""
    needs_lateness: ClassVar[bool] = False
    """Whether its steps need the law of the staleness of each owner's answers."""
    one_on_one: ClassVar[Any] = None
    """The algorithm itself, if it is Algorithm 1 of Async: an answer moves the central model and
    its owner's copy, linearly. None of others."""
    in_rounds: ClassVar[Any] = None
    """The algorithm itself, if its ``schedule`` makes steps along the mean of a round's answers,
    θ⁺ = θ − γ_k (2H(θ − θ*) + w). None of others."""
    mean_step: ClassVar[float | None] = None
    """Length of the mean step along ∇f of an update with fresh answers; None if there is none."""
    treats_updates_alike: ClassVar[bool] = False
    """Whether no step depends on k, so that a run may have a stationary limit."""

    kind: str

    @property
    def gradients_per_answer(self) -> int:
        """Number of gradients that make an answer; noise is added to each, and each is charged."""
        local = getattr(self, "local_steps", None)  # a field of some members
        return 1 if local is None else local

    @property
    def starts_at(self) -> str | None:
        """Where models start; None of members that do not let a scenario choose it."""
        return getattr(self, "initial", None)  # a field of some members

    @property
    def step_length(self) -> float:
        """The value of :attr:`step_field`: ρ, c_1, α or η."""
        return float(getattr(self, self.step_field))

    def with_step(self, value: float) -> Self:
        """Return the same algorithm with this value of :attr:`step_field`."""
        return self.model_copy(update={self.step_field: value})

    def step_of(self, n_owners: int, updates: int, sigma: float) -> float | None:
        """Return the step Nρ/(T²σ) of N owners, T updates and σ; None for other algorithms."""
        return None

    def numbers_of_answer(self, numbers: int) -> int:
        """Return how many numbers an answer has, if a model has ``numbers`` of them."""
        return numbers

    @classmethod
    def runs_on(cls, protocol: Any) -> bool:
        """Return whether it runs on a protocol, or on all protocols of a class."""
        return protocol.update_of in cls.updates_of

    def faults(self, protocol: Any) -> list[Fault]:
        """Return the faults of a protocol that it cannot run on."""
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
        """Return the faults of a scenario whose model or privacy it does not support."""
        privacy, gradients, faults = scenario.privacy, self.gradients_per_answer, list[Fault]()
        if gradients > 1 and privacy.hides and privacy.on_trust:
            # A stated bound is believed of gradients at the models that are sent. An owner's own
            # steps lead to others, at which nobody has checked it; clip and domain hold at every
            # model.
            remedy = "allowed with local steps: clip or domain; no step checks a declared bound"
            kind = repr(privacy.sensitivity.kind)
            faults.append(Fault("privacy.sensitivity.kind", kind, remedy))
        if gradients > 1 and len(privacy.prices(scenario.owners.count)) > 0:
            # A price per answer is the ε of one gradient; an answer of E gradients would cost E
            # times as much.
            remedy = "allowed with local steps is answers: a price is of one gradient"
            faults.append(Fault("privacy.budget.per_answer", str(gradients), remedy))
        if self.sample is not None and privacy.hides:
            remedy = (
                "no ε is known of records drawn with replacement: allowed with noise is nothing, "
                "or privacy.sampling in its place"
            )
            faults.append(Fault("algorithm.batch", str(self.sample), remedy))
        return faults

    def undeclared_fault(self, what: str) -> Fault:
        """Return the fault of an algorithm from outside that decides ``what`` without a mark."""
        remedy = (
            f"it decides {what}: allowed from outside with handles_gradients = True, and its label "
            "then reads “not shown”"
        )
        return Fault("algorithm.kind", repr(self.kind), remedy)

    def gradient_faults(self, numbers: int) -> list[Fault]:
        """Return a fault for each property of answers that an algorithm from outside decides.

        These properties matter before noise is added. A model has ``numbers`` numbers. What its
        steps decide is checked where the steps are made.
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
        return [self.undeclared_fault(decision) for decision, does in decided.items() if does]

    def repeated_answer_faults(self, scenario: Any) -> list[Fault]:
        """Return a fault if a budget is for several answers, since an owner answers only once."""
        privacy, n_owners = scenario.privacy, scenario.owners.count
        if len(privacy.faults(n_owners, scenario.model)) > 0:  # the budget is not known then
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
    """An algorithm with steps of Nρ/(T²σ); a scenario sets either ρ or the step itself."""

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
        """Return ρ, which follows from N owners, T updates and σ if the step itself is set."""
        if self.rho is not None:
            return self.rho
        return (self.step or 0.0) * updates**2 * sigma / n_owners

    @override
    def step_of(self, n_owners: int, updates: int, sigma: float) -> float:
        if self.step is not None:
            return self.step
        return n_owners * (self.rho or 0.0) / (updates**2 * sigma)

    @override
    def with_step(self, value: float) -> Self:
        """Return the same algorithm with this ρ, whichever of ρ and the step was set."""
        return self.model_copy(update={"rho": value, "step": None})
