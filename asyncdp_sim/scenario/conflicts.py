"""Conflicts between the parts of a scenario, as faults."""

from collections.abc import Iterator

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import per_owner, wrong_length
from asyncdp_sim.core.validation import show
from asyncdp_sim.data.tables import held_out
from asyncdp_sim.network.laws import in_a_row
from asyncdp_sim.network.spec import conflicts
from asyncdp_sim.privacy.guarantee import CHOSEN
from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.theory.predict.staleness import lateness
from asyncdp_sim.theory.predict.update_order import shares
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
    faults += too_slow if len(too_slow) > 0 else conflicts(n_owners, scenario)
    of_privacy = scenario.privacy.faults(n_owners, scenario.model)
    faults += of_privacy
    for rules in (_label_faults, _timing_faults, _privacy_faults, _meeting_faults):
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
    faults += held_out.faults(scenario.data.held_out, scenario.records or ())
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
    if count > 0 and data.target_labels == () and "labels" in type(data).model_fields:
        remedy = f"allowed is true with model.kind = {model.kind}, which learns labels ±1"
        yield Fault("data.labels", "false", remedy)
    elif count > 0 and data.target_labels == ():
        remedy = f"targets with data.kind = {data.kind} are numbers: allowed is a model of numbers"
        yield Fault("model.kind", repr(model.kind), remedy)
    elif count > 0 and not {*(data.target_labels or ())} <= {*model.labels}:
        remedy = f"targets with data.kind = {data.kind} are labels −1 and 1: allowed is 2"
        yield Fault("model.classes", str(count), remedy)
    if count > 0 and len(classes) not in (0, count):
        remedy = f"allowed are {count} classes with model.kind = {scenario.model.kind}"
        yield Fault("data.columns", f"a target of {len(classes)} classes", remedy)
    if scenario.model.intercept is True and not scenario.data.has_columns:
        remedy = "allowed is true with a table, whose features a column of ones joins"
        yield Fault("model.intercept", "true", remedy)


def _timing_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield what keeps timing from depending on the model, where it is to."""
    if scenario.timing_unaccounted is not None and scenario.run.learning == "replay":
        remedy = 'run.target needs "live": there is no timing to replay before the model is known'
        yield Fault("run.learning", "'replay'", remedy)


def _privacy_faults(scenario: ScenarioFacts) -> Iterator[Fault]:
    """Yield what the claims of the privacy section do not go with."""
    privacy, algorithm, protocol = scenario.privacy, scenario.algorithm, scenario.protocol
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
    budget, key = privacy.budget, "privacy.budget.kind"
    if not budget.even and privacy.hides:
        reasons = [
            (
                not protocol.one_each or protocol.answers_each > 1,
                f"{protocol.kind} with one answer of an owner under way at a time",
            ),
            (algorithm.gradients_per_answer > 1, "one gradient in an answer"),
            (algorithm.answers_once, f"nothing with algorithm {algorithm.kind}, which asks once"),
        ]
        for wrong, why in reasons:
            if wrong:
                yield Fault(key, repr(budget.kind), f"allowed is {why}")
    by_chance = protocol.selection_probabilities(scenario.owners.count) is not None
    if budget.of_asked and scenario.apart is not None:
        remedy = "allowed is anything else with privacy.participation.apart, which changes p_i"
        yield Fault(key, repr(budget.kind), remedy)
    elif budget.of_asked and not by_chance:
        remedy = "allowed is anything else: the learner asks no owner by probabilities p_i"
        yield Fault(key, repr(budget.kind), remedy)


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
