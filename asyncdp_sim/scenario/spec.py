"""The union of all specifications: all that decides a run's result."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from asyncdp_sim.data import SYNTHETIC, Dataset, DataSpec
from asyncdp_sim.data.kind import DataKind
from asyncdp_sim.data.tables import held_out
from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.faults import faults_of, show
from asyncdp_sim.learning.acceptance import Acceptance, HonestAnswers, Lengths
from asyncdp_sim.learning.adversary import Adversary
from asyncdp_sim.learning.algorithms import Algorithm
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.learning.trigger import Trigger
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.compatibility import conflicts
from asyncdp_sim.network.latency import Latency, Laws, Payload
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.spec import Network
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.privacy.reasons import CHOSEN
from asyncdp_sim.scenario import variants
from asyncdp_sim.scenario.counting import count_owners, may_change
from asyncdp_sim.scenario.outside import replaced
from asyncdp_sim.scenario.participants import Participants
from asyncdp_sim.scenario.parts import Owners, Run, canonical, identifier
from asyncdp_sim.scenario.paths import Raw, leaves, set_path
from asyncdp_sim.scenario.variants import VARIANT
from asyncdp_sim.spec import Kind, Spec, about, parse, picked, wrong_length
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.words import html_table


class Scenario(Spec):
    """Everything that decides a run's result, besides the software.

    Raises
    ------
    SpecError
        At construction, with every fault found.

    Examples
    --------
    >>> scenario = ad.load("lending-sound")
    >>> other = scenario.replace(privacy={"epsilon": 3}, availability={"kind": "always"})
    >>> other.privacy.epsilon, other.owners.count == scenario.owners.count
    (3.0, True)
    """

    schema_version: Annotated[
        Literal[1], Field(alias="schema"), about("Version of the format of scenario files", "none")
    ] = 1
    id: Annotated[
        str,
        AfterValidator(identifier),
        about(
            "Name of the scenario, and of its results' directories",
            domain="lower-case words joined by hyphens",
            example="three-banks",
        ),
    ]
    title: Annotated[str, about("Heading, for people", example="Three banks")] = ""
    description: Annotated[str, about("What the scenario is for", example="Does joining pay?")] = ""
    source: Annotated[
        str | None,
        about(
            "Where it comes from, for captions. Absent: where the records do, synthetic, "
            "synthetic twin of lending or a table by its file's name. A scenario that reads a "
            "file is not synthetic, whatever it says",
            example="Async, figure 3",
        ),
    ] = None
    chosen_from: Annotated[
        Literal["public rows", "private rows"] | None,
        about(
            "What the settings were chosen from. From private rows no ε holds: whoever sees the "
            "settings learns of records, and nothing is charged for it. Absent: from neither",
            example="public rows",
        ),
    ] = None
    run: Annotated[Run, about("How much is simulated")]
    owners: Annotated[Owners, about("Who takes part")]
    data: Annotated[DataSpec, about("Whose records they are, and where they come from")]
    model: Annotated[Model, about("What is learned")]
    clock: Annotated[Clock, about("When owners act")] = PoissonClock()
    availability: Annotated[Availability, about("When owners are online")] = Always()
    channel: Annotated[Channel, about("How answers get to the learner")] = Ideal()
    latency: Annotated[
        Latency,
        about("How long messages travel", example={"answer": {"kind": "constant", "value": 0.01}}),
    ] = Latency()
    payload: Annotated[Payload, about("How large messages are", example={"header_bytes": 0})] = (
        Payload()
    )
    topology: Annotated[
        Topology | None,
        about(
            "Which links messages travel over; absent: none, so that laws of latency say all",
            example={"kind": "star", "latency": 0.1},
        ),
    ] = None
    compute: Annotated[
        Laws,
        about(
            "Time that an owner takes for one gradient",
            example={"kind": "exponential", "mean": 0.05},
        ),
    ] = NoTime()
    protocol: Annotated[Protocol, about("Who asks whom, and what happens meanwhile")] = Request()
    algorithm: Annotated[Algorithm, about("What becomes of an answer")]
    adversary: Annotated[
        Adversary | None,
        about("Owners that lie; absent: none", example={"kind": "flip", "owners": [3]}),
    ] = None
    acceptance: Annotated[
        Acceptance | None,
        about(
            "What the learner does with answers that are too long; absent: it takes all",
            example={"kind": "clip", "bound": 1.0},
        ),
    ] = None
    trigger: Annotated[
        Trigger | None,
        about(
            'When owners answer; absent: always. It needs run.learning = "live"',
            example={"kind": "large-gradient", "threshold": 0.5},
        ),
    ] = None
    privacy: Annotated[
        Privacy,
        about(
            "What answers hide, and what they cost",
            example={"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
        ),
    ]
    sweep: Annotated[
        dict[str, list[Any]],
        AfterValidator(canonical),
        about(
            "Lists of values for dotted paths: every combination is a cell. variant takes tables "
            "of paths that go together, each with a name",
            domain="a table of lists",
            example={"privacy.epsilon": [0.1, 1.0, 10.0]},
        ),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_its_source(self) -> "Scenario":
        """Say where the records come from, where nobody did, or who said synthetic reads a file."""
        if self.source is None or (self.source == SYNTHETIC and not self.data.synthetic):
            object.__setattr__(self, "source", self.data.origin)
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> "Scenario":
        found = self._conflicts()
        if found:
            raise faults_of(found)
        return self

    def _conflicts(self) -> list[Fault]:
        """Gather what the parts find wrong with each other."""
        n_owners, algorithm = self.owners.count, self.algorithm
        found = self.owners.number_faults()
        if len(found) > 0:
            return found
        found += conflicts(n_owners, self)
        found += self.privacy.faults(n_owners, self.model)
        found += self._learner_faults() + self._label_faults() + self._timing_faults()
        found += self._accountant_faults()
        found += self.model.start_faults(algorithm.starts_at)
        found += algorithm.faults(self.protocol) + algorithm.misfits(self)
        found += [] if self.adversary is None else self.adversary.faults(n_owners)
        if self.acceptance is not None:
            found += self.acceptance.faults(self.privacy.mechanism.kind)
        found += wrong_length("owners.records", self.owners.records, self.owners.whole)
        found += self._part_faults()
        found += self.owners.name_faults(self.data.split_column)
        found += held_out.faults(self.data.held_out, self.records or ())
        if len(found) == 0 and algorithm.needs_shares:
            found += self._share_faults()
        return found + self._record_faults()

    def _part_faults(self) -> list[Fault]:
        """Return a fault for each part that nobody can be left out of, where somebody is."""
        key = "without" if self.owners.only is None else "only"
        key = "numbers" if self.owners.numbers is not None else key
        given = getattr(self.owners, key)
        if given is None:
            return []
        found = list(self.of_everybody)
        found += ["privacy.learner"] if self.privacy.learner is not None else []
        return [
            Fault(f"owners.{key}", show(list(given)), f"allowed is nothing with {each}: {_ALL}")
            for each in found
        ]

    @property
    def of_everybody(self) -> tuple[str, ...]:
        """The parts that name all owners by their numbers, so that none can be left out."""
        named = [(name, part) for name, part in self if isinstance(part, Kind)]
        return tuple(f"{name}.kind = {part.kind}" for name, part in named if part.of_everybody)

    def _learner_faults(self) -> list[Fault]:
        """Return a fault where nobody is the learner, and a learner's privacy is asked for."""
        if self.privacy.learner is None or self.protocol.has_learner:
            return []
        allowed = "allowed is nothing where owners gossip without a learner: each has a model"
        return [Fault("privacy.learner", "a table", allowed)]

    def _share_faults(self) -> list[Fault]:
        """Return a fault where nobody knows how often each owner's answers are used."""
        known = shares(self.network)
        if not isinstance(known, Unknown):
            return []
        allowed = f"it needs each owner's share of the updates, which is not known: {known}"
        return [Fault("algorithm.selection", "inverse-rate", allowed)]

    def _record_faults(self) -> list[Fault]:
        """Return a fault where both or neither of scenario and data say how many records."""
        records, by_data = self.owners.records, self.data.says_records
        if records is None and not by_data:
            return [Fault("owners.records", "nothing", "this field is required")]
        if records is not None and by_data:
            how = "by a column" if self.data.split_column is not None else "by their targets"
            allowed = f"allowed is nothing where the data are split {how}"
            return [Fault("owners.records", str(records), allowed)]
        return []

    def _label_faults(self) -> list[Fault]:
        """Return a fault where it is plain from the scenario that targets are no labels."""
        if not self.model.classifies or not self.data.no_labels:
            return []
        allowed = f"allowed is true with model.kind = {self.model.kind}, which learns labels ±1"
        return [Fault("data.labels", "false", allowed)]

    def _timing_faults(self) -> list[Fault]:
        """Return what keeps timing from depending on the model, where it is to."""
        found = [] if self.trigger is None else self.trigger.faults(self.algorithm)
        asked = "run.target" if self.run.target is not None else "[trigger]"
        if self.timing_unaccounted is not None and self.run.learning == "replay":
            allowed = (
                f'{asked} needs "live": there is no timing to replay before the model is known'
            )
            found.append(Fault("run.learning", "'replay'", allowed))
        return found

    def _accountant_faults(self) -> list[Fault]:
        """Return a fault where answers that records have a say in are to be composed."""
        accountant = self.privacy.accountant
        read = self.timing_unaccounted or (CHOSEN if self.chosen_privately else None)
        if accountant is None or read is None:
            return []
        allowed = f"allowed is nothing where counts or scales may depend on records: {read}"
        return [Fault("privacy.accountant", repr(accountant.kind), allowed)]

    @property
    def withholds(self) -> bool:
        """Whether owners may keep answers to themselves."""
        return self.trigger is not None

    @property
    def timing_unaccounted(self) -> str | None:
        """What timing tells of private records that nobody pays for; None where it is nothing."""
        told = []
        if self.run.target is not None:
            told.append("a run ends where ψ, of private records, says so (run.target)")
        if self.trigger is not None:
            told.append("owners answer or keep silent by their exact gradients ([trigger])")
        return None if len(told) == 0 else f"{' and '.join(told)}; no budget is charged for it"

    @property
    def chosen_privately(self) -> bool:
        """Whether private records had a say in the settings."""
        return self.chosen_from == "private rows"

    @property
    def unsound(self) -> tuple[str, ...]:
        """Why private records have a say in what everybody sees, whatever the noise is."""
        reasons = (self.data.unsound, CHOSEN if self.chosen_privately else None)
        return tuple(why for why in reasons if why is not None)

    @property
    def network(self) -> Network:
        """The network part: all that a trace depends on, besides the seed."""
        unlike = self.answer_numbers != self.numbers  # queries and answers differ in size
        return Network(
            answers_allowed=self.privacy.answers_allowed(
                self.owners.count, self.run.updates * self.protocol.answers_each
            ),
            updates=self.run.updates,
            answers_per_update=(
                None if self.protocol.makes_updates else self.algorithm.answers_per_update
            ),
            until=self.run.until,
            withholds=self.withholds,
            stops=self.run.target is not None,
            ties=self.run.ties,
            clock=self.clock,
            availability=self.availability,
            channel=self.channel,
            latency=self.latency,
            payload=self.payload,
            topology=self.topology,
            numbers=self.answer_numbers if self._sizes_matter else 1,
            query_numbers=self.numbers if self._sizes_matter and unlike else None,
            owner_numbers=self.owners.numbers,
            compute=self.compute,
            protocol=self.protocol,
        )

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

    def honest_answers(self, noise: Lengths, n_features: int) -> HonestAnswers:
        """Return what is public of honest answers of p numbers with such noise."""
        reach = 0.0 if self.xi is None else self.xi
        if self.privacy.norm == "l2":
            reach *= n_features**0.5
        return HonestAnswers(reach, noise, n_features)

    @property
    def _sizes_matter(self) -> bool:
        """Whether messages take time by their size, so that p matters to the network."""
        shared = self.channel.contended
        return self.latency.rate_bytes is not None or (
            shared is not None and shared.rate_bytes is not None
        )

    @property
    def records(self) -> tuple[int, ...] | None:
        """n_i per owner who takes part; None where the data decide."""
        given, numbers = self.all_records, self.owners.numbers
        if given is None or numbers is None:
            return given
        return tuple(given[i - 1] for i in numbers if i <= len(given))

    @property
    def all_records(self) -> tuple[int, ...] | None:
        """n_i per owner, taking part or not; None where the data decide."""
        return self.owners.records_of(self.run.seed)

    def part(self, everybody: Dataset) -> Dataset:
        """Return the records of those who take part, out of those of all owners."""
        numbers = self.owners.numbers
        if numbers is None:
            return everybody
        judging = (i - 1 for i in self.owners.judging)
        return everybody.of_owners([i - 1 for i in numbers], judging)

    def participants(self, names: tuple[str, ...]) -> Participants:
        """Return who takes part, a table's column having these names where they have others."""
        own = names if self.owners.names is None else self.owners.names
        return Participants(self.owners.participants, own)

    def names_read(self) -> tuple[str, ...]:
        """Return what those who take part are called, reading the table where its column says it.

        Raises
        ------
        DataError
            If it cannot be read, or has other owners.
        """
        if self.owners.names is not None:
            return self.owners.names
        names = self.data.owner_names()
        if len(names) not in (0, self.owners.whole):
            allowed = f"allowed is {len(names)}, the number of distinct values of the column"
            raise DataError([Fault("owners.count", str(self.owners.whole), allowed)])
        return tuple(names[i - 1] for i in self.owners.participants) if len(names) > 0 else ()

    @property
    def trained_on(self) -> tuple[int, ...] | None:
        """Records per owner that are not held out; None where the data decide."""
        return self.records and held_out.trained_on(self.data.held_out, self.records)

    def plain(self) -> Raw:
        """Return the scenario as TOML-ready tables, with every default filled in."""
        raw: Raw = _listed(self.model_dump(by_alias=True, exclude_none=True))
        return raw if raw["sweep"] else {k: v for k, v in raw.items() if k != "sweep"}

    def replace(self, **parts: Any) -> "Scenario":
        """Return the scenario with other parts, validated like any.

        Parameters
        ----------
        parts : object or mapping
            By field: an object, which may be of a class that is not part of this package; or a
            table, whole if it has a ``kind``, else of what changes in the part that is there.

        Raises
        ------
        SpecError
            If anything is wrong, or does not fit together.
        """
        return replaced(self, parts)

    def _repr_html_(self) -> str:
        """Return what was set, not left at its default, as a notebook shows it."""
        said = self.model_dump(by_alias=True, exclude_unset=True, exclude={"title", "description"})
        rows = [(key, show(value)) for key, value in leaves(said)]
        return html_table(rows, title=self.title or self.id, said=[self.description])

    def base(self) -> "Scenario":
        """Return the scenario without its sweep, of those who take part.

        Raises
        ------
        SpecError
            If an owner that is named is none.
        DataError
            If a table is to say what owners are called, and cannot be read.
        """
        return self._unswept()._taking_part()

    def _unswept(self) -> "Scenario":
        if len(self.sweep) == 0 and self.owners.counted is None:
            return self
        owners = self.owners.model_copy(update={"counted": None})
        return self.model_copy(update={"sweep": {}, "owners": owners})

    def counting_in_cells(self) -> "Scenario":
        """Return the scenario whose cells count their owners, where others may be theirs."""
        set_in_cells = (
            path
            for swept, values in self.sweep.items()
            for value in values
            for path, _ in variants.settings(swept, value)
        )
        if not may_change(set_in_cells):
            return self
        owners = self.owners.model_copy(update={"counted": "in-each-cell"})
        return self.model_copy(update={"owners": owners})

    @cached_property
    def _names_known(self) -> dict[str, tuple[str, ...]]:
        """The owners' names by the data of cells: a column is read once, not in each of them."""
        return {}

    def _names_of(self, data: DataKind) -> tuple[str, ...]:
        said = data.model_dump_json()
        if said not in self._names_known:
            self._names_known[said] = data.owner_names()
        return self._names_known[said]

    def _taking_part(self) -> "Scenario":
        """Return the scenario of those who take part alone: its lists are theirs."""
        owners = self.owners
        if not owners.named:
            return self
        names = self.names_read()
        chosen = owners.chosen(names)
        return picked(self, chosen).replace(owners=owners.taking_part(chosen, names))

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield the swept values of each cell of the grid, last path fastest; none without one."""
        if len(self.sweep) > 0:
            for values in itertools.product(*self.sweep.values()):
                yield dict(zip(self.sweep, values, strict=True))

    @property
    def reads_a_file(self) -> bool:
        """Whether records are read from a file, by itself or in a cell of its sweep."""
        if self.data.file is not None:
            return True
        asked = any(path.split(".")[0] in ("data", VARIANT) for path in self.sweep)
        return asked and any(self.cell(each).data.file is not None for each in self.grid())

    def cell(self, chosen: Mapping[str, Any]) -> "Scenario":
        """Return the scenario of one cell.

        Raises
        ------
        SpecError
            If the values do not fit together.
        DataError
            If a table is to say who the owners are, and cannot be read.
        """
        raw = self._unswept().plain()
        if self.source == self.data.origin:
            del raw["source"]  # that of other data, where these are swept
        if self.owners.counted is not None:
            del raw["owners"]["count"]
        for swept in sorted(chosen, key=VARIANT.__ne__):  # a variant first, the rest upon it
            for path, value in variants.settings(swept, chosen[swept]):
                set_path(Scenario, raw, path, copy.deepcopy(value))
        if self.owners.counted is not None:
            count_owners(raw, self._names_of, otherwise=self.owners.count)
        cell: Scenario = parse(Scenario, raw)
        return cell._taking_part()


_ALL = "it is of all owners, by their numbers"


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(inner) for inner in value]
    return value
