"""Conflicts between the parts of a scenario, as faults."""

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.data.tables import held_out
from asyncdp_sim.network.compatibility import conflicts
from asyncdp_sim.privacy.guarantee import CHOSEN
from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.spec.base import wrong_length
from asyncdp_sim.spec.validation import show
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
    faults += conflicts(n_owners, scenario)
    of_privacy = scenario.privacy.faults(n_owners, scenario.model)
    faults += of_privacy
    faults += _learner_faults(scenario) + _label_faults(scenario) + _timing_faults(scenario)
    faults += _accountant_faults(scenario) + _sampling_faults(scenario) + _uneven_faults(scenario)
    faults += _asked_faults(scenario) + _alone_faults(scenario) + _whole_faults(scenario)
    faults += _apart_faults(scenario)
    faults += scenario.model.start_faults(algorithm.starts_at)
    faults += algorithm.faults(scenario.protocol)
    faults += algorithm.reaches_for_gradients(scenario.numbers)
    if not any(fault.key.startswith(OF_BUDGETS) for fault in of_privacy):
        faults += algorithm.misfits(scenario) + scenario.privacy.listener.misfits(scenario)
    faults += [] if scenario.adversary is None else scenario.adversary.faults(n_owners)
    if scenario.acceptance is not None:
        faults += scenario.acceptance.faults(scenario.privacy.mechanism.kind)
    faults += wrong_length("owners.records", scenario.owners.records, scenario.owners.whole)
    faults += _part_faults(scenario)
    faults += scenario.owners.name_faults(scenario.data.split_column)
    faults += _energy_faults(scenario)
    faults += held_out.faults(scenario.data.held_out, scenario.records or ())
    if len(faults) == 0 and algorithm.needs_shares:
        faults += _share_faults(scenario)
    return faults + _record_faults(scenario)


def _energy_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return faults that prevent the energy of owners from being computed, if it is requested."""
    if scenario.energy is None:
        return []
    faults = scenario.energy.faults(scenario.owners.count)
    if scenario.clock.superposed:
        remedy = 'allowed with [energy] is "per-owner": of a crowd nobody is there while idle'
        faults.append(Fault("clock.population", "'superposed'", remedy))
    if scenario.protocol.update_of == "servers":
        remedy = "allowed with [energy] is a protocol with one learner, or with none"
        faults.append(Fault("protocol.kind", repr(scenario.protocol.kind), remedy))
    return faults


def _part_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault for each part that nobody can be left out of, where somebody is."""
    key = "without" if scenario.owners.only is None else "only"
    key = "numbers" if scenario.owners.numbers is not None else key
    value = getattr(scenario.owners, key)
    if value is None:
        return []
    result = list(scenario.of_everybody)
    result += ["privacy.learner"] if scenario.privacy.learner is not None else []
    return [
        Fault(f"owners.{key}", show(list(value)), f"not allowed with {each}: {_ALL}")
        for each in result
    ]


def _learner_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where nobody is the learner, and a learner's privacy is asked for."""
    if scenario.privacy.learner is None or scenario.protocol.has_learner:
        return []
    remedy = "not allowed where owners gossip without a learner: each has a model"
    return [Fault("privacy.learner", "a table", remedy)]


def _asked_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if budgets follow the learner's choice of owners, and it has none."""
    budget, count = scenario.privacy.budget, scenario.owners.count
    by_chance = scenario.protocol.selection_probabilities(count) is not None
    if not budget.of_asked or (by_chance and scenario.apart is None):
        return []
    remedy = "allowed is anything else: the learner asks nobody by chances p_i"
    if scenario.apart is not None:
        remedy = "allowed is anything else with privacy.participation.apart, which changes p_i"
    return [Fault("privacy.budget.kind", repr(budget.kind), remedy)]


def _apart_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if some update surely finds nobody who may be asked."""
    apart, count, protocol = scenario.apart, scenario.owners.count, scenario.protocol
    if apart is None or not protocol.keeps_apart:
        return []
    if protocol.makes_updates:  # of any number of answers
        most = (count - 1) // min(count, protocol.asked_at_most or count) + 1
    else:
        most = count // (scenario.algorithm.answers_per_update or 1)
    if min(apart, scenario.run.updates) <= most:
        return []
    remedy = "allowed is nothing" if most == 0 else f"allowed is at most {most}"
    remedy += f": with more, all {count} owners would rest at once, and the run would end"
    return [Fault("privacy.participation.apart", str(apart), remedy)]


def _alone_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where one of two that meet may lack the other's answer, and needs it."""
    most = max(scenario.channel.packet_loss().shares(scenario.owners.count), default=0.0)
    algorithm, in_pairs = scenario.algorithm, scenario.protocol.update_of == "pair"
    if not in_pairs or scenario.protocol.has_learner or algorithm.averages_alone or most == 0:
        return []
    remedy = f"algorithm {algorithm.kind} needs both answers of a meeting: allowed is 0"
    return [Fault("channel.loss", f"{most:g} for some owner", remedy)]


