"""The fields of a scenario, and facts that follow from them before anything runs."""

from functools import cached_property
from math import prod
from typing import Annotated, Any, Literal

import numpy.typing as npt
from numpy import int64
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import CachedSpec, Count, Positive, Spec, Variant, outsiders
from asyncdp_sim.core.validation import faults_of
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.dataset import DataKind
from asyncdp_sim.data.splits import trained_on
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.answers import AdaptiveBound
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.measures.energy import Energy
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.laws import NoTime, in_a_row
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.spec import Latency, Laws, Network, Payload
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.privacy import Accountant, Privacy
from asyncdp_sim.privacy.budgets import MOST_ANSWERS
from asyncdp_sim.privacy.guarantee import CHOSEN
from asyncdp_sim.privacy.mechanisms import AnswerNoise
from asyncdp_sim.scenario.owners import Owners
from asyncdp_sim.scenario.paths import VARIANT, keys, variant_faults


def identifier(text: str) -> str:
    """Return an id: lower-case words joined by hyphens."""
    words = text.split("-")
    if not all(word.isascii() and word.isalnum() and word == word.lower() for word in words):
        raise PydanticCustomError("id", "allowed are lower-case words joined by hyphens")
    return text


def singular(text: str) -> str:
    """Return the name of a unit: a word of letters in the singular."""
    if not text.isalpha() or text.lower().endswith("s"):
        raise PydanticCustomError("unit", "allowed is one word in the singular, such as day")
    return text


MOST_CELLS = 100_000
"""Cells of a sweep, each of which is checked before the first one runs."""


