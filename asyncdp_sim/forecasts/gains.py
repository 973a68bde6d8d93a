"""Forecasts of what owners gain, in three ways, by whose rows may be read.

From public rows alone the mean gain of owners that are alike is known, and nobody's own. An owner
on its own machine judges by all its rows, which no joint model of substitutes has seen. An analyst
with all rows trains joint models without each fold of them. Rows of a known law are judged on fresh
ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.threads import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.surrogates import PublicTable, Unlikeness, unlike
from asyncdp_sim.data.tables.held_out import trained_on
from asyncdp_sim.decision import (
    BreakEven,
    Consortium,
    CrossValidation,
    Estimate,
    FreshRows,
    Gain,
    JointModels,
    Judging,
    OwnRows,
    Verdict,
    break_even,
    consortium,
    over_halves,
    scored_by,
)
from asyncdp_sim.decision.cross_validation import FOLDS, rest
from asyncdp_sim.decision.gain import HALVES, Score, verdict_of
from asyncdp_sim.forecasts.by_runs import affordable
from asyncdp_sim.forecasts.population import Population, population, task_with_budgets
from asyncdp_sim.runs.gains import joint_scores, kept, known_rows, linear_models, margins
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario

Reads = Literal["public", "owner", "all"]
"""Whose rows were read."""
FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Times the scenario's budgets, ascending, at which break-even is looked for."""
RUNS, FEW_RUNS = 6, 2
"""Simulated runs of every joint model, and of every half or redraw of public rows."""
FRESH = 4_000
"""Fresh rows of a known law that judge an owner."""
JUDGED = 12
"""Owners that are judged in each half, at most: sizes evenly spaced, others in every half."""
MOST_JUDGING = 1_000
"""Rows of a half that judge, at most."""
MOST_OWNERS = 200
"""Owners that are judged, at most, evenly spaced by number."""
ENOUGH_PUBLIC = 0.5
"""Public rows of an owner, over its own, below which differences between owners stay unknown."""


@dataclass(frozen=True)
class OwnerGain:
    """An owner's gain.

    Attributes
    ----------
    owner : int
        Its number, from 1.
    name : str or None
    gain : Gain
    break_even : BreakEven or None
    epsilon : float or None
        Its budget; None without privacy.
    """

    owner: int
    name: str | None
    gain: Gain
    break_even: BreakEven | None
    epsilon: float | None


@dataclass(frozen=True)
class Alike:
    """Likeness of owners, as public rows that name their owner show.

    Attributes
    ----------
    known : str
        "unknown", "no difference shown" or "differ".
    variance, half_width : float
        τ²/f(θ*) between owners and about its 95 % interval, of least squares.
    rows_per_owner : float
        Public rows of the median owner.
    """

    known: Literal["unknown", "no difference shown", "differ"]
    variance: float = 0.0
    half_width: float = 0.0
    rows_per_owner: float = 0.0


@dataclass(frozen=True, eq=False)
class GainForecast:
    """Forecast of what owners gain by joining.

    Attributes
    ----------
    reads : str
        "public", "owner" or "all".
    release : bool
        Whether it may be published: no private record was read.
    score : str
        "absolute error" or "log loss".
    unit : str or None
    together : Consortium or None
        The mean gain; None where owners are known to differ, and at one owner.
    own, joint, adapted, guessing : float
        Mean errors of the owners that were judged.
    material : float
        Share of the own error from which on a gain counts.
    owners : tuple of OwnerGain
        Without members from public rows.
    budgets : tuple of float
        ε of the median owner that were tried; without members where nothing is hidden.
    break_even : BreakEven or None
        Of the mean owner, or of the one that asks.
    judged_on : str
    runs : int
        Simulated runs that judge, of all joint models of one budget.
    at_least : bool
        Whether the half had too few public rows, so that the joint model learned from fewer rows
        than in a run.
    alike : Alike or None
        None where private rows were read, or records are synthetic.
    count : int
        Owners that join.
    remaining : GainForecast or None
        The same if those alone join that gain; None where all or fewer than two of them do, or
        where not all rows were read.
    """

    reads: Reads
    release: bool
    score: Score
    unit: str | None
    together: Consortium | None
    own: float
    joint: float
    adapted: float
    guessing: float
    material: float
    owners: tuple[OwnerGain, ...]
    budgets: tuple[float, ...]
    break_even: BreakEven | None
    judged_on: str
    runs: int
    at_least: bool
    alike: Alike | None
    count: int
    remaining: "GainForecast | None" = None

    def counts(self) -> dict[str, int]:
        """Return how many owners have each verdict."""
        verdicts = [str(owner.gain.verdict) for owner in self.owners]
        return {str(verdict): verdicts.count(str(verdict)) for verdict in Verdict}