def _share_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where nobody knows how often each owner's answers are used."""
    value: object = shares(scenario.network)
    remedy = "it needs each owner's share of the updates"
    if scenario.algorithm.needs_lateness and not isinstance(value, Unknown):
        value = lateness(scenario.network)
        remedy = "it needs the law of each owner's staleness"
    if not isinstance(value, Unknown):
        return []
    given = "inverse-weight" if scenario.algorithm.needs_lateness else "inverse-rate"
    return [Fault("algorithm.selection", given, f"{remedy}, which is not known: {value}")]


def _record_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if both or neither of scenario and data give the number of records."""
    records, by_data = scenario.owners.records, scenario.data.says_records
    if records is None and not by_data:
        return [Fault("owners.records", "nothing", "this field is required")]
    if records is not None and by_data:
        arguments = "by a column" if scenario.data.split_column is not None else "by their targets"
        remedy = f"not allowed if the data are split {arguments}"
        return [Fault("owners.records", str(records), remedy)]
    return []


def _label_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault where it is plain from the scenario that targets are no labels."""
    count, classes = len(scenario.model.labels), scenario.data.classes
    matches = []
    if count > 0 and scenario.data.no_labels:
        remedy = f"allowed is true with model.kind = {scenario.model.kind}, which learns labels ±1"
        matches.append(Fault("data.labels", "false", remedy))
    if count > 0 and len(classes) not in (0, count):
        remedy = f"allowed are {count} classes with model.kind = {scenario.model.kind}"
        matches.append(Fault("data.columns", f"a target of {len(classes)} classes", remedy))
    if scenario.model.intercept is True and not scenario.data.has_columns:
        remedy = "allowed is true with a table, whose features a column of ones joins"
        matches.append(Fault("model.intercept", "true", remedy))
    return matches


def _timing_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return what keeps timing from depending on the model, where it is to."""
    faults = [] if scenario.trigger is None else scenario.trigger.faults(scenario.algorithm)
    asked = "run.target" if scenario.run.target is not None else "[trigger]"
    if scenario.timing_unaccounted is not None and scenario.run.learning == "replay":
        remedy = f'{asked} needs "live": there is no timing to replay before the model is known'
        faults.append(Fault("run.learning", "'replay'", remedy))
    return faults


def _accountant_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if answers whose number depends on records are to be composed."""
    accountant = scenario.privacy.accountant
    read = scenario.timing_unaccounted or (CHOSEN if scenario.chosen_privately else None)
    if accountant is None or read is None:
        return []
    remedy = f"not allowed where counts or scales may depend on records: {read}"
    return [Fault("privacy.accountant", repr(accountant.kind), remedy)]


def _sampling_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return what answers over samples are not known to go with."""
    algorithm, probability = scenario.algorithm, scenario.privacy.sampling
    if probability is None:
        return []
    problem, matches = f"{probability:g}", []
    if algorithm.xi is not None or algorithm.obfuscates or algorithm.answers_once:
        remedy = f"not allowed with algorithm {algorithm.kind}, whose answers are no gradients"
        matches.append(Fault("privacy.sampling", problem, remedy))
    read = scenario.timing_unaccounted or (CHOSEN if scenario.chosen_privately else None)
    if read is not None:
        remedy = f"not allowed where counts or scales may depend on records: {read}"
        matches.append(Fault("privacy.sampling", problem, remedy))
    if scenario.acceptance is not None:
        remedy = "not allowed with privacy.sampling: no length of honest answers is known"
        matches.append(Fault("acceptance.kind", repr(scenario.acceptance.kind), remedy))
    return matches


def _whole_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return a fault if an owner's answers are more than one bounded gradient or difference."""
    algorithm = scenario.algorithm
    plain = algorithm.xi is None and not algorithm.obfuscates
    if plain or not scenario.privacy.per_owner:
        return []
    remedy = "allowed with privacy.unit owner: algorithms whose owners answer with gradients"
    return [Fault("algorithm.kind", repr(algorithm.kind), remedy)]


def _uneven_faults(scenario: ScenarioFacts) -> list[Fault]:
    """Return why it would not be plain which of an owner's answers has which part of its budget."""
    protocol, algorithm, budget = scenario.protocol, scenario.algorithm, scenario.privacy.budget
    if budget.even or not scenario.privacy.hides:
        return []
    key, value = "privacy.budget.kind", repr(budget.kind)
    reasons = [
        (
            not protocol.one_each or protocol.answers_each > 1,
            f"{protocol.kind} with one answer of an owner under way at a time",
        ),
        (algorithm.gradients_per_answer > 1, "one gradient in an answer"),
        (algorithm.answers_once, f"nothing with algorithm {algorithm.kind}, which asks once"),
        (scenario.acceptance is not None, "answers that are taken as they are: all of one length"),
    ]
    return [Fault(key, value, f"allowed is {why}") for wrong, why in reasons if wrong]


_ALL = "it is of all owners, by their numbers"