def canonical(sweep: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Spell every swept path as ``a.b``, so that one path cannot stand twice."""
    faults: list[Fault] = []
    spelled: dict[str, list[Any]] = {}
    for path, values in sweep.items():
        if len(values) == 0:
            faults.append(Fault(path, "[]", "allowed is a list with at least one value"))
        if path == VARIANT:
            faults += variant_faults(values)
            spelled[path] = values
            continue
        try:
            parts = keys(path)
        except SpecError as error:
            faults += error.faults
            continue
        name = ".".join(parts)
        if parts[0] in ("schema", "id", "sweep") or name in spelled:
            faults.append(Fault(path, "this path", "allowed is a field of the run, once each"))
        spelled[name] = values
    cells = prod(map(len, spelled.values()))
    if cells > MOST_CELLS:
        few = f"allowed are {MOST_CELLS:,} at most: sweep fewer values, or in parts"
        faults.append(Fault("", f"{cells:,} cells", few))
    if len(faults) > 0:
        raise faults_of(faults)
    return spelled


class Run(Spec):
    """The amount that is simulated."""

    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    replicates: Count = 1
    updates: Count
    until: Annotated[float, Field(gt=0, le=1e9)] | None = None
    time_unit: Annotated[str, AfterValidator(singular)] | None = None
    target: Positive | None = None
    record_every: Count = 1
    ties: Literal["declared", "shuffled"] = "declared"
    learning: Literal["replay", "live"] = "replay"
    alone: bool = False
    split: bool = False


class ScenarioFacts(CachedSpec):
    """A scenario's fields, and what follows from them."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    id: Annotated[str, AfterValidator(identifier)]
    title: str = ""
    description: str = ""
    source: str | None = None
    chosen_from: Literal["public rows", "private rows"] | None = None
    run: Run
    owners: Owners
    data: DataSpec
    model: Model
    clock: Clock = PoissonClock()
    availability: Availability = Always()
    channel: Channel = Ideal()
    latency: Latency = Latency()
    payload: Payload = Payload()
    topology: Topology | None = None
    compute: Laws = NoTime()
    protocol: Protocol = Request()
    algorithm: AnyAlgorithm
    privacy: Privacy
    energy: Energy | None = None
    sweep: Annotated[dict[str, list[Any]], AfterValidator(canonical)] = Field(default_factory=dict)

    @property
    def of_everybody(self) -> tuple[str, ...]:
        """The parts that name all owners by their numbers, so that none can be left out."""
        named = [(name, part) for name, part in self if isinstance(part, Variant)]
        return tuple(f"{name}.kind = {part.kind}" for name, part in named if part.of_everybody)

    @property
    def apart(self) -> int | None:
        """Updates after which an owner may be asked again; None at any time."""
        rule = self.privacy.participation
        return None if rule is None else rule.apart

    @property
    def timing_unaccounted(self) -> str | None:
        """Information on private records in timing that no ε accounts for; None if none."""
        if self.run.target is None:
            return None
        ends = "a run ends when ψ, computed from private records, reaches run.target"
        return f"{ends}; no budget is charged for it"

    @property
    def sampled(self) -> bool:
        """Whether each answer is over some of its owner's records, other ones each time."""
        return self.algorithm.sample is not None or self.privacy.sampling is not None

    @property
    def chosen_privately(self) -> bool:
        """Whether the settings were chosen from private records."""
        return self.chosen_from == "private rows"

    @property
    def unsound(self) -> tuple[str, ...]:
        """Reasons why private records influence public output, with any noise."""
        reasons = (self.data.unsound, CHOSEN if self.chosen_privately else None)
        return tuple(why for why in reasons if why is not None)

    @property
    def outside_parts(self) -> tuple[str, ...]:
        """The parts from outside that what is claimed of privacy rests on.

        Of an algorithm that is given noisy answers alone it does not, unless the observer sees
        less than these: what that is then follows from what the algorithm says of itself.
        """
        matches = [at for name in _CLAIMED for at, _ in outsiders(getattr(self, name), name)]
        algorithm, listener = self.algorithm, self.privacy.listener
        sees_all = listener.by_count and not listener.sees_sums
        if algorithm.outside and (algorithm.handles_gradients or not sees_all):
            matches.append(f"algorithm.kind = {algorithm.kind}")
        return tuple(matches)

    @cached_property
    def network(self) -> Network:
        """The network part: all that a trace depends on, besides the seed."""
        return Network(**self._of_network(), answers_allowed=self._sent_at_most)

    @property
    def unlimited_network(self) -> Network:
        """The same before it is known how much owners may send, and what does not fit together."""
        most = (MOST_ANSWERS,) * self.owners.count
        return Network.model_construct(**self._of_network(), answers_allowed=most)

    def _of_network(self) -> dict[str, Any]:
        """Return the fields of its network, but for how often owners may send."""
        unlike = self.answer_numbers != self.numbers  # queries and answers differ in size
        return {name: getattr(self, name) for name in _OF_NETWORK} | dict(
            updates=self.run.updates,
            answers_per_update=(
                None if self.protocol.makes_updates else self.algorithm.answers_per_update
            ),
            until=self.run.until,
            stops=self.run.target is not None,
            answers_once=self.algorithm.answers_once,
            ties=self.run.ties,
            numbers=self.answer_numbers if self._sizes_matter else 1,
            query_numbers=self.numbers if self._sizes_matter and unlike else None,
            owner_numbers=self.owners.numbers,
            compute=self.computing,
            occupation=self.energy is not None,
        )

    @property
    def aggregation(self) -> Aggregation | None:
        """How answers are summed before anybody reads them, where they are."""
        return self.privacy.listener.aggregation(self.owners.count)

    @property
    def computing(self) -> Any:
        """How long an answer takes, a law or one per owner: its gradients, one after another.

        Raises
        ------
        SpecError
            If the law of so many durations has no name.
        """
        count = self.algorithm.gradients_per_answer
        if count == 1:
            return self.compute
        if isinstance(self.compute, tuple):
            return tuple(in_a_row(law, count) for law in self.compute)
        return in_a_row(self.compute, count)

    @property
    def _sent_at_most(self) -> tuple[int, ...]:
        """How often each owner may send: K_i times, or, where all is worked out of one, always."""
        count, updates = self.owners.count, self.run.updates
        if self.algorithm.answers_once:
            return (MOST_ANSWERS,) * count
        return self.spending.answers_allowed(count, updates * self.protocol.answers_each)

    @cached_property
    def spending(self) -> Privacy:
        """Privacy, with the frequency of queries to each owner if the learner chooses owners."""
        chances = self.protocol.selection_probabilities(self.owners.count)
        if chances is None:
            return self.privacy
        answers = self.run.updates * (self.algorithm.answers_per_update or 1)
        return self.privacy.told(chances, answers + self.protocol.left_open)

    @property
    def read_data(self) -> DataKind:
        """The data as the model reads them."""
        intercept = self.model.intercept is True
        return self.data.read_for(len(self.model.labels), intercept=intercept)

    @property
    def numbers(self) -> int:
        """p, the numbers in a model."""
        return self.model.numbers(self.data.features)

    @property
    def answer_numbers(self) -> int:
        """Numbers in an answer: p, those of a gradient, unless the algorithm says otherwise."""
        return self.algorithm.numbers_of_answer(self.numbers)

    @property
    def xi(self) -> float | None:
        """Ξ that the noise is scaled for; None where no sensitivity is named."""
        sensitivity = self.privacy.sensitivity
        if sensitivity is None:
            return None
        if self.algorithm.xi is not None:
            return self.algorithm.xi
        return sensitivity.xi(self.model, self.data.features, self.privacy.norm)

    @property
    def values_hidden(self) -> int:
        """How many values of an answer are hidden one by one, and charged: its gradients.

        Where a whole owner is hidden, an answer is one value, after all its local steps.
        """
        return 1 if self.privacy.per_owner else self.algorithm.gradients_per_answer

    @property
    def accountant(self) -> Accountant:
        """What owners' answers cost."""
        count, updates = self.owners.count, self.run.updates
        return self.spending.accountant_for(count, updates, self.values_hidden)

    def noise_for(self, records: npt.NDArray[int64]) -> AnswerNoise:
        """Return the noise on what owners with n_i ``records`` answer with, gradient by gradient.

        Raises
        ------
        SpecError
            As :meth:`~asyncdp_sim.privacy.Privacy.noise_for`.
        """
        xi = 0.0 if not self.privacy.hides or self.xi is None else self.xi
        updates, values = self.run.updates, self.values_hidden
        return self.spending.noise_for(
            records, updates, xi, self.answer_numbers, values, self.protocol.asked_at_most
        )

    @property
    def clip_law(self) -> AdaptiveBound | None:
        """How the clip bound moves from round to round; None where it stays."""
        return self.spending.clip_law(self.owners.count, self.run.updates)

    @property
    def _sizes_matter(self) -> bool:
        """Whether the size of messages takes time, or is reported, so that p matters."""
        shared, timed = self.channel.contended, self.latency.rate_bytes is not None
        by_airtime = shared is not None and shared.rate_bytes is not None
        reported = self.energy is not None or self.privacy.listener.sees_sums
        return timed or by_airtime or reported

    @property
    def records(self) -> tuple[int, ...] | None:
        """n_i per owner who takes part; None where the data decide."""
        value, numbers = self.all_records, self.owners.numbers
        if value is None or numbers is None:
            return value
        return tuple(value[i - 1] for i in numbers if i <= len(value))

    @property
    def all_records(self) -> tuple[int, ...] | None:
        """n_i per owner, taking part or not; None where the data decide."""
        return self.owners.records_of(self.run.seed)

    @property
    def trained_on(self) -> tuple[int, ...] | None:
        """Records per owner that are not held out; None where the data decide."""
        return self.records and trained_on(self.data.held_out, self.records)


_OF_NETWORK = (
    "clock", "availability", "channel", "latency", "payload", "topology", "protocol", "apart",
    "aggregation",
)  # fmt: skip
"""What the network has by the same names."""
_CLAIMED = ("data", "model", "privacy")
"""Parts whose members a claim of privacy rests on; others are not given records."""