@dataclass(frozen=True)
class Asked(Judging):
    """Options of a forecast of gains, besides those of judging them.

    Attributes
    ----------
    workers : int
    progress : Progress, optional
    break_even : bool
        Whether other budgets are tried, too, which takes several times as long.
    """

    workers: int = 1
    progress: Progress | None = None
    break_even: bool = True

    @property
    def options(self) -> dict[str, Any]:
        """Options of simulated runs."""
        return {"workers": self.workers, "progress": self.progress}


def gains(known: Population, asked: Asked, whose: str | None = None) -> GainForecast | None:
    """Return what owners gain, from the rows that a population has.

    Parameters
    ----------
    known : Population
    asked : Asked
    whose : str, optional
        The owner on whose machine it is: its name, or its number.
    """
    scenario = known.scenario
    with one_thread():
        if whose is not None:
            return at_the_owner(known, asked, whose)
        if known.private:
            found = by_folds(_with_all_rows(known), asked, "all")
            return replace(found, remaining=_if_others_left(known, asked, found))
        if scenario.data.uncertain is not None:
            options = (scenario.owners.whole, scenario.all_records, Streams(scenario.run.seed))
            table = scenario.read_data.public_table(*options)
            if table is not None:
                return by_halves(known, asked, table)
            return replace(by_folds(_with_all_rows(known), asked, "public"), owners=())
        if scenario.data.draws_fresh:
            return on_fresh_rows(known, asked)
        found = by_folds(_with_all_rows(known), asked, "public")
        return found if known.whole else replace(found, owners=())


# By folds of all owners' rows.


def by_folds(known: Population, asked: Asked, reads: Reads) -> GainForecast:
    """Judge every fold of every owner's rows by private joint models that have not seen it.

    Joint models are trained on the other folds of all owners, with the noise of n_i records.
    """
    scenario, streams = known.scenario, Streams(known.scenario.run.seed)
    places, divided = list[Ints](), list[CrossValidation]()
    designs = list[Array]()
    for owner, number in enumerate(scenario.owners.participants):
        rows, design, there = _rows_of(scenario, known.dataset, owner)
        generator = streams.generator("decision", "owner", number)
        options: Any = {"own_best": asked.own_best, "repeats": 1}
        divided.append(CrossValidation.divided(rows, scenario.model.sigma, generator, **options))
        places.append(there)
        designs.append(design)
    folds = [
        _without(known.dataset, _left_out_of(divided, places, fold))
        for fold in range(max(len(cv.divisions[0]) for cv in divided))
    ]
    factors, n = _factors(known, asked, len(folds)), known.noise_records
    n = np.array(known.dataset.records) if n is None else n
    tasks = [task for data in folds for task in _tasks(_on(known, data, n), factors)]
    _, learned = known.quick_runs.learned(tasks, range(1, RUNS + 1), **asked.options)
    models = np.stack([each.models for each in learned])
    models = models.reshape(len(folds), len(factors), *models.shape[1:])
    chosen = _spaced(len(divided))
    advance = counted(asked.progress, "own models: owners", len(chosen))
    by_owner = list[list[Gain]]()
    for owner in chosen:
        cv, design, options = divided[owner], designs[owner], {"material": asked.material}
        by_owner.append(
            [
                cv.judge(
                    _of_fold(known, cv, design, models[:, at]), records=int(n[owner]), **options
                )
                for at in range(len(factors))
            ]
        )
        advance(1)
    judged_on = f"{FOLDS} folds of each owner's rows, none of which a model had seen"
    return _found(known, asked, chosen, by_owner, factors, reads, judged_on, RUNS)


def _if_others_left(known: Population, asked: Asked, found: GainForecast) -> GainForecast | None:
    """Judge once more, with those owners alone that gain."""
    gaining = [owner.owner for owner in found.owners if owner.gain.verdict is Verdict.GAINS]
    if not 1 < len(gaining) < len(known.participants.numbers) == len(found.owners):
        return None
    scenario = known.asked.replace(owners={"only": gaining}).base()
    left = _with_all_rows(population(scenario, private=True))
    return by_folds(left, replace(asked, break_even=False), "all")


