"""Waves of absence: FedAWE's second example, with and without the presence that waves cost.

Owners are there with chance p [(1 − γ) + γ sin 2πt/20], all alike. A larger γ makes chances swing
more, and lower in the mean: p (1 − γ). So each γ is run twice: in waves, and with the same mean
chance throughout, in which nothing is left of the waves. All is known exactly
(:mod:`scenarios.beyond.moves`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import numpy as np

from analysis.one_panel import DOTS, MEASURED, PREDICTED, captioned
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import plus_minus
from asyncdp_sim.figures.drawer import Layer, measured
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import BLUE, VERMILION
from asyncdp_sim.results import Sweep
from scenarios.beyond.moves import in_rounds
from scenarios.papers.claims import Range, result
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import late_means, mean_psi, objective, psi_around, scenario
from scenarios.papers.resampled import standard_error

DEGREES = (0.1, 0.3, 0.5)
LAPS = 200
COURSE = 41
"""Degrees at which predictions are drawn."""


def in_waves(degree: float) -> str:
    """Return the variant with waves of this γ."""
    return f"waves of {degree:g}"


def steady(degree: float) -> str:
    """Return the variant in which owners are there as often, without waves."""
    return f"as often as in {in_waves(degree)}"


NAMES = tuple(name for degree in DEGREES for name in (in_waves(degree), steady(degree)))


def chances(kind: Any) -> list[float]:
    """Return the chances of presence in rounds of one period of an availability."""
    if hasattr(kind, "period"):
        return [kind.at(float(t), 0.0) for t in range(1, round(kind.period) + 1)]
    return [float(kind.probability)]


def exact_psi(sweep: Sweep, name: str) -> float:
    """Return E ψ of a variant in the long run."""
    f, said = objective(sweep), scenario(result(sweep, name))
    step: Any = said.algorithm
    return in_rounds(f, step.step, chances(said.availability), LAPS).psi(f)


def course(sweep: Sweep, of: Callable[[float], str]) -> Array:
    """Return E ψ over more γ than are run, shape (2, M): γ and ψ."""
    name, first = of(DEGREES[0]), DEGREES[0]
    said: Any = scenario(result(sweep, name))
    f, kind, degrees = objective(sweep), said.availability, np.linspace(first, DEGREES[-1], COURSE)
    psi = []
    for degree in degrees:
        if of is in_waves:
            there = {"low": kind.high * max(0.0, 1 - 2 * degree)}
        else:
            there = {"probability": kind.probability * (1 - degree) / (1 - first)}
        rounds = chances(kind.model_copy(update=there))
        psi.append(in_rounds(f, said.algorithm.step, rounds, LAPS).psi(f))
    return np.array([degrees, psi])


def around(sweep: Sweep, name: str) -> Range:
    """Return a window of standard errors around E ψ."""
    return psi_around(sweep, name, exact_psi(sweep, name))


def growth(sweep: Sweep, least: str, largest: str) -> float:
    """Return ψ of a variant over that of another."""
    return mean_psi(sweep, largest) / mean_psi(sweep, least)


def exact_growth(sweep: Sweep, of: Callable[[float], str]) -> float:
    """Return E ψ at the largest γ over that at the least."""
    return exact_psi(sweep, of(DEGREES[-1])) / exact_psi(sweep, of(DEGREES[0]))


def part_of_mean(sweep: Sweep) -> float:
    """Return the part of the growth, in logarithms, that is there without waves, exactly."""
    return log(exact_growth(sweep, steady)) / log(exact_growth(sweep, in_waves))


def as_low(sweep: Sweep) -> Range:
    """Return up to a quarter more than the growth that the mean chance makes, exactly."""
    return 1.0, 1.25 * exact_growth(sweep, steady)


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ over γ, in waves and without."""
    marks, grown, tables = [PREDICTED, MEASURED], list[tuple[float, float]](), list[Columns]()
    kinds = (in_waves, "in waves", BLUE), (steady, "without waves", VERMILION)
    for of, name, color in kinds:
        mean, about = late_means(sweep, map(of, DEGREES))
        degrees, psi = course(sweep, of)
        marks.append(Layer("line", degrees, psi, end=name, look={"color": color}))
        ends = np.array([mean, mean - about, mean + about])
        marks.append(measured(DEGREES, ends, **DOTS | {"color": color}))
        least, largest = of(DEGREES[0]), of(DEGREES[-1])
        error = standard_error(partial(growth, least=least, largest=largest), [sweep]) or 0.0
        grown.append((growth(sweep, least, largest), 2 * error))
        exact = [exact_psi(sweep, of(degree)) for degree in DEGREES]
        tables.append(
            {"degree": np.array(DEGREES), "psi": mean, "about": about, "exact": np.array(exact)}
            | {"kind": np.repeat([name], len(DEGREES))}
        )
    kept = [scenario(result(sweep, steady(degree))).availability for degree in DEGREES]
    present = [float(np.mean(chances(each))) for each in kept]
    labels = [f"{degree:g}\n{chance:g}" for degree, chance in zip(DEGREES, present, strict=True)]
    x = {"ticks": DEGREES, "labels": labels}
    table = {name: np.concatenate([each[name] for each in tables]) for name in tables[0]}
    results = [cell.result for cell in sweep.cells]
    return [captioned("with-and-without", growing(*grown), marks, table, results, x=x)]


def growing(waves: tuple[float, float], without: tuple[float, float]) -> str:
    """Return how much ψ grows with γ in both kinds, ± two standard errors."""
    ends = f"γ = {DEGREES[0]:g} to {DEGREES[-1]:g}"
    return (
        f"In waves of absence ψ grows {plus_minus(*waves)} times from {ends}; with as many owners "
        f"online and no waves, {plus_minus(*without)} times"
    )


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
