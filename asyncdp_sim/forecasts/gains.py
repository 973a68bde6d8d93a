"""Forecasts of what owners gain, in four ways, by the rows that may be read.

- :func:`by_halves` reads public rows alone. It forecasts the mean gain of owners that are alike,
  and no single owner's.
- :func:`at_the_owner` runs on one owner's machine. It judges by all rows of this owner, which no
  joint model of substitutes has seen.
- :func:`by_folds` reads the rows of all owners. It trains joint models without each fold of them,
  and judges on that fold.
- :func:`on_fresh_rows` needs a known law of the rows. It judges on rows that are drawn anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import counted
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.splits import by_person, half_of, trained_on
from asyncdp_sim.data.surrogates import PublicTable
from asyncdp_sim.decision import (
    CrossValidation,
    FreshRows,
    Gain,
    JointModels,
    OwnRows,
    Verdict,
    break_even,
    consortium,
)
from asyncdp_sim.decision.cross_validation import FOLDS, rest
from asyncdp_sim.decision.forecast import (
    Asked,
    GainForecast,
    OwnerGain,
    Reads,
    alike,
    consortium_over_halves,
    gain_forecast,
)
from asyncdp_sim.decision.gain import HALVES
from asyncdp_sim.decision.predictors import boosts
from asyncdp_sim.forecasts.population import Population, affordable, population
from asyncdp_sim.runs.gains import (
    EncodedRows,
    fresh_rows,
    joint_scores,
    known_rows,
    linear_models,
    margins,
    training_rows,
)
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.owners import places_of

FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Times the scenario's budgets, ascending, at which break-even is looked for."""
RUNS, FEW_RUNS = 8, 6
"""Simulated runs of every joint model, and of every half or redraw of public rows."""
DIVISIONS, FEW_DIVISIONS = 4, 2
"""How often all owners' rows are divided into folds, each time with its share of the runs, and how
often of classes and where boosting is among own models: these fits take their time."""
MANY_BOOSTED = 100
"""Owners with boosting among own models beyond which all rows are divided once: intervals of single
owners are 11 to 21 % wider then."""
FRESH = 4_000
"""Fresh rows of a known law that judge an owner."""
JUDGED = 12
"""Owners that are judged in each half, at most: sizes evenly spaced, others in every half."""
MOST_JUDGING = 1_000
"""Rows of a half that judge, at most."""
MOST_OWNERS = 200
"""Owners that are judged, at most, evenly spaced by number."""


def gains(known: Population, options: Asked, whose: str | None = None) -> GainForecast:
    """Return what owners gain, from the rows that a population has.

    Parameters
    ----------
    known : Population
    options : Asked
    whose : str, optional
        The owner on whose machine it is: its name, or its number.
    """
    scenario = known.scenario
    with one_thread():
        # One owner asks, on its own machine.
        if whose is not None:
            return at_the_owner(known, options, whose)
        # The private rows of all owners may be read.
        if known.private:
            known = _with_all_rows(known)
            divided = _divided(known, options)
            forecast = by_folds(known, options, "all", divided)
            return replace(forecast, remaining=_if_others_left(known, options, forecast, divided))
        # The owners' rows are substitutes, drawn from a table of public rows that can be halved.
        if scenario.data.draws_again:
            layout = (scenario.owners.whole, scenario.all_records, Streams(scenario.run.seed))
            table = scenario.read_data.public_table(*layout)
            if table is not None:
                return by_halves(known, options, table)
        # The law of the rows is known.
        if scenario.data.draws_fresh:
            return on_fresh_rows(known, options)
        # No law is known, so that folds of these records judge. Owners are reported singly unless
        # the records are substitutes or those of a twin.
        forecast = by_folds(_with_all_rows(known), options, "public")
        return forecast if known.whole else replace(forecast, owners=())


# By folds of all owners' rows.