def _rows_of(scenario: Scenario, dataset: Dataset, owner: int) -> tuple[OwnRows, Array, Ints]:
    """Return an owner's rows, what models multiply, and places among its records."""
    rows, design, there = known_rows(scenario, kept(dataset, owner))
    if dataset.order is not None and len(dataset.rows) > 0:
        rows = replace(rows, order=dataset.order[dataset.rows[owner][there]])
    return rows, design, there


def _left_out_of(
    divided: Sequence[CrossValidation], places: Sequence[Ints], fold: int
) -> list[Ints]:
    pairs = zip(divided, places, strict=True)
    return [_left_out(cv, there, fold) for cv, there in pairs]


def _left_out(cv: CrossValidation, there: Ints, fold: int) -> Ints:
    """Return the records that one fold leaves out; none of an owner that cannot be divided."""
    division = cv.divisions[0]
    if fold >= len(division) or len(division[fold]) == len(cv.rows):
        return np.zeros(0, dtype=np.int64)
    return there[division[fold]]


def _without(dataset: Dataset, out: Sequence[Ints]) -> Dataset:
    """Return a data set without some records of each owner."""
    left = [rest(len(y), places) for y, places in zip(dataset.targets, out, strict=True)]
    rows = [each[keep] for each, keep in zip(dataset.rows, left, strict=False)]
    return replace(
        dataset,
        features=tuple(x[keep] for x, keep in zip(dataset.features, left, strict=True)),
        targets=tuple(y[keep] for y, keep in zip(dataset.targets, left, strict=True)),
        rows=tuple(rows),
    )


def _of_fold(
    known: Population, cv: CrossValidation, design: Array, models: Array
) -> Callable[[Ints], JointModels]:
    """Return joint models (K, R, p) by the rows that they have not seen."""
    met = [_met(known, design, each) for each in models]

    def without(out: Ints) -> JointModels:
        return next(each for each, part in zip(met, cv.divisions[0], strict=False) if part is out)

    return without


def _met(
    known: Population, design: Array, models: Array, redraw: Ints | None = None
) -> JointModels:
    """Return joint models (J, p) as an owner of rows meets them."""
    model = known.scenario.model
    linear = linear_models(model, known.dataset.projection, models)
    return JointModels(joint_scores(model, design, models), linear, redraw, margins(model))


def _with_all_rows(known: Population) -> Population:
    """Return a population whose held-out rows are the owners' again; folds take their place."""
    scenario = known.scenario
    if not scenario.data.holds_out:
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


def on_fresh_rows(known: Population, asked: Asked) -> GainForecast:
    """Judge on fresh rows of each owner's law."""
    scenario, streams = known.scenario, Streams(known.scenario.run.seed)
    factors = _factors(known, asked, 1)
    tasks = _tasks(known, factors)
    _, learned = known.quick_runs.learned(tasks, range(1, RUNS + 1), **asked.options)
    wanted, chosen = {*scenario.owners.participants}, _spaced(scenario.owners.count)
    drawn = scenario.data.fresh(scenario.owners.whole, FRESH, streams)
    numbered = (rows for number, rows in enumerate(drawn or (), 1) if number in wanted)
    by_owner = list[list[Gain]]()
    for owner, (x, y) in enumerate(numbered):
        if owner not in chosen:
            continue
        rows, design, _ = _rows_of(scenario, known.dataset, owner)
        fresh, apart, _ = known_rows(scenario, (x, x, y, np.arange(len(y))))
        generator = streams.generator("decision", "owner", owner + 1)
        judge = FreshRows.apart(
            rows, fresh, scenario.model.sigma, generator, own_best=asked.own_best
        )
        by_owner.append(
            [
                judge.judge(
                    _met(known, design, each.models),
                    joint_scores(scenario.model, apart, each.models),
                    material=asked.material,
                )
                for each in learned
            ]
        )
    judged_on = f"{FRESH:,} fresh rows of each owner's law"
    return _found(known, asked, chosen, by_owner, factors, "public", judged_on, RUNS)


# At one owner.


