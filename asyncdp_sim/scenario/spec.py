"""All that decides a run's result: the union of specifications, and conflicts between them."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self, TypeVar

from pydantic import model_validator
from typing_extensions import override

from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.specification import Spec, parse, per_owner, picked, wrong_length
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import html_table
from asyncdp_sim.data import SYNTHETIC, Dataset
from asyncdp_sim.data.dataset import DataKind
from asyncdp_sim.data.splits import held_out_faults
from asyncdp_sim.network.laws import in_a_row
from asyncdp_sim.network.spec import conflicts
from asyncdp_sim.privacy.guarantee import CHOSEN
from asyncdp_sim.scenario import paths
from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.scenario.owners import Participants, count_owners
from asyncdp_sim.theory.predict.update_order import lateness, shares
from asyncdp_sim.theory.prediction import Unknown

OF_BUDGETS = tuple(
    f"privacy.{field}"
    for field in ("budget", "delta", "epsilon", "learner", "overlap", "sensitivity")
)
"""Fields that must be right before it is known how many answers an owner may release."""


def conflicts_within(scenario: ScenarioFacts) -> list[Fault]:
    """Return what the parts find wrong with each other."""
    n_owners, algorithm = scenario.owners.count, scenario.algorithm
    faults = scenario.owners.number_faults()
    if len(faults) > 0:
        return faults
    too_slow = list(_computing_faults(scenario))
    faults += too_slow if len(too_slow) > 0 else conflicts(scenario.unlimited_network)
    of_privacy = scenario.privacy.faults(n_owners, scenario.model)
    faults += of_privacy
    for rules in (_label_faults, _privacy_faults, _meeting_faults):
        faults += rules(scenario)
    faults += scenario.model.start_faults(algorithm.starts_at)
    faults += algorithm.faults(scenario.protocol)
    faults += algorithm.gradient_faults(scenario.numbers)
    if not any(fault.key.startswith(OF_BUDGETS) for fault in of_privacy):
        faults += algorithm.misfits(scenario) + scenario.privacy.listener.misfits(scenario)
    faults += wrong_length("owners.records", scenario.owners.records, scenario.owners.whole)
    faults += _part_faults(scenario)
    faults += scenario.owners.name_faults(scenario.data.split_column)
    faults += _energy_faults(scenario)
    faults += held_out_faults(scenario.data.held_out, scenario.records or ())
    if len(faults) == 0 and algorithm.needs_shares:
        faults += _share_faults(scenario)
    return [*faults, *_record_faults(scenario)]


def _computing_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield what keeps gradients from being computed one after another.

    Until it is mended an answer takes an unknown time, and nothing else is known of the network.
    """
    count = scenario.algorithm.gradients_per_answer
    for law in dict.fromkeys(per_owner(scenario.compute, 1) if count > 1 else ()):
        try:
            in_a_row(law, count)
        except SpecError as error:
            yield from (fault.under("compute") for fault in error.faults)


def _energy_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield faults that prevent the energy of owners from being computed, if it is requested."""
    if scenario.energy is None:
        return
    yield from scenario.energy.faults(scenario.owners.count)
    if scenario.clock.superposed:
        remedy = 'allowed with [energy] is "per-owner": a superposed clock has no idle owners'
        yield Fault("clock.population", "'superposed'", remedy)
    if scenario.protocol.update_of == "servers":
        remedy = "allowed with [energy] is a protocol with one learner, or with none"
        yield Fault("protocol.kind", repr(scenario.protocol.kind), remedy)


def _part_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield a fault for each part that nobody can be left out of, where somebody is."""
    key = "without" if scenario.owners.only is None else "only"
    key = "numbers" if scenario.owners.numbers is not None else key
    value = getattr(scenario.owners, key)
    learner = ["privacy.learner"] if scenario.privacy.learner is not None else []
    for part in [*scenario.of_everybody, *learner] if value is not None else ():
        remedy = f"not allowed with {part}: it is of all owners, by their numbers"
        yield Fault(f"owners.{key}", show(list(value)), remedy)


