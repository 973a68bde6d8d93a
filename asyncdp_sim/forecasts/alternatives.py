"""Other protocols at the same ε: second moments released once, and answers hidden in sums.

What they need besides the scenario (a domain of records; a clip bound, a step and a number of
rounds) is chosen on substitute rows, as a proposed scenario's step is, and costs no ε.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, InputError, SpecError
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.decision.forecast import Alternative, Asked, GainForecast, gain_difference
from asyncdp_sim.forecasts.gains import gains
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.runs.gains import joint_scores, known_rows, training_rows
from asyncdp_sim.runs.scored import prepared

ROUNDS, STEPS = (4, 8, 16, 32), (0.25, 0.5, 1.0, 2.0)
"""Rounds that are tried for sums, and steps, as multiples of 1/L, L the largest curvature."""
NORMS, TARGETS = (0.5, 0.75, 0.95), 0.95
"""Quantiles of the rows' L1 norms that are tried as bound of a domain, and of the targets."""
ROOM = 10.0
"""Θ, where a domain needs one: this multiple of the largest coefficient without noise."""
DELTA = 1e-6
"""δ of Gaussian noise where the scenario names none."""
CHOOSING, RUNS = 1_000_001, 4
"""Number of the first run that choices are made by, and how many: no other figure is of them."""

Parts = dict[str, dict[str, Any]]


def alternatives(
    known: Population, options: Asked, whose: str | None, own: GainForecast
) -> tuple[Alternative, ...]:
    """Return other protocols with the gains of the same owners, judged by the same rows.

    Parameters
    ----------
    known : Population
    options : Asked
    whose : str, optional
        As of :func:`~asyncdp_sim.forecasts.gains.gains`.
    own : GainForecast
        With the scenario's protocol.

    Returns
    -------
    tuple of Alternative
        Without the scenario's own protocol; without members where no mean gain is known.
    """
    if own.together is None and whose is None:  # there is no mean gain to compare
        return ()
    options, found = replace(options, break_even=False), list[Alternative]()
    for name, tried in {"noisy second moments": _moments, "sums of answers": _sums}.items():
        try:
            on = population(known.asked, private=False) if known.private else known
            settings = _best(on, tried(on))
            if settings is None:
                continue
            other = population(known.asked.replace(**settings).base(), private=known.private)
        except InputError as error:
            found.append(Alternative(name, {}, refused=str(error.faults[0])))
            continue
        judged = gains(other, options, whose)
        found.append(Alternative(name, settings, gains=judged, more=gain_difference(own, judged)))
    return tuple(found)


def _best(known: Population, tried: Iterator[Parts]) -> Parts | None:
    """Return the settings whose joint model errs least on the rows; None without any."""
    errors = list[tuple[float, Parts]]()
    for settings in tried:
        other = known.asked.replace(**settings).base()
        with one_thread():
            on = population(other, private=False)
            _, [learned] = on.quick_runs.learned(
                [replace(on.problem.task, record_every=other.run.updates)],
                range(CHOOSING, CHOOSING + RUNS),
            )
        errors.append((_error(on, learned.models), settings))
    return min(errors, key=lambda pair: pair[0])[1] if len(errors) > 0 else None


def _error(known: Population, models: Array) -> float:
    """Return the mean error of joint models as they are; infinite where one has diverged."""
    scenario, means = known.scenario, list[float]()
    for owner in range(scenario.owners.count):
        rows, design, _ = known_rows(scenario, training_rows(known.dataset, owner))
        with np.errstate(invalid="ignore", over="ignore"):
            means.append(float(rows.errors(joint_scores(scenario.model, design, models)).mean()))
    return float(np.nan_to_num(np.mean(means), nan=np.inf))


def _moments(known: Population) -> Iterator[Parts]:
    """Yield settings of one noisy release of second moments, a round with one answer an owner."""
    scenario = known.scenario
    if not scenario.algorithm.looks_at_models:  # it is this one
        return
    common: Parts = {
        "run": _run(1),
        "protocol": {"kind": "rounds"},
        "algorithm": {"kind": "noisy-statistics"},
    }
    if not scenario.privacy.hides or not scenario.model.quadratic:  # refused by its name
        yield {**common, "privacy": {"budget": {"kind": "horizon"}}}
        return
    privacy = _privacy({"kind": "laplace"})
    bound = scenario.privacy.sensitivity
    if bound is not None and bound.bounds_records:
        yield {**common, "privacy": privacy}
        return
    features, targets = map(np.concatenate, (known.dataset.features, known.dataset.targets))
    lengths, optimum = np.linalg.norm(features, ord=1, axis=1), known.problem.task.objective.optimum
    box = scenario.model.theta_max or float(f"{ROOM * np.abs(optimum).max():.3g}")
    largest = float(f"{np.nanquantile(np.abs(targets), TARGETS):.3g}")
    for quantile in NORMS:
        norm = float(f"{np.quantile(lengths, quantile):.3g}")
        domain = {"kind": "domain", "row_norm": norm, "target_max": largest}
        model = {"theta_max": box}
        yield {**common, "model": model, "privacy": {**privacy, "sensitivity": domain}}


def _sums(known: Population) -> Iterator[Parts]:
    """Yield settings of gradients in rounds of which the learner opens the sums alone."""
    privacy = known.scenario.privacy
    curvature = known.problem.task.objective.smoothness
    if privacy.listener.sees_sums or not privacy.hides:
        return
    if curvature is None:
        hint = "no step is proposed where curvature has no bound: allowed: ridge, logistic, softmax"
        raise SpecError([Fault("model.kind", repr(known.scenario.model.kind), hint)])
    hidden = _privacy({"kind": "gaussian"}) | {
        "delta": privacy.delta or DELTA,
        "sensitivity": {"kind": "clip", "bound": _median_gradient(known)},
        "observer": {"kind": "aggregate"},
    }
    for rounds, step in product(ROUNDS, STEPS):
        length = float(f"{step / curvature:.3g}")
        yield {
            "run": _run(rounds),
            "protocol": {"kind": "rounds"},
            "algorithm": {"kind": "parameter-server", "step": length},
            "privacy": hidden,
        }


def _run(rounds: int) -> dict[str, Any]:
    """Return fields of ``run`` with so many updates, which no other limit ends."""
    plain = {"until": None, "target": None, "learning": "replay"}
    return {**plain, "updates": rounds, "record_every": rounds}


def _privacy(mechanism: Mapping[str, str]) -> dict[str, Any]:
    """Return fields of ``privacy`` with which all answers share ε, and nothing else is asked."""
    nothing = (
        "delta", "accountant", "sampling", "observer", "learner", "participation", "correlation",
    )  # fmt: skip
    fresh = {"mechanism": mechanism, "noise": "vector", "budget": {"kind": "horizon"}}
    return {**dict.fromkeys(nothing), **fresh}


def _median_gradient(known: Population) -> float:
    """Return the median L2 length of a record's gradient at θ = 0."""
    scenario, zero = known.scenario, known.scenario.numbers
    records = scenario.model.records(*prepared(scenario, known.dataset).trained_on, None, "l2")
    lengths = list[Array]()
    for owner, x in enumerate(records.features):
        filled = np.flatnonzero(x.any(axis=1))
        lengths.append(records.lengths_at(owner, filled, np.zeros((len(filled), zero))))
    return float(f"{np.median(np.concatenate(lengths)):.3g}")