def at_the_owner(known: Population, asked: Asked, whose: str) -> GainForecast:
    """Judge by all rows of one owner, which joint models of substitutes have not seen."""
    scenario, owners = known.scenario, known.participants
    place = _place(known, whose)
    streams = Streams(scenario.run.seed)
    own, at = scenario.read_data.own_rows(streams), 0
    if own is None:
        if known.asked.data.file is None:
            raise SpecError([Fault("data.own_path", "nothing", "allowed is a file of its rows")])
        own, at = build_dataset(known.asked), place
    if own.held_out_rows:
        own = _joined(own)
    rows, design, _ = _rows_of(scenario, own, at)
    factors = _factors(known, asked, HALVES)
    models, redraw = list[Array](), list[int]()
    options = (scenario.owners.whole, scenario.all_records, streams.afresh())
    advance = counted(asked.progress, "substitutes: redraws", HALVES)
    for number, drawn in enumerate(scenario.read_data.redraws(HALVES, *options)):
        redrawn = population(known.asked, private=False, dataset=scenario.part(drawn))
        numbers = range(1 + number * FEW_RUNS, 1 + (number + 1) * FEW_RUNS)
        tasks = _tasks(redrawn, factors)
        _, learned = redrawn.quick_runs.learned(tasks, numbers, workers=asked.workers)
        models.append(np.stack([each.models for each in learned]))
        redraw += [number] * FEW_RUNS
        advance(1)
    together = np.concatenate(models, axis=1)
    met = replace(known, dataset=own)
    generator = streams.generator("decision", "owner", owners.numbers[place])
    cv = CrossValidation.divided(rows, scenario.model.sigma, generator, own_best=asked.own_best)
    by_factor = [
        cv.judge(
            _met(met, design, each, np.array(redraw)), records=len(rows), material=asked.material
        )
        for each in together
    ]
    judged_on = f"all rows of this owner, {HALVES} redraws of the others' substitute rows"
    found = _found(
        known, asked, [place], [by_factor], factors, "owner", judged_on, HALVES * FEW_RUNS
    )
    level = found.owners[0].break_even
    return replace(found, together=None, break_even=level, release=False)


def _place(known: Population, whose: str) -> int:
    """Return the place of an owner, from 0, by its name or number."""
    owners = known.participants
    if whose in owners.names:
        return owners.names.index(whose)
    if whose.isdecimal() and int(whose) in owners.numbers:
        return owners.numbers.index(int(whose))
    names = owners.names or tuple(map(str, owners.numbers))
    more = ", …" * (len(names) > 5)
    raise SpecError([Fault("--as", repr(whose), f"allowed: {', '.join(names[:5])}{more}")])


def _joined(dataset: Dataset) -> Dataset:
    """Return training and held-out rows of owners together."""

    def both(name: str) -> tuple[Any, ...]:
        pairs = zip(getattr(dataset, name), getattr(dataset, f"held_out_{name}"), strict=True)
        return tuple(np.concatenate(pair) for pair in pairs)

    return replace(
        dataset,
        features=both("features"),
        targets=both("targets"),
        rows=both("rows"),
        held_out_features=(),
        held_out_targets=(),
        held_out_rows=(),
    )


# From public rows alone.


