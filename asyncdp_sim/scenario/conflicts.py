"""Conflicts between the parts of a scenario, as faults."""

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.data.tables import held_out
from asyncdp_sim.network.compatibility import conflicts
from asyncdp_sim.privacy.guarantee import CHOSEN
from asyncdp_sim.privacy.validate import out_of_range
from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.spec.base import wrong_length
from asyncdp_sim.spec.validation import show
from asyncdp_sim.theory.predict.staleness import lateness
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown


def conflicts_within(scenario: ScenarioFacts) -> list[Fault]:
    """Return what the parts find wrong with each other."""
    n_owners, algorithm = scenario.owners.count, scenario.algorithm
    found = scenario.owners.number_faults()
    if len(found) > 0:
        return found
    found += conflicts(n_owners, scenario)
    found += scenario.privacy.faults(n_owners, scenario.model)
    found += _learner_faults(scenario) + _label_faults(scenario) + _timing_faults(scenario)
    found += _accountant_faults(scenario) + _sampling_faults(scenario) + _uneven_faults(scenario)
    found += _asked_faults(scenario) + _alone_faults(scenario)
    found += scenario.model.start_faults(algorithm.starts_at)
    found += algorithm.faults(scenario.protocol)
    found += algorithm.reaches_for_gradients(scenario.numbers)
    if len(out_of_range(scenario.privacy, n_owners)) == 0:
        found += algorithm.misfits(scenario) + scenario.privacy.listener.misfits(scenario)
    found += [] if scenario.adversary is None else scenario.adversary.faults(n_owners)
    if scenario.acceptance is not None:
        found += scenario.acceptance.faults(scenario.privacy.mechanism.kind)
    found += wrong_length("owners.records", scenario.owners.records, scenario.owners.whole)
    found += _part_faults(scenario)
    found += scenario.owners.name_faults(scenario.data.split_column)
    found += _energy_faults(scenario)
    found += held_out.faults(scenario.data.held_out, scenario.records or ())
    if len(found) == 0 and algorithm.needs_shares:
        found += _share_faults(scenario)
    return found + _record_faults(scenario)


def _energy_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return faults that prevent the energy of owners from being computed, if it is requested."""
    if scenario.energy is None:
        return []
    found = scenario.energy.faults(scenario.owners.count)
    if scenario.clock.superposed:
        allowed = 'allowed with [energy] is "per-owner": of a crowd nobody is there while idle'
        found.append(Fault("clock.population", "'superposed'", allowed))
    if scenario.protocol.update_of == "servers":
        allowed = "allowed with [energy] is a protocol with one learner, or with none"
        found.append(Fault("protocol.kind", repr(scenario.protocol.kind), allowed))
    return found


def _part_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault for each part that nobody can be left out of, where somebody is."""
    key = "without" if scenario.owners.only is None else "only"
    key = "numbers" if scenario.owners.numbers is not None else key
    given = getattr(scenario.owners, key)
    if given is None:
        return []
    found = list(scenario.of_everybody)
    found += ["privacy.learner"] if scenario.privacy.learner is not None else []
    return [
        Fault(f"owners.{key}", show(list(given)), f"not allowed with {each}: {_ALL}")
        for each in found
    ]


def _learner_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where nobody is the learner, and a learner's privacy is asked for."""
    if scenario.privacy.learner is None or scenario.protocol.has_learner:
        return []
    allowed = "not allowed where owners gossip without a learner: each has a model"
    return [Fault("privacy.learner", "a table", allowed)]


def _asked_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if budgets follow the learner's choice of owners, and it has none."""
    budget, count = scenario.privacy.budget, scenario.owners.count
    if not budget.of_asked or scenario.protocol.selection_probabilities(count) is not None:
        return []
    allowed = "allowed is anything else: the learner asks nobody by chances p_i"
    return [Fault("privacy.budget.kind", repr(budget.kind), allowed)]


def _alone_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where one of two that meet may lack the other's answer, and needs it."""
    most = max(scenario.channel.packet_loss().shares(scenario.owners.count), default=0.0)
    algorithm, in_pairs = scenario.algorithm, scenario.protocol.update_of == "pair"
    if not in_pairs or scenario.protocol.has_learner or algorithm.averages_alone or most == 0:
        return []
    allowed = f"algorithm {algorithm.kind} needs both answers of a meeting: allowed is 0"
    return [Fault("channel.loss", f"{most:g} for some owner", allowed)]