def by_folds(
    known: Population,
    options: Asked,
    reads: Reads,
    of_owners: Mapping[int, CrossValidation] | None = None,
) -> GainForecast:
    """Judge every fold of every owner's rows by private joint models that have not seen it.

    Joint models are trained on the other folds of all owners, with the noise of n_i records.

    Parameters
    ----------
    known : Population
    options : Asked
    reads : str
    of_owners : mapping, optional
        Divisions of these owners' rows, by number, with what was fitted to them before.
    """
    scenario, numbers = known.scenario, known.scenario.owners.participants
    of_owners = _divided(known, options) if of_owners is None else of_owners
    divided = [of_owners[number] for number in numbers]
    judged = [_rows_of(scenario, known.dataset, owner) for owner in range(len(numbers))]
    designs, places = [design for _, design, _ in judged], [there for _, _, there in judged]
    divisions = len(divided[0].divisions)
    folds = max(len(division) for cv in divided for division in cv.divisions)
    factors = _factors(known, options, divisions * folds)
    noise_records = known.noise_records
    if noise_records is None:
        noise_records = np.array(known.dataset.records)
    models, runs = list[Array](), RUNS // divisions
    for division in range(divisions):
        tasks = list[Any]()
        for fold in range(folds):
            left = _without(known.dataset, _left_out(divided, places, division, fold))
            tasks += _tasks(_on(known, left, noise_records), factors)
        replicates = range(1 + division * runs, 1 + (division + 1) * runs)
        _, learned = known.quick_runs.learned(tasks, replicates, **options.of_runs)
        learned_models = np.stack([outcome.models for outcome in learned])
        models.append(learned_models.reshape(folds, -1, learned_models.shape[-1]))
    chosen = _spaced(len(divided))
    advance = counted(options.progress, "own models: owners", len(chosen))
    by_owner = list[list[Gain]]()
    for owner in chosen:
        cv, design = divided[owner], designs[owner]
        joint = _joint_by_fold(known, cv, design, models)
        by_owner.append(
            cv.judge(
                joint,
                records=int(noise_records[owner]),
                material=options.material,
                sets=len(factors),
            )
        )
        cv.forget()  # of many owners it would fill the memory
        advance(1)
    judged_on = f"{FOLDS} folds of each owner's rows, none of which a model had seen"
    return _forecast_of_owners(
        known, options, chosen, by_owner, factors, reads=reads, judged_on=judged_on, runs=RUNS
    )


def _divided(known: Population, options: Asked) -> dict[int, CrossValidation]:
    """Return all owners' rows divided into folds, by the owner's number."""
    scenario, streams = known.scenario, Streams(known.scenario.run.seed)
    numbers = scenario.owners.participants
    rows = [_rows_of(scenario, known.dataset, owner)[0] for owner in range(len(numbers))]
    boosted = sum(boosts(of_owner, options.own_best) for of_owner in rows)
    repeats = FEW_DIVISIONS if boosted > 0 or scenario.model.classifies else DIVISIONS
    repeats = repeats if boosted <= MANY_BOOSTED else 1
    return {
        number: CrossValidation(
            of_owner,
            scenario.model.sigma,
            streams.generator("decision", "owner", number),
            own_best=options.own_best,
            repeats=repeats,
        )
        for of_owner, number in zip(rows, numbers, strict=True)
    }


def _if_others_left(
    known: Population,
    options: Asked,
    forecast: GainForecast,
    divided: Mapping[int, CrossValidation],
) -> GainForecast | None:
    """Judge once more, with those owners alone that gain: their own models are fitted already."""
    gaining = [owner.owner for owner in forecast.owners if owner.gain.verdict is Verdict.GAINS]
    numbers = known.participants.numbers
    if not 1 < len(gaining) < len(numbers) == len(forecast.owners):
        return None
    places = [numbers.index(number) for number in gaining]
    scenario = known.scenario.replace(owners={"only": gaining}).base()
    remaining = population(scenario, private=True, dataset=known.dataset.of_owners(places))
    if known.noise_records is not None:
        remaining = replace(remaining, noise_records=known.noise_records[places])
    return by_folds(remaining, replace(options, break_even=False), "all", divided)