def by_halves(known: Population, asked: Asked, table: PublicTable) -> GainForecast:
    """Judge substitutes from one random half of the public rows on the other half, eight times."""
    scenario = known.scenario
    alike = _alike(table)
    sizes = trained_on(getattr(scenario.data, "held_out", 0.0), table.known.sizes)
    factors, count = _factors(known, asked, HALVES), len(scenario.owners.participants)
    usable = np.flatnonzero(~np.isnan(table.known.targets))
    streams = Streams(scenario.run.seed)
    halves, records = list[list[list[Gain]]](), np.zeros(0, dtype=np.int64)
    advance = counted(asked.progress, "halves of the public rows", HALVES)
    for number in range(HALVES):
        generator = streams.generator("forecast", "half", number)
        order = generator.permutation(usable)
        first, other = np.split(order, [(len(order) + 1) // 2])
        drawn = scenario.part(table.dataset(_substitutes(first, sizes, generator)))
        plain = scenario.data.model_copy(update={"held_out": 0.0})
        half = replace(known, scenario=scenario.model_copy(update={"data": plain}))
        half = _on(half, drawn)
        records = np.array(drawn.records)
        numbers = range(1 + number * FEW_RUNS, 1 + (number + 1) * FEW_RUNS)
        _, learned = half.quick_runs.learned(_tasks(half, factors), numbers, workers=asked.workers)
        judging = scenario.part(table.dataset([other[:MOST_JUDGING]] * len(sizes)))
        fresh, apart, _ = _rows_of(scenario, judging, 0)
        found = list[list[Gain]]()
        for owner in _some(records, generator):
            rows, design, _ = _rows_of(scenario, drawn, owner)
            judge = FreshRows.apart(
                rows, fresh, scenario.model.sigma, generator, own_best=asked.own_best
            )
            found.append(
                [
                    judge.judge(
                        _met(half, design, each.models),
                        joint_scores(scenario.model, apart, each.models),
                        material=asked.material,
                    )
                    for each in learned
                ]
            )
        halves.append(found)
        advance(1)
    means = [_over_halves([[g[at] for g in half] for half in halves], asked, count)
             for at in range(len(factors))]  # fmt: skip
    given = factors.index(1.0)
    mine = [gain[given] for half in halves for gain in half]
    names = ("own", "joint", "adapted", "guessing")
    own, joint, adapted, guessing = (_mean(mine, name) for name in names)
    budgets = _budgets(known, factors)
    differ = alike.known == "differ"
    few = int(records.sum()) > (len(usable) + 1) // 2
    return GainForecast(
        reads="public",
        release=True,
        score=scored_by(len(scenario.model.labels)),
        unit=_unit(scenario),
        together=None if differ else means[given],
        own=own,
        joint=joint,
        adapted=adapted,
        guessing=guessing,
        material=asked.material,
        owners=(),
        budgets=budgets,
        break_even=None
        if differ or len(budgets) < 2
        else _consortium_break_even(budgets, means, asked.material * own),
        judged_on=f"{HALVES} random halves of {len(usable):,} public rows",
        runs=HALVES * FEW_RUNS,
        at_least=few,
        alike=alike,
        count=count,
    )


def _substitutes(first: Ints, sizes: Sequence[int], generator: np.random.Generator) -> list[Ints]:
    """Return rows of a half for each owner, no row twice as far as the half has enough."""
    if sum(sizes) <= len(first):
        order = generator.permutation(first)
        return [np.sort(part) for part in np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])]
    return [
        np.sort(generator.choice(first, size=size, replace=size > len(first))) for size in sizes
    ]


def _some(records: Ints, generator: np.random.Generator) -> list[int]:
    """Return which owners are judged in a half: evenly spaced by size, from a random start."""
    order = np.lexsort((generator.random(len(records)), records))
    if len(order) <= JUDGED:
        return [int(place) for place in order]
    step = len(order) / JUDGED
    start = generator.random() * step
    return [int(order[int(start + at * step)]) for at in range(JUDGED)]


def _over_halves(halves: Sequence[Sequence[Gain]], asked: Asked, count: int) -> Consortium:
    """Return the mean gain over halves, with the interval of an owner's rows drawn once more."""
    kinds = list[tuple[Estimate, Verdict]]()
    for by_records in (False, True):
        means, own, better = list[float](), list[float](), list[bool]()
        for half in halves:
            some = [gain for gain in half if isfinite(gain.gain.value)]
            weight = [float(gain.records) if by_records else 1.0 for gain in some]
            means.append(float(np.average([g.gain.value for g in some], weights=weight)))
            own.append(float(np.average([g.own for g in some], weights=weight)))
            best = [min(g.joint, g.adapted) - g.guessing for g in some]
            better.append(float(np.average(best, weights=weight)) < 0)
        estimate = over_halves(means)
        material = asked.material * float(np.mean(own))
        good = sum(better) > len(better) / 2
        kinds.append((estimate, verdict_of(estimate, material, better_than_guessing=good)))
    (mean, verdict), (weighted, other) = kinds
    return Consortium(mean, weighted, verdict, other, count)


def _alike(table: PublicTable) -> Alike:
    """Return what public rows that name their owner show of differences between owners."""
    known = table.known
    found: Unlikeness = unlike(known.features, known.targets, known.like, len(known.sizes))
    if len(found.seen) < 2:
        return Alike("unknown")
    counts = np.bincount(known.like[known.like >= 0], minlength=len(known.sizes))
    rows = float(np.median(counts))
    figures = (found.variance, found.half_width, rows)
    if found.variance > found.half_width:
        return Alike("differ", *figures)
    if rows < ENOUGH_PUBLIC * float(np.median(known.sizes)):
        return Alike("unknown", *figures)
    return Alike("no difference shown", *figures)


# What all ways have in common.


def _spaced(count: int) -> list[int]:
    """Return places of at most :data:`MOST_OWNERS` owners, evenly spaced."""
    chosen = np.linspace(0, count - 1, min(count, MOST_OWNERS))
    return [int(place) for place in np.rint(chosen)]