def _share_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where nobody knows how often each owner's answers are used."""
    known: object = shares(scenario.network)
    allowed = "it needs each owner's share of the updates"
    if scenario.algorithm.needs_lateness and not isinstance(known, Unknown):
        known = lateness(scenario.network)
        allowed = "it needs the law of each owner's staleness"
    if not isinstance(known, Unknown):
        return []
    given = "inverse-weight" if scenario.algorithm.needs_lateness else "inverse-rate"
    return [Fault("algorithm.selection", given, f"{allowed}, which is not known: {known}")]


def _record_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if both or neither of scenario and data give the number of records."""
    records, by_data = scenario.owners.records, scenario.data.says_records
    if records is None and not by_data:
        return [Fault("owners.records", "nothing", "this field is required")]
    if records is not None and by_data:
        how = "by a column" if scenario.data.split_column is not None else "by their targets"
        allowed = f"not allowed if the data are split {how}"
        return [Fault("owners.records", str(records), allowed)]
    return []


def _label_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where it is plain from the scenario that targets are no labels."""
    count, classes = len(scenario.model.labels), scenario.data.classes
    found = []
    if count > 0 and scenario.data.no_labels:
        allowed = f"allowed is true with model.kind = {scenario.model.kind}, which learns labels ±1"
        found.append(Fault("data.labels", "false", allowed))
    if count > 0 and len(classes) not in (0, count):
        allowed = f"allowed are {count} classes with model.kind = {scenario.model.kind}"
        found.append(Fault("data.columns", f"a target of {len(classes)} classes", allowed))
    if scenario.model.intercept is True and not scenario.data.has_columns:
        allowed = "allowed is true with a table, whose features a column of ones joins"
        found.append(Fault("model.intercept", "true", allowed))
    return found


def _timing_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return what keeps timing from depending on the model, where it is to."""
    found = [] if scenario.trigger is None else scenario.trigger.faults(scenario.algorithm)
    asked = "run.target" if scenario.run.target is not None else "[trigger]"
    if scenario.timing_unaccounted is not None and scenario.run.learning == "replay":
        allowed = f'{asked} needs "live": there is no timing to replay before the model is known'
        found.append(Fault("run.learning", "'replay'", allowed))
    return found


def _accountant_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if answers whose number depends on records are to be composed."""
    accountant = scenario.privacy.accountant
    read = scenario.timing_unaccounted or (CHOSEN if scenario.chosen_privately else None)
    if accountant is None or read is None:
        return []
    allowed = f"not allowed where counts or scales may depend on records: {read}"
    return [Fault("privacy.accountant", repr(accountant.kind), allowed)]


def _sampling_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return what answers over samples are not known to go with."""
    algorithm, probability = scenario.algorithm, scenario.privacy.sampling
    if probability is None:
        return []
    given, found = f"{probability:g}", []
    if algorithm.xi is not None or algorithm.obfuscates or algorithm.answers_once:
        allowed = f"not allowed with algorithm {algorithm.kind}, whose answers are no gradients"
        found.append(Fault("privacy.sampling", given, allowed))
    read = scenario.timing_unaccounted or (CHOSEN if scenario.chosen_privately else None)
    if read is not None:
        allowed = f"not allowed where counts or scales may depend on records: {read}"
        found.append(Fault("privacy.sampling", given, allowed))
    if scenario.acceptance is not None:
        allowed = "not allowed with privacy.sampling: no length of honest answers is known"
        found.append(Fault("acceptance.kind", repr(scenario.acceptance.kind), allowed))
    return found


def _uneven_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return why it would not be plain which of an owner's answers has which part of its budget."""
    protocol, algorithm, budget = scenario.protocol, scenario.algorithm, scenario.privacy.budget
    if budget.even or not scenario.privacy.hides:
        return []
    key, given = "privacy.budget.kind", repr(budget.kind)
    reasons = [
        (
            not protocol.one_each or protocol.answers_each > 1,
            f"{protocol.kind} with one answer of an owner under way at a time",
        ),
        (algorithm.gradients_per_answer > 1, "one gradient in an answer"),
        (algorithm.answers_once, f"nothing with algorithm {algorithm.kind}, which asks once"),
        (scenario.acceptance is not None, "answers that are taken as they are: all of one length"),
    ]
    return [Fault(key, given, f"allowed is {why}") for wrong, why in reasons if wrong]


_ALL = "it is of all owners, by their numbers"