def _label_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield a fault where it is plain from the scenario that targets are no labels."""
    model, data = scenario.model, scenario.data
    count, classes = len(model.labels), data.classes
    if model.intercept is True and not data.has_columns:
        remedy = "allowed is true with a table, whose features a column of ones joins"
        yield Fault("model.intercept", "true", remedy)
    if count == 0:
        return
    if data.target_labels == () and "labels" in type(data).model_fields:
        remedy = f"allowed is true with model.kind = {model.kind}, which learns labels ±1"
        yield Fault("data.labels", "false", remedy)
    elif data.target_labels == ():
        remedy = f"targets with data.kind = {data.kind} are numbers: allowed is a model of numbers"
        yield Fault("model.kind", repr(model.kind), remedy)
    elif not {*(data.target_labels or ())} <= {*model.labels}:
        remedy = f"targets with data.kind = {data.kind} are labels −1 and 1: allowed is 2"
        yield Fault("model.classes", str(count), remedy)
    if len(classes) not in (0, count):
        remedy = f"allowed are {count} classes with model.kind = {model.kind}"
        yield Fault("data.columns", f"a target of {len(classes)} classes", remedy)


def _privacy_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield what the claims of the privacy section do not go with, or timing by the model."""
    privacy, algorithm, protocol = scenario.privacy, scenario.algorithm, scenario.protocol
    if scenario.timing_unaccounted is not None and scenario.run.learning == "replay":
        remedy = 'run.target needs "live": there is no timing to replay before the model is known'
        yield Fault("run.learning", "'replay'", remedy)
    if privacy.learner is not None and not protocol.has_learner:
        remedy = "not allowed where owners gossip without a learner: each has a model"
        yield Fault("privacy.learner", "a table", remedy)
    read = scenario.timing_unaccounted or (CHOSEN if scenario.chosen_privately else None)
    by_records = f"not allowed where counts or scales may depend on records: {read}"
    if privacy.accountant is not None and read is not None:
        yield Fault("privacy.accountant", repr(privacy.accountant.kind), by_records)
    if privacy.sampling is not None:
        key, problem = "privacy.sampling", f"{privacy.sampling:g}"
        if algorithm.xi is not None or algorithm.obfuscates or algorithm.answers_once:
            remedy = f"not allowed with algorithm {algorithm.kind}, whose answers are no gradients"
            yield Fault(key, problem, remedy)
        if read is not None:
            yield Fault(key, problem, by_records)
    for remedy in _budget_misfits(scenario):
        yield Fault("privacy.budget.kind", repr(privacy.budget.kind), f"allowed is {remedy}")


def _budget_misfits(scenario: ScenarioFacts) -> Iterator[str]:
    """Yield what is allowed in place of a budget that gives answers unequal parts."""
    budget, algorithm, protocol = scenario.privacy.budget, scenario.algorithm, scenario.protocol
    if not budget.even and scenario.privacy.hides:
        if not protocol.one_each or protocol.answers_each > 1:
            yield f"{protocol.kind} with one answer of an owner under way at a time"
        if algorithm.gradients_per_answer > 1:
            yield "one gradient in an answer"
        if algorithm.answers_once:
            yield f"nothing with algorithm {algorithm.kind}, which asks once"
    by_chance = protocol.selection_probabilities(scenario.owners.count) is not None
    if budget.of_asked and scenario.apart is not None:
        yield "anything else with privacy.participation.apart, which changes p_i"
    elif budget.of_asked and not by_chance:
        yield "anything else: the learner asks no owner by probabilities p_i"


def _meeting_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield what keeps owners' answers from being what an update needs."""
    algorithm, protocol, count = scenario.algorithm, scenario.protocol, scenario.owners.count
    lost = max(scenario.channel.packet_loss().shares(count), default=0.0)
    in_pairs = protocol.update_of == "pair" and not protocol.has_learner
    if in_pairs and not algorithm.averages_alone and lost != 0:
        remedy = f"algorithm {algorithm.kind} needs both answers of a meeting: allowed is 0"
        yield Fault("channel.loss", f"{lost:g} for some owner", remedy)
    if scenario.privacy.per_owner and (algorithm.xi is not None or algorithm.obfuscates):
        remedy = "allowed with privacy.unit owner: algorithms whose owners answer with gradients"
        yield Fault("algorithm.kind", repr(algorithm.kind), remedy)
    if scenario.apart is None or not protocol.keeps_apart:
        return
    if protocol.makes_updates:  # of any number of answers
        most = (count - 1) // min(count, protocol.asked_at_most or count) + 1
    else:
        most = count // (algorithm.answers_per_update or 1)
    if min(scenario.apart, scenario.run.updates) > most:
        remedy = "allowed is nothing" if most == 0 else f"allowed is at most {most}"
        remedy += f": with more, all {count} owners would rest at once, and the run would end"
        yield Fault("privacy.participation.apart", str(scenario.apart), remedy)