def _factors(known: Population, asked: Asked, times: int) -> tuple[float, ...]:
    """Return the factors of budgets that are tried: 1 alone where more would take long."""
    if not asked.break_even:
        return (1.0,)
    finite = np.isfinite(np.asarray(known.problem.accountant.epsilon, dtype=float)).any()
    updates = times * len(FACTORS) * known.scenario.run.updates
    light = affordable(known.scenario, known.dataset, updates, 11) > 10
    return FACTORS if known.problem.xi is not None and finite and light else (1.0,)


def _on(known: Population, dataset: Dataset, noise_records: Ints | None = None) -> Population:
    """Return the population with other records, its noise scaled for so many."""
    problem = prepare(known.scenario, dataset, noise_of=noise_records)
    return replace(known, dataset=dataset, problem=problem, noise_records=noise_records)


def _tasks(known: Population, factors: Sequence[float]) -> list[Any]:
    """Return what is learned with each factor of the budgets, judged at the end alone."""
    tasks = [task_with_budgets(known, factor) for factor in factors]
    return [replace(task, record_every=known.scenario.run.updates) for task in tasks]


def _budgets(known: Population, factors: Sequence[float]) -> tuple[float, ...]:
    """Return ε of the median owner at each factor; nothing where no budget is finite."""
    budgets = np.asarray(known.problem.accountant.epsilon, dtype=float)
    finite = budgets[np.isfinite(budgets)]
    if known.problem.xi is None or len(finite) == 0:
        return ()
    return tuple(float(np.median(finite)) * factor for factor in factors)


def _unit(scenario: Scenario) -> str | None:
    return None if scenario.model.classifies else scenario.data.target_unit


def _mean(gains: Sequence[Gain], name: str) -> float:
    values = [getattr(gain, name) for gain in gains]
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _consortium_break_even(
    budgets: Sequence[float], means: Sequence[Consortium | None], material: float
) -> BreakEven | None:
    if any(mean is None for mean in means):
        return None
    there = [mean for mean in means if mean is not None]
    estimates, verdicts = [mean.gain for mean in there], [mean.verdict for mean in there]
    return break_even(budgets, estimates, verdicts, [material] * len(there))


def _found(
    known: Population,
    asked: Asked,
    chosen: Sequence[int],
    by_owner: Sequence[Sequence[Gain]],
    factors: Sequence[float],
    reads: Reads,
    judged_on: str,
    runs: int,
) -> GainForecast:
    """Return the gains of owners at the scenario's budgets, and of their mean."""
    scenario, people, given = known.scenario, known.participants, factors.index(1.0)
    epsilon = np.asarray(known.problem.accountant.epsilon, dtype=float)
    owners = list[OwnerGain]()
    for place, several in zip(chosen, by_owner, strict=True):
        budget = float(epsilon[place]) if known.problem.xi is not None else np.inf
        owners.append(
            OwnerGain(
                people.numbers[place],
                people.names[place] if len(people.names) > 0 else None,
                several[given],
                _owner_break_even(budget, factors, several),
                budget if isfinite(budget) else None,
            )
        )
    mine = [owner.gain for owner in owners]
    means = [consortium([several[at] for several in by_owner]) for at in range(len(factors))]
    names = ("own", "joint", "adapted", "guessing")
    own, joint, adapted, guessing = (_mean(mine, name) for name in names)
    budgets = _budgets(known, factors)
    level = None
    if len(budgets) > 1:
        level = _consortium_break_even(budgets, means, asked.material * own)
    return GainForecast(
        reads=reads,
        release=not known.private and reads == "public",
        score=scored_by(len(scenario.model.labels)),
        unit=_unit(scenario),
        together=means[given],
        own=own,
        joint=joint,
        adapted=adapted,
        guessing=guessing,
        material=asked.material,
        owners=tuple(owners),
        budgets=budgets,
        break_even=level,
        judged_on=judged_on,
        runs=runs,
        at_least=False,
        alike=None,
        count=scenario.owners.count,
    )


def _owner_break_even(
    epsilon: float, factors: Sequence[float], gains: Sequence[Gain]
) -> BreakEven | None:
    if not isfinite(epsilon) or len(factors) < 2:
        return None
    budgets = [epsilon * factor for factor in factors]
    return break_even(
        budgets,
        [gain.gain for gain in gains],
        [gain.verdict for gain in gains],
        [gain.material for gain in gains],
    )


__all__ = ["Alike", "Asked", "GainForecast", "OwnerGain", "gains"]
