"""Changes of a scenario that may make other owners gain by joining, each tried."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import AsyncDPError
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.advice.contest import Played, affordable
from asyncdp_sim.forecasts.benefit import Errors, errors, value_alone
from asyncdp_sim.forecasts.by_runs import final_psi
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.scenario import Scenario

DELTA = 1e-6
TIMES, MORE = 4, "four times the records of each owner"
"""Times the records that are tried, and what that is called."""
MOST_RECORDS = 1_000_000
"""Records that are drawn, all owners together, to see what more of them would change."""
RUNS = 20
"""Runs of a change, at most, where ψ decides."""


@dataclass(frozen=True)
class Change:
    """Another setting that was tried.

    Attributes
    ----------
    words : str
        Of what was changed, with its number.
    profits, loses : int
        How many owners gain then, and how many do worse.
    budgets_times : float, optional
        How many times as large budgets are; None where they are as given.
    """

    words: str
    profits: int
    loses: int
    budgets_times: float | None = None


def changes(
    known: Population,
    found: Errors | None,
    *,
    less_noise: bool = True,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Change]:
    """Return how many owners would gain after each of some changes of a scenario.

    Larger budgets, fewer updates, Gaussian noise; and, where the records are drawn (synthetic
    ones, or a table's stand-in), as many more of them for each owner, of the same law.

    Parameters
    ----------
    known : Population
    found : Errors, optional
        Errors on held-out rows, which decide who gains; absent, ψ decides, and budgets have a
        formula (:func:`~asyncdp_sim.forecasts.benefit.prospects`), so that none is
        tried.
    less_noise : bool
        Whether changes are tried that lower the noise alone: they do not help where ψ without
        noise is above every owner's alone.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Told how many changes are tried.
    """
    tried_changes = list[Change]()
    if found is not None:
        for at in range(found.given + 1, len(found.factors)):
            factor = found.factors[at]
            words = f"budgets {factor:g} times as large"
            tried_changes.append(Change(words, *_counts(found, at), factor))

    def tried(scenario: Scenario, dataset: Dataset) -> tuple[int, int]:
        given: Any = {"private": known.private, "dataset": dataset, "like": known.problem}
        data = population(scenario, **given)
        if scenario.network == known.scenario.network:  # the same traces
            data = replace(data, quick_runs=known.quick_runs)
        if found is None:
            return _by_psi(data, workers)
        result = errors(data, factors=(1.0,), runs=found.joined.shape[1], workers=workers)
        return _counts(replace(result, rows=found.rows), 0)

    settings = list(_settings(known.scenario, less_noise))
    advance = counted(progress, "what would help: trials", len(settings) + 1)
    for words, parts in settings:
        try:
            tried_changes.append(
                Change(words, *tried(known.scenario.replace(**parts), known.dataset))
            )
        except AsyncDPError:  # the scenario does not allow it: no advice then
            continue
        finally:
            advance(1)
    more = _more_records(known) if less_noise else None
    if more is not None:
        tried_changes.append(Change(MORE, *tried(known.scenario, more)))
    advance(1)
    return tried_changes


def _counts(found: Errors, at: int) -> tuple[int, int]:
    """Return how many owners gain by joining, and how many do worse."""
    return int(found.profits(at).sum()), int(found.loses(at).sum())


def _by_psi(data: Population, workers: int) -> tuple[int, int]:
    """Return the same by ψ of a few runs."""
    scenario, alone = data.scenario, value_alone(data)
    runs = affordable(scenario, data.dataset, 3.0 * scenario.run.updates, RUNS)
    tasks, numbers = [data.problem.task], range(1, runs + 1)
    _, [learned] = data.quick_runs.learned(tasks, numbers, workers=workers)
    played = Played(final_psi(learned.curve))
    low, high = played.psi - played.half_width, played.psi + played.half_width
    return int(np.sum(alone > high)), int(np.sum(alone < low))


def _settings(scenario: Scenario, less_noise: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield other settings to try, in words and as parts of a scenario."""
    updates = scenario.run.updates // 4
    if updates > 0:
        yield f"{updates} updates instead of {scenario.run.updates}", {"run": {"updates": updates}}
    if less_noise and scenario.privacy.mechanism.composition == "pure":
        privacy = {"mechanism": "gaussian", "delta": DELTA}
        yield f"Gaussian noise at δ = {DELTA:g}", {"privacy": privacy}


def _more_records(known: Population) -> Dataset | None:
    """Return records of which every owner has :data:`TIMES` as many, where they can be drawn."""
    scenario, held = known.scenario, known.dataset
    total = sum(map(len, (*held.targets, *held.held_out_targets)))
    if TIMES * total > MOST_RECORDS:
        return None
    options = (scenario.owners.whole, scenario.all_records, Streams(scenario.run.seed))
    try:
        drawn = scenario.read_data.enlarged(TIMES, *options)
    except AsyncDPError:
        return None
    return None if drawn is None else scenario.part(drawn)