def _rows_of(scenario: Scenario, dataset: Dataset, owner: int) -> tuple[OwnRows, Array, Ints]:
    """Return an owner's rows, what models multiply, and places among its records."""
    rows, design, there = known_rows(scenario, training_rows(dataset, owner))
    if dataset.order is not None and len(dataset.rows) > 0:
        rows = replace(rows, order=dataset.order[dataset.rows[owner][there]])
    return rows, design, there


def _left_out(
    divided: Sequence[CrossValidation], places: Sequence[Ints], division: int, fold: int
) -> list[Ints]:
    """Return the records that one fold leaves out; none of an owner that cannot be divided."""
    out = list[Ints]()
    for cv, there in zip(divided, places, strict=True):
        parts = cv.divisions[division]
        undivided = fold >= len(parts) or len(parts[fold]) == len(cv.rows)
        out.append(np.zeros(0, dtype=np.int64) if undivided else there[parts[fold]])
    return out


def _without(dataset: Dataset, out: Sequence[Ints]) -> Dataset:
    """Return a data set without some records of each owner."""
    left = [rest(len(y), places) for y, places in zip(dataset.targets, out, strict=True)]
    rows = [places[keep] for places, keep in zip(dataset.rows, left, strict=False)]
    return replace(
        dataset,
        features=tuple(x[keep] for x, keep in zip(dataset.features, left, strict=True)),
        targets=tuple(y[keep] for y, keep in zip(dataset.targets, left, strict=True)),
        rows=tuple(rows),
    )


def _joint_by_fold(
    known: Population, cv: CrossValidation, design: Array, models: Sequence[Array]
) -> list[list[JointModels]]:
    """Return the joint models of each fold of an owner's rows, which they have not seen.

    Parameters
    ----------
    models : sequence of array (K, J, p)
        Of each division; an owner may have fewer than K folds.
    """
    return [
        [_joint_models(known, design, of_fold) for of_fold in of_folds[: len(division)]]
        for division, of_folds in zip(cv.divisions, models, strict=True)
    ]


def _joint_models(
    known: Population, design: Array, models: Array, redraw: Ints | None = None
) -> JointModels:
    """Return joint models (J, p) with their predictions of the rows of a design (n, p)."""
    model = known.scenario.model
    linear = linear_models(model, known.dataset.projection, models)
    return JointModels(joint_scores(model, design, models), linear, redraw, margins(model))


def _with_all_rows(known: Population) -> Population:
    """Return a population whose held-out rows are the owners' again; folds take their place."""
    scenario = known.scenario
    if scenario.data.held_out == 0:
        return known
    data = scenario.data.model_copy(update={"held_out": 0.0})
    scenario = scenario.model_copy(update={"data": data})
    dataset = build_dataset(scenario)
    trained = trained_on(known.scenario.data.held_out, dataset.records)
    problem = prepare(scenario, dataset)
    return replace(
        known, scenario=scenario, dataset=dataset, problem=problem, noise_records=np.array(trained)
    )


# On fresh rows of a known law.


def on_fresh_rows(known: Population, options: Asked) -> GainForecast:
    """Judge on fresh rows of each owner's law."""
    scenario, streams = known.scenario, Streams(known.scenario.run.seed)
    factors = _factors(known, options, 1)
    models = _models_by_budget(known, factors, range(1, RUNS + 1), **options.of_runs)
    chosen, by_owner = _spaced(scenario.owners.count), list[list[Gain]]()
    for owner, (x, y) in enumerate(fresh_rows(scenario, FRESH)):
        if owner not in chosen:
            continue
        fresh, design, _ = known_rows(scenario, EncodedRows(x, x, y, np.arange(len(y))), FRESH)
        generator = streams.generator("decision", "owner", known.participants.numbers[owner])
        by_owner.append(_judged(known, options, (fresh, design), models, owner, generator))
    judged_on = f"{FRESH:,} fresh rows of each owner's law"
    return _forecast_of_owners(
        known, options, chosen, by_owner, factors, reads="public", judged_on=judged_on, runs=RUNS
    )


# At one owner.


