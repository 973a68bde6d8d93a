"""The objective that absence makes: FedAWE's equation (3), and its repair.

Owners are online with chances p_i, drawn anew each time. Equation (3) says that F_i then counts
p_i/Σ p_j. Learning ends where it says if answers are taken one at a time. If a round's answers are
averaged over those present, F_i counts E[1{i ∈ A}/|A|], which is another number: an owner that is
seldom there is seldom there alone. With steps divided by shares it ends at θ*.

All means and second moments are known exactly (:mod:`scenarios.beyond.moves`).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.one_panel import TEXTS, TRUTH, text, written
from analysis.studies.where_it_ends import FIGURE, online
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import GREEN
from asyncdp_sim.results import Sweep
from scenarios.beyond import moves
from scenarios.papers import problem
from scenarios.papers.claims import Range, result
from scenarios.papers.figure import read_figures

PRESENT, SINGLE = "over those present", "one at a time"
COPIES, DIVIDED = "copies", "copies, divided by shares"
NAMES = (PRESENT, SINGLE, COPIES, DIVIDED)


def _chances(sweep: Sweep) -> Array:
    return online(problem.scenario(sweep.cells[0].result))


def exactly(sweep: Sweep, name: str) -> moves.LongRun:
    """Return the moments of a variant in the long run."""
    f, chances = problem.objective(sweep), _chances(sweep)
    part, said = chances / chances.sum(), problem.scenario(result(sweep, name))
    algorithm: Any = said.algorithm
    if name == PRESENT:
        return moves.long_run(*moves.rounds(f, algorithm.step, chances.tolist()))
    if name == SINGLE:
        return moves.long_run(moves.one_model(f, algorithm.step), part)
    by = len(part) * part if name == DIVIDED else np.ones(len(part))
    return moves.long_run(moves.copies(f, moves.pace(said), by), part)


def printed(sweep: Sweep) -> float:
    """Return where learning ends by equation (3)."""
    chances = _chances(sweep)
    return float(moves.minimiser(problem.objective(sweep), chances / chances.sum())[0])


def wanted(sweep: Sweep) -> float:
    """Return θ*."""
    f = problem.objective(sweep)
    return float(moves.minimiser(f, moves.shares(f))[0])


def over_printed(sweep: Sweep, model: float) -> float:
    """Return how far a model is off θ*, over how far it is by equation (3)."""
    return (model - wanted(sweep)) / (printed(sweep) - wanted(sweep))


def bias(sweep: Sweep, name: str) -> float:
    """Return a variant's bias over that of equation (3)."""
    return over_printed(sweep, float(problem.ends(result(sweep, name)).mean()))


def about(sweep: Sweep, name: str, value: float) -> Range:
    """Return a window of standard errors of a variant's bias around a value."""
    away = printed(sweep) - wanted(sweep)
    error = problem.SURE * problem.uncertain(problem.ends(result(sweep, name))[:, 0]) / abs(away)
    return value - error, value + error


def about_exact(sweep: Sweep, name: str) -> Range:
    """Return a window around the exact mean."""
    return about(sweep, name, over_printed(sweep, float(exactly(sweep, name).mean[0])))


def off_model(sweep: Sweep, name: str) -> float:
    """Return how many standard errors a mean model is off its exact value."""
    return problem.off_by(*models(sweep, name))


def off_psi(sweep: Sweep, name: str) -> float:
    """Return how many standard errors mean ψ is off its exact value."""
    return problem.off_by(
        problem.late_psi(result(sweep, name)), exactly(sweep, name).psi(problem.objective(sweep))
    )


def models(sweep: Sweep, name: str) -> tuple[Array, float]:
    """Return models at the end, and their exact mean."""
    return problem.ends(result(sweep, name))[:, 0], float(exactly(sweep, name).mean[0])


def gain(sweep: Sweep) -> float:
    """Return late ψ of copies over that where steps are divided by shares."""
    return problem.mean_psi(sweep, COPIES) / problem.mean_psi(sweep, DIVIDED)


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw where each variant ends, beside θ* and where the published objective ends."""
    picture, at = FIGURE.picture(sweep), printed(sweep)
    line = Layer("upright", at, look=TRUTH | {"color": GREEN})
    [panel] = picture.said.panels
    labels = [TEXTS["bias-of-absence"]["labels"][name] for name in panel.y.labels or ()]
    panel = replace(
        panel,
        marks=[line, written(at, -0.5, "equation (3)", "right", GREEN), *panel.marks],
        y=replace(panel.y, labels=labels),
    )
    away = abs(at - wanted(sweep))
    told = [
        (bias(sweep, name), 2 * problem.uncertain(models(sweep, name)[0]) / away)
        for name in (PRESENT, DIVIDED)
    ]
    chances = ", ".join(f"{chance:g}" for chance in _chances(sweep))
    note = text("bias-of-absence", "note", chances=chances)
    said = replace(picture.said, panels=[panel], title=as_far(*told), note=note)
    return [replace(picture, said=said)]


def as_far(present: tuple[float, float], divided: tuple[float, float]) -> str:
    """Return the bias of two variants over the published one, ± two standard errors."""
    return (
        "If some owners are absent more, rounds that average over the present ones end "
        f"{plus_minus(*present)} times as far from the optimum θ* as published; steps divided by "
        f"shares of the time online, {plus_minus(*divided)} times"
    )


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
