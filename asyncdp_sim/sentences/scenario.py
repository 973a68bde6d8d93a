"""A scenario in words, with what theory predicts of it: what ``asyncdp check`` prints."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum, inf, prod
from typing import Any

import numpy as np

from asyncdp_sim.core.messages import FormattedMessage, Noted, Notice
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import agreed, extent, figure, number, some_of
from asyncdp_sim.measures.energy import energy_predictions
from asyncdp_sim.measures.summary import NAMES
from asyncdp_sim.network import Network
from asyncdp_sim.network.spec import superposable
from asyncdp_sim.privacy.guarantee import UNTIMED, not_vouched_for
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.label import composition, stated_participation, stated_unit
from asyncdp_sim.sentences.warnings import NeverOnline, TicksMeet
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.channels import approximated, small_windows, unspent
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import holds_from, shares
from asyncdp_sim.theory.prediction import Prediction, Unknown, known, plain

_TEXTS: dict[str, str] = WORDS["check"]


def _privacy(scenario: Scenario, whole: Scenario) -> Iterator[str]:
    """Yield lines on the privacy of a cell, and of the whole sweep that it belongs to."""
    if not scenario.privacy.hides:
        yield _unhidden(scenario)
        yield from _participation(scenario)
        return
    for part in (
        _budget, _participation, _listener, _local, _parts, _composed, _spent_early, _claims,
    ):  # fmt: skip
        yield from part(scenario)
    cells = [whole.cell(chosen) for chosen in whole.grid()] or [whole.base()]
    alone = composition([_hoped(cell) | {"digest": place} for place, cell in enumerate(cells)])
    if alone is not None:
        yield f"ε {alone}"


def _unhidden(scenario: Scenario) -> str:
    exact = not scenario.algorithm.obfuscates
    words = "none, the answers are exact gradients" if exact else "obfuscated, no DP guarantee"
    return f"privacy: {words}"


def _budget(scenario: Scenario) -> Iterator[str]:
    """Yield the budget of owners, their number of answers, and the accounting rule."""
    privacy, accountant = scenario.privacy, scenario.accountant
    epsilon, answers = accountant.epsilon, accountant.answers
    per_answer = accountant.spent(np.ones_like(answers))
    stated = "" if privacy.delta is None else f", δ = {privacy.delta:g}"
    named = "per answer" if privacy.budget.even else "for the first answer"
    figures = {"epsilon": extent(epsilon), "answers": extent(answers), "each": extent(per_answer)}
    yield _TEXTS["budget"].format(**figures, delta=stated, named=named, change=privacy.change)
    allotment = privacy.allotment(scenario.owners.count)
    if allotment is not None:
        yield _TEXTS["schedule"].format(parts=extent(allotment.relative))
    if privacy.accountant is not None:
        yield privacy.accountant.describe(accountant)


def _participation(scenario: Scenario) -> Iterator[str]:
    """Yield how often owners take part, and answers that are paid for and cannot follow."""
    rule = stated_participation([{"scenario": scenario.plain()}])
    if rule is not None:
        yield f"participation: {rule}"
    fit, most = -(-scenario.run.updates // (scenario.apart or 1)), scenario.network.answers_allowed
    if scenario.apart is not None and max(most) > fit and scenario.privacy.hides:
        yield _TEXTS["room"].format(most=extent(most), updates=scenario.run.updates, fit=fit)


def _listener(scenario: Scenario) -> Iterator[str]:
    """Yield the observer that ε is against."""
    privacy = scenario.privacy
    if privacy.observer is not None:
        yield f"observer: ε is against {privacy.listener.describe()}"
    if not privacy.listener.by_count:
        yield "its ε is known after a run, and is at most that against an observer of all answers"
    yield from privacy.listener.check_words(scenario)


def _parts(scenario: Scenario) -> Iterator[str]:
    """Yield the sampling of records, the copies of the model, and the unit of privacy."""
    privacy, n_owners = scenario.privacy, scenario.owners.count
    if privacy.sampling is not None:
        yield _TEXTS["sampling"].format(share=privacy.sampling)
    if privacy.learner is not None:
        learner, parts = dict(privacy.learner), privacy.learner.parts(n_owners)
        yield _TEXTS["copies"].format(owners=n_owners, parts=parts, **learner)
    unit = stated_unit({"scenario": scenario.plain(), "summary": {}})
    if unit is not None:
        yield unit


def _composed(scenario: Scenario) -> Iterator[str]:
    """Yield the cost of all answers of an owner, and of a record of several owners."""
    privacy, accountant, n_owners = scenario.privacy, scenario.accountant, scenario.owners.count
    rho = accountant.zcdp(accountant.answers)
    if rho is not None and accountant.multiplier is not None:
        multiplier = extent(accountant.multiplier)
        yield _TEXTS["zcdp"].format(multiplier=multiplier, rho=extent(rho))
    if privacy.overlap > 1:
        least = extent(privacy.asked(n_owners).min(keepdims=True))
        yield _TEXTS["overlap"].format(owners=privacy.overlap, epsilon=least)


def _spent_early(scenario: Scenario) -> Iterator[str]:
    """Yield a line if budgets end a run before its last update."""
    answers = sum(scenario.network.answers_allowed)
    per_update, once = scenario.algorithm.answers_per_update or 1, scenario.algorithm.answers_once
    if not once and answers < scenario.run.updates * per_update:
        takes = "" if per_update == 1 else f" updates of {per_update}"
        yield FormattedMessage(
            "the budgets allow {allowed} answers in all, fewer than "
            f"T = {{updates}}{takes}: every run ends early",
            allowed=answers,
            updates=scenario.run.updates,
        )


def _local(scenario: Scenario) -> Iterator[str]:
    """Yield the number of gradients in an answer, if there are several."""
    count = scenario.algorithm.gradients_per_answer
    if count > 1 and scenario.privacy.per_owner:
        yield _TEXTS["difference"].format(count=count)
    elif count > 1:
        charged = extent(scenario.accountant.answers * count)
        yield _TEXTS["gradients"].format(count=count, charged=charged)


def _hoped(scenario: Scenario) -> dict[str, Any]:
    """Return the manifest of a run in which no bound is exceeded and nothing diverges."""
    privacy, timed = scenario.privacy, scenario.timing_unaccounted is None
    is_hoped = privacy.noise == "scalar-as-published" or len(scenario.unsound) > 0
    epsilon = np.inf if is_hoped else float(privacy.asked(scenario.owners.count).max())
    summary = {"epsilon_true": epsilon, "delta": privacy.stated_delta, "timing_accounted": timed}
    return {"scenario": scenario.plain(), "summary": summary}


def _not_as_claimed(scenario: Scenario) -> Iterator[str]:
    if scenario.privacy.noise == "scalar-as-published":
        yield "not private: one noise draw on all coordinates is not private for any ε"
    sensitivity = scenario.privacy.sensitivity
    if sensitivity is not None and sensitivity.norm == "l2-as-published":
        yield "not private as claimed: Laplace noise scaled to an L2 bound gives up to √p ε"


def _claims(scenario: Scenario) -> Iterator[str]:
    yield from _not_as_claimed(scenario)
    privacy, sensitivity = scenario.privacy, scenario.privacy.sensitivity
    if sensitivity is None:
        return
    words = sensitivity.describe(scenario.model, scenario.data.features, privacy.norm)
    if words is not None:
        yield words
    xi = scenario.xi
    if scenario.trained_on is not None and xi is not None:
        records = np.array(scenario.trained_on)
        noise = scenario.noise_for(records)
        sizes = " ".join(f"{name} {extent(figure)}" for name, figure in noise.figures.items())
        manner = ", one draw for all of them" if privacy.noise == "scalar-as-published" else ""
        unit = "an answer" if scenario.values_hidden == 1 else "a gradient"
        on = "all coordinates together" if privacy.mechanism.together else "each coordinate"
        yield f"noise: {sizes or 'none'} on {on} of {unit}{manner}"
        if privacy.bound_moves:
            yield "that noise is of the first round; it grows and shrinks with the clip bound"


def describe(scenario: Scenario) -> list[str]:
    """Return one line each on owners, load, budgets, and predictions with their assumptions.

    Nothing is simulated, and no data are read (:func:`asyncdp_sim.runs.problem.table_lines` does),
    but for the names of owners where some take part.
    """
    base = scenario.base()
    return [
        *_owners(base),
        *(in_unit(line, base.run.time_unit) for line in _network(base)),
        *_privacy(base, scenario),
        *_against_claims(base),
        *_sweep(scenario),
    ]


def first_screen(lines: Sequence[str], n_owners: int) -> list[str]:
    """Return the lines of a description that a decision needs.

    Load, what theory predicts beside throughput and duration, and as many ticks per time unit as
    owners, are left out.
    """
    kept = ("predicted throughput", "predicted: ")
    left_out = ("offered load", "predicted", "staleness is 0", "no formula for")
    as_usual = f"network: {n_owners} ticks per unit"
    return [
        line
        for line in lines
        if line != as_usual and (line.startswith(kept) or not line.startswith(left_out))
    ]


def network_findings(scenario: Scenario) -> list[Notice]:
    """Return findings about the network of one cell that a user may want to change."""
    findings = (*NeverOnline.from_scenario(scenario), *TicksMeet.from_scenario(scenario))
    return [*findings, *map(Noted.from_sentence, _chosen(scenario))]


def privacy_findings(scenario: Scenario) -> list[Notice]:
    """Return problems of the privacy of one cell, and of its budgets."""
    findings = [_unhidden(scenario)]
    if scenario.privacy.hides:
        findings = [*_spent_early(scenario), *_not_as_claimed(scenario)]
    return list(map(Noted.from_sentence, [*findings, *_against_claims(scenario)]))


def _owners(scenario: Scenario) -> Iterator[str]:
    n_owners, records = scenario.owners.count, scenario.records
    if records is None:
        held = (
            f"each with the rows that name it in the column {scenario.data.split_column}"
            if scenario.data.split_column is not None
            else "records assigned by their targets"
        )
    else:
        held = f"{extent(records)} records" + " each" * (len(set(records)) == 1)
    path = scenario.data.file
    source = path or ("synthetic" if scenario.data.synthetic else scenario.data.origin)
    yield f"owners: {n_owners}, {held}, {scenario.data.kind} data, {source}"
    if scenario.owners.numbers is not None:
        labels = scenario.participants(scenario.names_read()).labels
        named = some_of(labels, 12)
        yield f"taking part: {n_owners} of {scenario.owners.whole} owners: {named}"
    if scenario.data.held_out > 0:
        yield f"held out: {number(100 * scenario.data.held_out)} % of each owner's records"
    run = scenario.run
    until = "" if run.until is None else f" or until {number(run.until)} time units"
    until = in_unit(until, run.time_unit)
    until += "" if run.target is None else f" or down to ψ = {run.target:g}"
    runs = f"{run.replicates:,} replicates of T = {run.updates:,} updates"
    yield agreed(f"run: {runs}{until}, seed {run.seed}")


def _network(scenario: Scenario) -> Iterator[str]:
    network = scenario.network
    stages = [network.mean_times(stage) for stage in ("query", "compute", "answer")]
    services = np.array([fsum(parts) for parts in zip(*stages, strict=True)])
    airtime = network.airtime
    service = float(services.mean()) + (0.0 if airtime is None else airtime)
    text = f"an exchange takes {number(service)} units on average"
    for line in network.protocol.describe(network, text, service):
        yield line.removesuffix(f", {text}") if service == 0 else line
    sent = "" if airtime is None else f", {number(airtime)} units for {network.answer_bytes} bytes"
    yield f"protocol: {network.protocol.kind}, channel {network.channel.kind}{sent}"
    yield from _online(scenario)
    yield from (finding.describe() for finding in NeverOnline.from_scenario(scenario))
    yield from (f"resolution: {met.describe()}" for met in TicksMeet.from_scenario(scenario))
    always = network.availability.always_online
    predicted = [p for p in predict(network) if not (always and p.quantity == _ONLINE)]
    yield from _predictions(predicted, network)
    yield from _collisions(network)
    yield from _duration(scenario.run.updates, predicted)
    if network.n_owners >= _MANY and not network.superposed and superposable(network):
        yield _TEXTS["superposed"].format(owners=network.n_owners)
    yield from _chosen(scenario)
    yield from _energy(scenario)


def _collisions(network: Network) -> Iterator[str]:
    """Yield what is known of transmissions that collide, beside the formulas of answers."""
    facts, channel = facts_of(network), network.channel
    if not network.protocol.always_served:
        return
    result, resent = known(unspent, facts), channel.retransmissions > 0
    if isinstance(result, Unknown):
        result, resent = known(approximated, facts), True
        if not isinstance(result, Unknown):
            load = result.attempt_rate * (network.airtime or 0.0)
            yield _TEXTS["bianchi"].format(rate=figure(result.success_rate), load=figure(load))
    if resent and not isinstance(result, Unknown):
        yield _TEXTS["collide"].format(percent=100 * (1 - result.success_probability))
    if small_windows(facts):
        yield _TEXTS["windows"].format(owners=network.n_owners)


def _duration(updates: int, predicted: Sequence[Prediction]) -> Iterator[str]:
    """Yield the expected duration of a run, or the limits of it."""
    pace = next((p for p in predicted if p.quantity == "throughput"), None)
    if pace is None:
        return
    if pace.between is not None:
        least, most = (updates / prediction for prediction in reversed(pace.between))
        yield f"predicted: T updates take between {number(least)} and {number(most)} units"
    elif pace.value is not None and pace.value > 0:
        yield f"predicted: T updates take {number(updates / pace.value)} units"


def _energy(scenario: Scenario) -> Iterator[str]:
    """Yield the power of owners, if the scenario has it, and the predicted energy."""
    if scenario.energy is not None:
        yield scenario.energy.describe(scenario.owners.count)
        predicted = energy_predictions(scenario.energy, scenario.network)
        yield from _predictions(predicted, scenario.network)


_ONLINE = "mean_online"
"""Quantity that is not printed where all owners are always online."""
_MANY = 10_000
"""Number of owners from which one clock for all of them is recommended."""


def _predictions(predicted: Iterable[Prediction], network: Network) -> Iterator[str]:
    """Yield a line for each formula, and one for all quantities to which none applies.

    What is 0 is left out, except staleness, of which the reason is said.
    """
    missing, alike = dict[str, list[str]](), dict[str, list[str]]()
    for prediction in predicted:
        name, _ = NAMES.get(prediction.quantity, (prediction.quantity, ""))
        if prediction.value == 0:  # by construction
            if prediction.quantity == "mean_staleness":
                because = plain(prediction.formula.rpartition(": none, ")[2])
                yield f"staleness is 0: {because.removeprefix('because ').removeprefix('as ')}"
        elif prediction.value is None and prediction.between is None:
            missing.setdefault(plain(str(prediction.reason)), []).append(name)
        else:
            value, _, formula = _value(prediction, network).partition(" (")
            alike.setdefault(formula, []).append(f"{name}: {value}")
    yield from (f"predicted {', '.join(values)} ({formula}" for formula, values in alike.items())
    if len(missing) > 0:
        reasons = (f"{', '.join(names)} ({reason})" for reason, names in missing.items())
        yield f"no formula for {'; for '.join(reasons)}"


def _value(prediction: Prediction, network: Network) -> str:
    _, unit = NAMES.get(prediction.quantity, ("", ""))
    unit = f" {unit}".rstrip()
    if prediction.value is None:
        low, high = prediction.between or (-inf, inf)
        between = f"between {number(low)} and {number(high)}{unit}, whatever the laws of the times"
        reason, formula = plain(str(prediction.reason)), plain(prediction.formula)
        return f"{between}; no single value, because {reason} ({formula})"
    facts = facts_of(network)
    first = holds_from(facts, prediction)
    long = f"; within 1 % from {first} updates on" if facts.updates < first else ""
    return agreed(f"{figure(prediction.value)}{unit} ({plain(prediction.formula)}{long})")


def _chosen(scenario: Scenario) -> Iterator[str]:
    """Yield the consequence if owners are not chosen equally often."""
    if not hasattr(scenario.algorithm, "selection"):  # a field of some members
        return
    frequencies = shares(scenario.network)
    if isinstance(frequencies, Unknown) or max(frequencies) - min(frequencies) <= 1e-12:
        return
    so = "share" if scenario.algorithm.needs_shares else "bias"
    yield f"{_TEXTS['unequal']} {_TEXTS[so]}"


def _online(scenario: Scenario) -> Iterator[str]:
    kind = scenario.availability.kind
    share = scenario.availability.online_share(scenario.owners.count)
    if share is None:
        yield f"availability: {kind}, without a long-run share"
    elif not scenario.availability.always_online:
        yield f"availability: {kind}, owners online {extent(np.array(share))} of the time"


def _against_claims(scenario: Scenario) -> Iterator[str]:
    """Yield the reasons why no finite ε holds, or is known to hold, with any noise."""
    if scenario.timing_unaccounted is not None:
        yield f"not private, no finite ε: {UNTIMED}{scenario.timing_unaccounted}"
    yield from (f"not private, no finite ε: {why}" for why in scenario.unsound)
    if scenario.privacy.hides and len(scenario.outside_parts) > 0:
        yield f"not shown to be private: {not_vouched_for(scenario.outside_parts).describe()}"


def _sweep(scenario: Scenario) -> Iterator[str]:
    if len(scenario.sweep) > 0:
        cells = prod(map(len, scenario.sweep.values()))
        swept = ", ".join(f"{at} ({len(values)} values)" for at, values in scenario.sweep.items())
        yield f"sweep: {cells} cells over {swept}"