def at_the_owner(known: Population, options: Asked, whose: str) -> GainForecast:
    """Judge by all rows of one owner, which joint models of substitutes have not seen."""
    scenario, owners = known.scenario, known.participants
    place = places_of("--as", [whose], owners.names, owners.numbers)[0]
    streams = Streams(scenario.run.seed)
    own, place_in_own = scenario.read_data.own_rows(streams), 0  # a file of this owner's rows
    if own is None:
        if known.asked.data.file is None:
            raise SpecError([Fault("data.own_path", "nothing", "allowed is a file of its rows")])
        own, place_in_own = build_dataset(known.asked), place
    if own.held_out_rows:
        own = _joined(own)
    rows, design, _ = _rows_of(scenario, own, place_in_own)
    factors = _factors(known, options, HALVES)
    models, redraw = list[Array](), list[int]()
    layout = (scenario.owners.whole, scenario.all_records, streams.afresh())
    advance = counted(options.progress, "substitutes: redraws", HALVES)
    for number, drawn in enumerate(scenario.read_data.redraws(HALVES, *layout)):
        redrawn = population(known.asked, private=False, dataset=scenario.part(drawn))
        numbers = range(1 + number * FEW_RUNS, 1 + (number + 1) * FEW_RUNS)
        of_redraw = _models_by_budget(redrawn, factors, numbers, workers=options.workers)
        models.append(np.stack(of_redraw))
        redraw += [number] * FEW_RUNS
        advance(1)
    joint_models = np.concatenate(models, axis=1)
    with_own_rows = replace(known, dataset=own)
    generator = streams.generator("decision", "owner", owners.numbers[place])
    cv = CrossValidation(rows, scenario.model.sigma, generator, own_best=options.own_best)
    flat = joint_models.reshape(-1, joint_models.shape[-1])
    joint = _joint_models(with_own_rows, design, flat, np.tile(redraw, len(factors)))
    by_factor = cv.judge(joint, records=len(rows), material=options.material, sets=len(factors))
    judged_on = f"all rows of this owner, {HALVES} redraws of the others' substitute rows"
    forecast = _forecast_of_owners(
        known,
        options,
        [place],
        [by_factor],
        factors,
        reads="owner",
        judged_on=judged_on,
        runs=HALVES * FEW_RUNS,
    )
    level = forecast.owners[0].break_even
    return forecast.everywhere(together=None, break_even=level)


def _joined(dataset: Dataset) -> Dataset:
    """Return training and held-out rows of owners together."""

    def both(name: str) -> tuple[Any, ...]:
        pairs = zip(getattr(dataset, name), getattr(dataset, f"held_out_{name}"), strict=True)
        return tuple(np.concatenate(pair) for pair in pairs)

    merged: dict[str, Any] = {name: both(name) for name in ("features", "targets", "rows")}
    nothing_held_out: dict[str, Any] = {f"held_out_{name}": () for name in merged}
    return replace(dataset, **merged, **nothing_held_out)


# From public rows alone.