def _share_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield a fault where nobody knows how often each owner's answers are used."""
    value: object = shares(scenario.network)
    remedy = "it needs each owner's share of the updates"
    if scenario.algorithm.needs_lateness and not isinstance(value, Unknown):
        value = lateness(scenario.network)
        remedy = "it needs the law of each owner's staleness"
    if isinstance(value, Unknown):
        chosen = "inverse-weight" if scenario.algorithm.needs_lateness else "inverse-rate"
        yield Fault("algorithm.selection", chosen, f"{remedy}, which is not known: {value}")


def _record_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield a fault if both or neither of scenario and data give the number of records."""
    records, by_data = scenario.owners.records, scenario.data.says_records
    if records is None and not by_data:
        yield Fault("owners.records", "nothing", "this field is required")
    if records is not None and by_data:
        arguments = "by a column" if scenario.data.split_column is not None else "by their targets"
        yield Fault(
            "owners.records", str(records), f"not allowed if the data are split {arguments}"
        )


_S = TypeVar("_S", bound=Spec)


class Scenario(ScenarioFacts):
    """Everything that determines the result of a run, except the software.

    Raises
    ------
    SpecError
        At construction, with all faults.

    Examples
    --------
    >>> scenario = ad.load("lending-sound")
    >>> other = scenario.replace(privacy={"epsilon": 3}, availability={"kind": "always"})
    >>> other.privacy.epsilon, other.owners.count == scenario.owners.count
    (3.0, True)
    """

    @model_validator(mode="after")
    def _names_its_source(self) -> Self:
        """Say where the records come from, where nobody did, or who said synthetic reads a file."""
        if self.source is None or (self.source == SYNTHETIC and not self.data.synthetic):
            object.__setattr__(self, "source", self.data.origin)
        return self

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from conflicts_within(self)

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
            remedy = f"allowed is {len(names)}, the number of distinct values of the column"
            raise DataError([Fault("owners.count", str(self.owners.whole), remedy)])
        return tuple(names[i - 1] for i in self.owners.participants) if len(names) > 0 else ()

    def plain(self) -> paths.Raw:
        """Return the scenario as TOML-ready tables, with every default filled in."""
        absent = {"sweep"} if len(self.sweep) == 0 else None
        raw: paths.Raw = paths.listed(
            self.model_dump(by_alias=True, exclude_none=True, exclude=absent)
        )
        return raw

    def replace(self, **parts: Any) -> "Scenario":
        """Return a copy of the scenario with other parts, which is validated.

        Parameters
        ----------
        parts : object or mapping
            New parts by field: an object, possibly of a custom class, or a table. A table with a
            ``kind`` replaces the part; a table without changes single fields of it.

        Raises
        ------
        SpecError
            If a part is wrong, or parts do not fit together.
        """
        return replaced(self, paths.listed(parts))

    def _repr_html_(self) -> str:
        """Return what was set, not left at its default, as a notebook shows it."""
        content = self.model_dump(
            by_alias=True, exclude_unset=True, exclude={"title", "description"}
        )
        rows = [(key, show(value)) for key, value in paths.leaves(content)]
        return html_table(rows, title=self.title or self.id, said=[self.description])

    def base(self) -> "Scenario":
        """Return the scenario without its sweep, for the participants alone.

        Raises
        ------
        SpecError
            If an owner that is named is none.
        DataError
            If owners' names are in a table that cannot be read.
        """
        return self._unswept()._taking_part()

    def _unswept(self) -> "Scenario":
        """Return the same without a sweep, whose parts all cells share."""
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
            for path, _ in paths.variant_settings(swept, value)
        )
        whose = ("owners", "owners.names")
        if not any(path.split(".")[0] == "data" or path in whose for path in set_in_cells):
            return self
        owners = self.owners.model_copy(update={"counted": "in-each-cell"})
        return self.model_copy(update={"owners": owners})

    @cached_property
    def _names_known(self) -> dict[str, tuple[str, ...]]:
        """The owners' names by the data of cells: a column is read once, not in each of them."""
        return {}

    def _names_of(self, data: DataKind) -> tuple[str, ...]:
        content = data.model_dump_json()
        if content not in self._names_known:
            self._names_known[content] = data.owner_names()
        return self._names_known[content]

    def _taking_part(self) -> "Scenario":
        """Return the scenario of those who take part alone: its lists are theirs."""
        owners = self.owners
        if not owners.unresolved:
            return self
        names = self.names_read()
        chosen = owners.chosen(names)
        return picked(self, chosen).replace(owners=owners.taking_part(chosen, names))

    def require_sweep(self) -> None:
        """Refuse a scenario without a sweep.

        Raises
        ------
        SpecError
            With an example of one.
        """
        if len(self.sweep) == 0:
            rule = "allowed is a table of dotted paths and lists, as in --set"
            example = """'sweep={ "privacy.epsilon" = [1, 10] }'"""
            raise SpecError([Fault("sweep", "nothing", f"{rule} {example}")])

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield the swept values of each cell, the last path varying fastest."""
        if len(self.sweep) > 0:
            for values in itertools.product(*self.sweep.values()):
                yield dict(zip(self.sweep, values, strict=True))

    @property
    def reads_a_file(self) -> bool:
        """Whether records are read from a file, in the base or in a cell of the sweep."""
        if self.data.file is not None:
            return True
        asked = any(path.split(".")[0] in ("data", paths.VARIANT) for path in self.sweep)
        return asked and any(self.cell(item).data.file is not None for item in self.grid())

    def cell(self, chosen: Mapping[str, Any]) -> "Scenario":
        """Return the scenario of one cell.

        Parameters
        ----------
        chosen : mapping
            The swept paths and their values.

        Raises
        ------
        SpecError
            If the values do not fit together.
        DataError
            If the owners are in a table that cannot be read.
        """
        # a variant first, then whole tables, then what is set in them
        in_order = sorted(chosen, key=lambda path: (path != paths.VARIANT, len(paths.keys(path))))
        settings = [s for swept in in_order for s in paths.variant_settings(swept, chosen[swept])]
        swept_paths = [paths.keys(path) for path, _ in settings]
        if all(path in swept_paths for path in paths.EITHER):
            remedy = "allowed is one of algorithm.step and algorithm.rho"
            raise SpecError([Fault("algorithm.step", "both in a cell", remedy)])
        raw = self._open_at({path[0] for path in swept_paths})
        if self.source == self.data.origin:
            del raw["source"]  # that of other data, where these are swept
        for path, value in settings:
            paths.set_path(Scenario, raw, path, copy.deepcopy(value))
        if self.owners.counted is not None:
            count_owners(raw, self._names_of, otherwise=self.owners.count)
        cell: Scenario = parse(Scenario, raw)
        return cell._taking_part()

    def _open_at(self, sections: set[str]) -> paths.Raw:
        """Return the scenario without its sweep, some sections as tables, the others as they are.

        Cells share the others: they are not read again, nor what they have read of files. Where
        cells count their owners, data and owners are tables too, and the count is left open.
        """
        unswept, counted = self._unswept(), self.owners.counted is not None
        opened = sections | ({"data", "owners"} if counted else set())
        raw = {
            field.alias or name: getattr(unswept, name)
            for name, field in type(self).model_fields.items()
            if name not in opened
        }
        raw |= paths.listed(unswept.model_dump(by_alias=True, exclude_none=True, include=opened))
        if counted:
            del raw["owners"]["count"]
        return {key: value for key, value in raw.items() if value is not None and key != "sweep"}


def replaced(spec: _S, parts: Mapping[str, Any]) -> _S:
    """Return a specification with other parts, validated like any.

    Parameters
    ----------
    spec : Spec
    parts : mapping
        From the names of fields to objects, or to tables: one with a ``kind`` is a part of its
        own, another changes fields of the part that is there.
    """
    names = {name: field.alias or name for name, field in type(spec).model_fields.items()}
    fields = {names[name]: value for name, value in spec if name in spec.model_fields_set}
    new: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, part in zip(map(str, parts), parts.values(), strict=True):
        try:
            new[name] = _part(getattr(spec, name, None), name, part)
        except SpecError as error:
            faults += error.faults
    if len(faults) > 0:
        raise SpecError(faults)
    return type(spec)(**(fields | new))


def _part(before: object, name: str, given: Any) -> Any:
    """Return what comes in the place of a part."""
    if not isinstance(before, Spec) or not isinstance(given, Mapping) or "kind" in given:
        return given
    rest = {
        other for (part, field), other in paths.EITHER.items() if part == name and field in given
    }
    gone = (rest - {*given}) & {*type(before).model_fields}
    try:
        return replaced(before, {**given, **dict.fromkeys(gone)})
    except SpecError as error:
        raise SpecError([fault.under(name) for fault in error.faults]) from None
