"""The ± of a forecast from a stand-in: its spread over what is uncertain, drawn again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.by_runs import last
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.runs.account import learn_alone
from asyncdp_sim.runs.replicates import Learned
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import t_quantile

REDRAWS = 8
RUNS = 5
"""Runs of each redraw. Networks and noise are the same for all, so that figures differ by their
rows: 40 runs move owners' half widths by 6 % (146 hospitals) and 14 % (lenders by state), root mean
square, where eight redraws leave a standard error of a quarter."""
HELD = 2**24
"""Numbers of features of redraws that are held at a time, 128 MB; one redraw may have more."""


@dataclass(frozen=True)
class MayBeOff:
    """By how much figures from substitute rows may differ from those of the owners' rows.

    Attributes
    ----------
    psi_half_width : float
        Of a 95 % interval of the expected ψ at the end, over what is uncertain about the stand-in.
    errors_half_width : tuple of float
        The same of each owner's error with the private model, in the score's units; without
        members where no rows are held out.
    alone_half_width, gain_half_width : tuple of float
        The same of its own model's error, and of the difference of the two.
    score : str or None
        What that error is.
    unit : str or None
        Of the error.
    redraws : int
        How often what is uncertain was drawn again.
    uncertain : str
        What that is.
    left_out : tuple of str
        What is not in the half widths.
    """

    psi_half_width: float
    errors_half_width: tuple[float, ...]
    alone_half_width: tuple[float, ...]
    gain_half_width: tuple[float, ...]
    score: str | None
    unit: str | None
    redraws: int
    uncertain: str
    left_out: tuple[str, ...]


def may_be_off(
    known: Population,
    *,
    itself: Learned | None = None,
    redraws: int = REDRAWS,
    workers: int = 1,
    progress: Progress | None = None,
) -> MayBeOff | None:
    """Return how far a forecast may be off, or None where there are no substitute rows.

    The half width is t_R times the root mean square of the differences between the figures of R
    redraws and those of the stand-in itself, whose spread about what it estimates is the same.

    Parameters
    ----------
    known : Population
        Of the stand-in itself.
    itself : Learned, optional
        What the stand-in's runs have learned, where :data:`RUNS` or more are made already.
    redraws : int
        R ≥ 1.
    workers : int
        Processes for runs, ≥ 1.
    progress : Progress, optional
        Told how many redraws are done, the stand-in itself among them.
    """
    scenario, data = known.scenario, known.scenario.data
    if data.uncertain is None:
        return None
    advance = counted(progress, "how far it may be off: redraws", redraws + 1)

    def stand_ins() -> Iterator[Population]:
        if itself is None:
            yield known
        advance(1)
        options = (scenario.owners.whole, scenario.all_records, Streams(scenario.run.seed))
        for redrawn in scenario.read_data.redraws(redraws, *options):
            yield population(scenario, private=False, dataset=scenario.part(redrawn))
            advance(1)

    figures, drawn = list[tuple[float, Array]](), stand_ins()
    if itself is not None:
        figures += _figures([known], workers, progress, [itself])
    most = max(1, HELD // sum(x.size for x in known.dataset.features))
    while len(several := list(islice(drawn, most))) > 0:
        figures += _figures(several, workers, progress)
    (psi, own_errors), *redrawn_figures = figures
    score = known.problem.held_out[0].scores[0] if data.holds_out else None
    errors, alone, gains = (
        tuple(half_width_of(redrawn, own) for redrawn, own in zip(kind.T, owns, strict=True))
        for kind, owns in zip(
            np.stack([figure for _, figure in redrawn_figures], axis=1), own_errors, strict=True
        )
    )
    return MayBeOff(
        psi_half_width=half_width_of(np.array([figure for figure, _ in redrawn_figures]), psi),
        errors_half_width=errors,
        alone_half_width=alone,
        gain_half_width=gains,
        score=None if score is None else score.words,
        unit=data.target_unit if score is not None and score.in_units else None,
        redraws=redraws,
        uncertain=data.uncertain,
        left_out=known.dataset.doubts,
    )


def of_the_end(
    scenario: Scenario,
    *,
    private: bool,
    workers: int = 1,
    progress: Progress | None = None,
) -> MayBeOff | None:
    """Return how far a forecast of the scenario that advice ends with may be off.

    None where private records were read, or where there are no substitute rows.
    """
    twin = None if private else scenario.data.twin()
    if twin is None or twin.uncertain is None:
        return None
    data = population(scenario.base(), private=False)
    return may_be_off(data, workers=workers, progress=progress)


def half_width_of(values: Array, itself: float) -> float:
    """Return t_R times the root mean square of what redraws differ by from the stand-in itself."""
    if not np.isfinite([*values, itself]).all():
        return float("inf")
    spread = float(np.sqrt(np.mean(np.square(values - itself))))
    return t_quantile(len(values), 0.975) * spread


def _figures(
    several: Sequence[Population],
    workers: int,
    progress: Progress | None,
    learned: Sequence[Learned] | None = None,
) -> list[tuple[float, Array]]:
    """Return mean ψ, and errors, of stand-ins that learn abreast.

    Errors, (3, N), are with the private model, with its own, and their difference; N = 0 where no
    rows are held out. Runs that are made already are ``learned``, and more of them are ignored.
    """
    if learned is None:
        tasks, numbers = [stand_in.problem.task for stand_in in several], range(1, RUNS + 1)
        options: Any = {"workers": workers, "progress": progress}
        _, learned = several[0].quick_runs.learned(tasks, numbers, **options)
    holds_out = several[0].scenario.data.holds_out
    return [
        (
            float(np.mean(last(result.curve, "relative_fitness")[:RUNS])),
            _errors(stand_in, result.models[:RUNS]) if holds_out else np.zeros((3, 0)),
        )
        for stand_in, result in zip(several, learned, strict=True)
    ]


def _errors(known: Population, models: Array) -> Array:
    judges = known.problem.held_out
    joined = np.stack([judge.headline(models) for judge in judges], axis=1).mean(axis=0)
    own = learn_alone(known.scenario.model, known.problem.records)
    alone = np.array(
        [judge.headline(model[None])[0] for judge, model in zip(judges, own, strict=True)]
    )
    return np.stack([joined, alone, joined - alone])


__all__ = ["REDRAWS", "MayBeOff", "half_width_of", "may_be_off", "of_the_end"]
