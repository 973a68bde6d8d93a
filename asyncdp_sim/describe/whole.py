"""A scenario in words, with what theory predicts of it: what ``asyncdp check`` prints."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum, inf

import numpy as np

from asyncdp_sim.core.messages import Noted, Notice
from asyncdp_sim.core.units import in_unit
from asyncdp_sim.core.words import agreed, extent, figure, number
from asyncdp_sim.describe.of_privacy import against_privacy, privacy_lines
from asyncdp_sim.measures.energy import energy_predictions
from asyncdp_sim.measures.summary import NAMES
from asyncdp_sim.network import Network
from asyncdp_sim.network.spec import superposable
from asyncdp_sim.privacy.guarantee import not_vouched_for
from asyncdp_sim.privacy.label import UNTIMED
from asyncdp_sim.runs.warnings import NeverOnline, TicksMeet
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.plain import plain
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.staleness import holds_from
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Prediction, Unknown


def describe(scenario: Scenario) -> list[str]:
    """Return one line each on owners, load, budgets, and predictions with their assumptions.

    Nothing is simulated, and no data are read (:func:`asyncdp_sim.runs.problem.table_lines` does),
    but for the names of owners where some take part.
    """
    base = scenario.base()
    return [
        *_owners(base),
        *(in_unit(line, base.run.time_unit) for line in _network(base)),
        *privacy_lines(base, scenario),
        *_against_claims(base),
        *_sweep(scenario),
    ]


def network_findings(scenario: Scenario) -> list[Notice]:
    """Return findings about the network of one cell that a user may want to change."""
    findings = (*NeverOnline.from_scenario(scenario), *TicksMeet.from_scenario(scenario))
    return [*findings, *map(Noted.from_sentence, _chosen(scenario))]


def privacy_findings(scenario: Scenario) -> list[Notice]:
    """Return problems of the privacy of one cell, and of its budgets."""
    findings = [*against_privacy(scenario), *_against_claims(scenario)]
    return list(map(Noted.from_sentence, findings))


def _owners(scenario: Scenario) -> Iterator[str]:
    n_owners, records = scenario.owners.count, scenario.records
    if records is None:
        held = (
            f"each with the rows that name it in the column {scenario.data.split_column}"
            if scenario.data.split_column is not None
            else "records assigned by their targets"
        )
    elif len(set(records)) == 1:
        held = f"{records[0]} records each"
    else:
        held = f"{min(records)} to {max(records)} records"
    path = scenario.data.file
    source = path or ("synthetic" if scenario.data.synthetic else scenario.data.origin)
    yield f"owners: {n_owners}, {held}, {scenario.data.kind} data, {source}"
    if scenario.owners.numbers is not None:
        labels = scenario.participants(scenario.names_read()).labels
        more = f", and {len(labels) - _FEW} more" if len(labels) > _FEW else ""
        named = f"{', '.join(labels[:_FEW])}{more}"
        yield f"taking part: {n_owners} of {scenario.owners.whole} owners: {named}"
    if scenario.data.held_out > 0:
        yield f"held out: {number(100 * scenario.data.held_out)} % of each owner's records"
    run = scenario.run
    until = "" if run.until is None else f" or until {run.until:g} time units"
    until = in_unit(until, run.time_unit)
    until += "" if run.target is None else f" or down to ψ = {run.target:g}"
    runs = f"{run.replicates} replicate{'s' * (run.replicates > 1)}"
    updates = f"{run.updates} update{'s' * (run.updates > 1)}"
    yield f"run: {runs} of T = {updates}{until}, seed {run.seed}"


def _network(scenario: Scenario) -> Iterator[str]:
    network = scenario.network
    stages = [network.mean_times(stage) for stage in ("query", "compute", "answer")]
    services = np.array([fsum(parts) for parts in zip(*stages, strict=True)])
    airtime = network.airtime
    service = float(services.mean()) + (0.0 if airtime is None else airtime)
    text = f"an exchange takes {number(service)} units on average"
    yield from network.protocol.describe(network, text, service)
    sent = "" if airtime is None else f", {number(airtime)} units for {network.answer_bytes} bytes"
    yield f"protocol: {network.protocol.kind}, channel {network.channel.kind}{sent}"
    yield from _online(scenario)
    yield from (finding.describe() for finding in NeverOnline.from_scenario(scenario))
    yield from (
        f"resolution: {finding.describe()}" for finding in TicksMeet.from_scenario(scenario)
    )
    always = network.availability.always_online
    predicted = [each for each in predict(network) if not (always and each.quantity == _ONLINE)]
    yield from _predictions(predicted, network)
    yield from _duration(scenario.run.updates, predicted)
    if network.n_owners >= _MANY and not network.superposed and superposable(network):
        yield (
            f'{network.n_owners} owners: clock.population = "superposed" simulates the same law '
            "faster and in less memory, with other random numbers"
        )
    yield from _chosen(scenario)
    yield from _energy(scenario)


def _duration(updates: int, predicted: Sequence[Prediction]) -> Iterator[str]:
    """Yield the expected duration of a run, or the limits of it."""
    pace = next((each for each in predicted if each.quantity == "throughput"), None)
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
_FEW = 12
"""Number of owners that are listed by name."""
_MANY = 10_000
"""Number of owners from which one clock for all of them is recommended."""


def _predictions(predicted: Iterable[Prediction], network: Network) -> Iterator[str]:
    """Yield a line for each formula, and one for all quantities to which none applies."""
    missing, alike = dict[str, list[str]](), dict[str, list[str]]()
    for prediction in predicted:
        name, _ = _named(prediction)
        if prediction.value is None and prediction.between is None:
            missing.setdefault(plain(str(prediction.reason)), []).append(name)
        else:
            value, _, formula = _value(prediction, network).partition(" (")
            alike.setdefault(formula, []).append(f"{name}: {value}")
    yield from (f"predicted {', '.join(values)} ({formula}" for formula, values in alike.items())
    if len(missing) > 0:
        reasons = (f"{', '.join(names)} ({reason})" for reason, names in missing.items())
        yield f"no formula applies for {'; '.join(reasons)}"


def _named(prediction: Prediction) -> tuple[str, str]:
    """Return the name of what is predicted, and the unit behind its value."""
    name, unit = NAMES.get(prediction.quantity, (prediction.quantity, ""))
    return name, f" {unit}" * (unit != "")


def _value(prediction: Prediction, network: Network) -> str:
    _, unit = _named(prediction)
    if prediction.value is None:
        low, high = prediction.between or (-inf, inf)
        between = f"between {number(low)} and {number(high)}{unit}, whatever the laws of the times"
        reason, formula = plain(str(prediction.reason)), plain(prediction.formula)
        return f"{between}; no single value, because {reason} ({formula})"
    first = holds_from(facts_of(network), prediction)
    long = f"; within 1 % from {first} updates on" if network.updates < first else ""
    return agreed(f"{figure(prediction.value)}{unit} ({plain(prediction.formula)}{long})")


def _chosen(scenario: Scenario) -> Iterator[str]:
    """Yield the consequence if owners are not chosen equally often."""
    if scenario.network.protocol.makes_updates:
        return
    frequencies = shares(scenario.network)
    if isinstance(frequencies, Unknown) or max(frequencies) - min(frequencies) <= 1e-12:
        return
    text = "i_k is not uniform in the long run: owners are chosen unequally often, and"
    if scenario.algorithm.needs_shares:
        yield f"{text} each step is divided by N times its owner's share"
        return
    yield (
        f"{text} the published step optimises another objective "
        '(algorithm.selection = "inverse-rate" removes the bias)'
    )


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
        cells = sum(1 for _ in scenario.grid())
        swept = ", ".join(
            f"{path} ({len(values)} values)" for path, values in scenario.sweep.items()
        )
        yield f"sweep: {cells} cells over {swept}"