def by_halves(known: Population, options: Asked, table: PublicTable) -> GainForecast:
    """Judge substitutes from one random half of the public rows on the other half, eight times."""
    scenario = known.scenario
    likeness = alike(table)
    sizes = trained_on(getattr(scenario.data, "held_out", 0.0), table.known.sizes)
    factors, count = _factors(known, options, HALVES), len(scenario.owners.participants)
    usable = np.flatnonzero(~np.isnan(table.known.targets))
    streams = Streams(scenario.run.seed)
    halves, records = list[list[list[Gain]]](), np.zeros(0, dtype=np.int64)
    advance = counted(options.progress, "halves of the public rows", HALVES)
    data = scenario.data.model_copy(update={"held_out": 0.0})
    with_all_rows = replace(known, scenario=scenario.model_copy(update={"data": data}))
    for number in range(HALVES):
        generator = streams.generator("forecast", "half", number)
        first, other = half_of(usable, table.known.persons, generator)
        substitutes = _substitutes(first, table.known.persons, sizes, generator)
        drawn = scenario.part(table.dataset(substitutes))
        on_half = _on(with_all_rows, drawn)
        records = np.array(drawn.records)
        numbers = range(1 + number * FEW_RUNS, 1 + (number + 1) * FEW_RUNS)
        models = _models_by_budget(on_half, factors, numbers, workers=options.workers)
        judging = scenario.part(table.dataset([other[:MOST_JUDGING]] * len(sizes)))
        fresh, fresh_design, _ = _rows_of(scenario, judging, 0)
        judge = partial(_judged, on_half, options, (fresh, fresh_design), models)
        halves.append([judge(owner, generator) for owner in _owners_of_half(records, generator)])
        advance(1)
    means = list[Any]()
    for place in range(len(factors)):
        at_factor = [[gains_of_owner[place] for gains_of_owner in half] for half in halves]
        means.append(consortium_over_halves(at_factor, options.material, count))
    of_owners = [several for half in halves for several in half]
    forecast = gain_forecast(
        scenario,
        list(zip(*of_owners, strict=True)),
        means,
        _budgets(known, factors),
        factors,
        material=options.material,
        reads="public",
        judged_on=f"{HALVES} random halves of {len(usable):,} public rows",
        runs=HALVES * FEW_RUNS,
    )
    few = int(records.sum()) > (len(usable) + 1) // 2
    given = factors.index(1.0)
    judged = tuple(tuple(gain[given] for gain in half) for half in halves)
    forecast = replace(forecast, judged=judged)
    forecast = forecast.everywhere(at_least=few, alike=likeness, count=count)
    differ = likeness.known == "differ"
    return forecast.everywhere(together=None, break_even=None) if differ else forecast


def _substitutes(
    first: Ints, persons: Ints, sizes: Sequence[int], generator: np.random.Generator
) -> list[Ints]:
    """Return rows of a half for each owner, no row twice as far as the half has enough.

    Rows of a person are at one owner, unless it has room for some of them only.
    """
    if sum(sizes) <= len(first):
        order = by_person(persons, generator.permutation(first))
        return [np.sort(part) for part in np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])]
    _, whose, counts = np.unique(persons[first], return_inverse=True, return_counts=True)
    rows_of = np.split(first[np.argsort(whose, kind="stable")], np.cumsum(counts)[:-1])
    parts = list[Ints]()
    for size in sizes:
        chosen = whose[generator.choice(len(first), size=size, replace=size > len(first))]
        if size <= len(first):
            chosen = chosen[np.sort(np.unique(chosen, return_index=True)[1])]
        parts.append(np.sort(np.concatenate([rows_of[person] for person in chosen])[:size]))
    return parts


def _owners_of_half(records: Ints, generator: np.random.Generator) -> list[int]:
    """Return which owners are judged in a half: evenly spaced by size, from a random start."""
    order = np.lexsort((generator.random(len(records)), records))
    if len(order) <= JUDGED:
        return [int(place) for place in order]
    step = len(order) / JUDGED
    start = generator.random() * step
    return [int(order[int(start + at * step)]) for at in range(JUDGED)]


# What all ways have in common.


def _spaced(count: int) -> list[int]:
    """Return places of at most :data:`MOST_OWNERS` owners, evenly spaced."""
    chosen = np.linspace(0, count - 1, min(count, MOST_OWNERS))
    return [int(place) for place in np.rint(chosen)]


def _factors(known: Population, options: Asked, times: int) -> tuple[float, ...]:
    """Return the factors of budgets that are tried: 1 alone where more would take long."""
    if not options.break_even:
        return (1.0,)
    finite = np.isfinite(np.asarray(known.problem.accountant.epsilon, dtype=float)).any()
    updates = times * len(FACTORS) * known.scenario.run.updates
    # ``affordable`` returns 10 at least, however heavy the work: 11 says that it is light.
    light = affordable(known.scenario, known.dataset, updates, 11) > 10
    return FACTORS if known.problem.xi is not None and finite and light else (1.0,)


def _on(known: Population, dataset: Dataset, noise_records: Ints | None = None) -> Population:
    """Return the population with other records, its noise scaled for so many."""
    problem = prepare(known.scenario, dataset, noise_of=noise_records)
    return replace(known, dataset=dataset, problem=problem, noise_records=noise_records)


