"""The family of observers: the attackers that ε is stated for, and their common interface."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.privacy.accountants.own import Accountant, gaussian_epsilon
from asyncdp_sim.privacy.mechanisms import (
    AnswerNoise,
    MechanismKind,
    OwnerBudgets,
    RecordSensitivity,
)
from asyncdp_sim.spec.base import Variant, kind_of, trait
from asyncdp_sim.trace import Trace

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learned:
    """What has been learned of owners in R replicates.

    Attributes
    ----------
    most : array (R, N)
        ε of owner i against the observer that learned most about it.
    zcdp : array (R, N) or None
        The same as ρ of zero-concentrated privacy; None of mechanisms that are not Gaussian.
    median : array (R, N) or None
        ε against the median of the other owners; None where all learn the same.
    least : array (R, N), optional
        ε of one pair of datasets, below which no claim is true; None where none is worked out.
    """

    most: Array
    zcdp: Array | None
    median: Array | None = None
    least: Array | None = None


class Listener(Protocol):
    """Who has learned something of owners, once runs are over."""

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what it has learned of each owner in these replicates."""


def gaussian_epsilons(squared: Array, delta: float) -> Array:
    """Return ε at δ of Gaussian answers with μ², each."""
    values, places = np.unique(squared, return_inverse=True)
    epsilons = [0.0 if mu == 0 else gaussian_epsilon(mu**-0.5, delta) for mu in values.tolist()]
    return np.array(epsilons)[places].reshape(squared.shape)


Reasons = list[tuple[bool, str]]
"""Requirements on a scenario, each after a flag: whether it is not met."""


def plainly(scenario: Any) -> Reasons:
    """Return the requirements of an observer that does not receive all answers."""
    privacy, steps = scenario.privacy, scenario.values_hidden
    return [
        (not bool(np.isfinite(privacy.asked(scenario.owners.count)).all()), "finite ε"),
        (privacy.sampling is not None, "answers over all records"),
        (steps > 1, f"answers of one gradient each, given algorithm.local_steps = {steps}"),
        (privacy.overlap > 1, "records that one owner has"),
        (privacy.learner is not None, "one copy of the algorithm"),
        (privacy.on_trust, "bounds that are enforced, given declared"),
        (scenario.adversary is not None, "owners that do not lie"),
        (scenario.acceptance is not None, "answers that are taken as they are"),
        (scenario.timing_unaccounted is not None, "timing that tells nothing of records"),
    ]


class ObserverKind(Variant):
    """An observer of a part of what owners send."""

    by_count: ClassVar[bool]
    """What it learns of an owner follows from how many answers that released, by the accountant.

    Else it is known once a run is over.
    """
    sees_sums: ClassVar[bool] = False
    """It sees no answer, only the sum of those that make an update."""
    knows_parts: ClassVar[bool] = False
    """What it learns is known where an owner's answers have unequal parts of its budget, too."""
    hides_owners: ClassVar[bool] = False
    """What it learns of an owner as a whole is known, too."""
    learner_adds_noise: ClassVar[bool] = False
    """The learner is trusted: it adds noise to sums, and may count answers within a clip bound."""
    sees_models: ClassVar[bool] = False
    """It sees central models and no answer: the audit attacks models too."""
    sees_meetings: ClassVar[bool] = False
    """It sees meetings of its own: the audit attacks what nodes hear too."""

    @classmethod
    def ways(cls) -> tuple[Self, ...]:
        """Return the ways of seeing that a forecast sets side by side."""
        return (cls.model_validate({}),)

    name: ClassVar[str] = trait(lambda self: str(self.model_dump()["kind"]))
    """What it is called in a table."""

    @abstractmethod
    def describe(self) -> str:
        """Return the observer and what it sees, in words that follow "against"."""

    @abstractmethod
    def misfits(self, scenario: Any) -> list[Fault]:
        """Return what keeps its ε from being known in a scenario."""

    def unmet(self, known: str, reasons: Reasons) -> list[Fault]:
        """Return a fault for each that is missing; ``known`` says what is known of what is left."""
        hint = f"{known} is known of {{}} only: allowed is transcript"
        key, value = "privacy.observer.kind", repr(kind_of(type(self)))
        return [Fault(key, value, hint.format(why)) for missing, why in reasons if missing]

    def for_owners(self) -> "ObserverKind":
        """Return the same where whole owners are hidden."""
        return self

    def check_words(self, scenario: Any) -> Iterator[str]:  # noqa: ARG002
        """Yield further lines that ``check`` prints."""
        yield from ()

    def allowed(self, allowance: OwnerBudgets, mechanism: MechanismKind) -> OwnerBudgets:  # noqa: ARG002
        """Return what answers may cost, where it is what they cost against it."""
        return allowance

    def shares(
        self,
        noise: AnswerNoise,
        influence: RecordSensitivity,  # noqa: ARG002
        parts: int,  # noqa: ARG002
    ) -> AnswerNoise:
        """Return the noise on each answer, where ``noise`` is to hide sums of ``parts`` of them."""
        return noise

    def share_of_noise(self, n_owners: int) -> float:  # noqa: ARG002
        """Return the ratio of its noise to the noise against an observer of every answer."""
        return 1.0

    subtracts: ClassVar[int] = 0
    """How many owners tell it what they added to a sum."""

    def heard(self, noise: AnswerNoise) -> AnswerNoise:
        """Return the least noise on what it learns from one answer."""
        return noise

    def aggregation(self, n_owners: int) -> Aggregation | None:  # noqa: ARG002
        """Return how answers are summed before they are read; None without sums."""
        return None

    def listening(self, scenario: Any) -> Listener:  # noqa: ARG002
        """Return the same with what it knows of a scenario that is public."""
        return self

    def learned(self, accountant: Accountant, traces: Sequence[Trace]) -> Learned:
        """Return what it has learned of each owner in these replicates: all released answers."""
        released = np.stack([trace.released for trace in traces])
        return Learned(accountant.spent(released), accountant.zcdp(released))


def of_the_strictest(allowance: OwnerBudgets, mechanism: MechanismKind) -> OwnerBudgets:
    """Return the same for a sum: 1/z of all is that of the strictest."""
    multiplier = mechanism.accountant(allowance).multiplier
    if multiplier is None or allowance.mu is not None or multiplier.max() == 0:
        return allowance
    return replace(allowance, mu=np.full(len(multiplier), 1 / multiplier.max()))


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