def _tasks(known: Population, factors: Sequence[float]) -> list[Any]:
    """Return what is learned with each factor of the budgets: models alone, without their ψ."""
    budgets, own = known.scenario.privacy.asked(known.scenario.owners.count), known.problem.task
    tasks = [own if factor == 1.0 else known.task_at(factor * budgets) for factor in factors]
    every = known.scenario.run.updates
    return [replace(task, record_every=every, fitted=False) for task in tasks]


def _models_by_budget(
    known: Population, factors: Sequence[float], numbers: Sequence[int], **how: Any
) -> list[Array]:
    """Return the joint models (J, p) of runs of these numbers, with each factor of the budgets."""
    _, learned = known.quick_runs.learned(_tasks(known, factors), numbers, **how)
    return [outcome.models for outcome in learned]


def _budgets(known: Population, factors: Sequence[float]) -> tuple[float, ...]:
    """Return ε of the median owner at each factor; nothing where no budget is finite."""
    budgets = np.asarray(known.problem.accountant.epsilon, dtype=float)
    finite = budgets[np.isfinite(budgets)]
    if known.problem.xi is None or len(finite) == 0:
        return ()
    return tuple(float(np.median(finite)) * factor for factor in factors)


def _judged(
    known: Population,
    options: Asked,
    judging: tuple[OwnRows, Array],
    models: Sequence[Array],
    owner: int,
    generator: np.random.Generator,
) -> list[Gain]:
    """Return an owner's gain at each budget, judged on rows that no model has seen.

    Parameters
    ----------
    judging : OwnRows, array (m, p)
        These rows, and what models multiply of them.
    models : sequence of array (J, p)
        Joint models of each budget.
    """
    model, (fresh, fresh_design) = known.scenario.model, judging
    rows, design, _ = _rows_of(known.scenario, known.dataset, owner)
    judge = FreshRows(rows, fresh, model.sigma, generator, own_best=options.own_best)
    every = np.concatenate(models)
    joint, scores = _joint_models(known, design, every), joint_scores(model, fresh_design, every)
    return judge.judge(joint, scores, material=options.material, sets=len(models))


def _forecast_of_owners(
    known: Population,
    options: Asked,
    chosen: Sequence[int],
    by_owner: Sequence[Sequence[Gain]],
    factors: Sequence[float],
    *,
    reads: Reads,
    judged_on: str,
    runs: int,
) -> GainForecast:
    """Return the gains of owners and of their mean, with each budget that was tried."""
    people = known.participants
    stated = np.asarray(known.problem.accountant.epsilon, dtype=float)
    owners = list[list[OwnerGain]]()
    for place, several in zip(chosen, by_owner, strict=True):
        budget = float(stated[place]) if known.problem.xi is not None else np.inf
        hidden = isfinite(budget)
        budgets = [budget * factor for factor in factors]
        material = [gain.material for gain in several]
        level = break_even(budgets if hidden else [], several, material)
        name = people.names[place] if len(people.names) > 0 else None
        owners.append(
            [
                OwnerGain(people.numbers[place], name, gain, level, epsilon if hidden else None)
                for gain, epsilon in zip(several, budgets, strict=True)
            ]
        )
    by_budget = list(zip(*by_owner, strict=True))
    forecast = gain_forecast(
        known.scenario,
        by_budget,
        [consortium(gains) for gains in by_budget],
        _budgets(known, factors),
        factors,
        material=options.material,
        reads=reads,
        judged_on=judged_on,
        runs=runs,
    )
    listed = [tuple(of_budget) for of_budget in zip(*owners, strict=True)]
    tried = [replace(f, owners=of) for f, of in zip(forecast.tried, listed, strict=False)]
    mine = listed[factors.index(1.0)]
    judged = tuple(owner.gain for owner in mine)
    return replace(forecast, owners=mine, judged=(judged,), tried=tuple(tried))


__all__ = ["Asked", "gains"]
