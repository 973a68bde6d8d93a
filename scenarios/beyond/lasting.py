"""Absence that lasts: CA-Fed's trade between unbiased steps and going on without an owner.

Owner 1 is online a tenth of the time, in cycles of length c; its steps are divided by its share.
The longer the cycles, the further the model follows whoever is there: E ψ grows with c from what it
is where presence is drawn anew at every tick. Without owner 1 nothing swings, and learning ends at
the optimum of the others. All of this is known exactly (:mod:`scenarios.beyond.moves`).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.one_panel import DOTS, MEASURED, PREDICTED, PSI, TRUTH, captioned, written
from analysis.studies.where_it_ends import online
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Layer, measured
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import BLUE, VERMILION
from asyncdp_sim.results import Sweep
from scenarios.beyond.moves import LongRun, Moves, copies, long_run, pace, while_it_lasts
from scenarios.papers import problem
from scenarios.papers.claims import Range, result
from scenarios.papers.figure import read_figures

ANEW, WITHOUT = "drawn anew", "left out"
CYCLES = (1.0, 10.0, 100.0, 400.0)


def cycles_of(length: float) -> str:
    """Return the variant with cycles of this length."""
    return f"cycles of {length:g}"


NAMES = (ANEW, *map(cycles_of, CYCLES), WITHOUT)


def _kept(sweep: Sweep) -> tuple[Array, Array, Moves]:
    """Return owners' shares of time online, their parts of updates, and what updates do."""
    said = problem.scenario(result(sweep, ANEW))
    there = online(said)
    part = there / there.sum()
    return there, part, copies(problem.objective(sweep), pace(said), len(part) * part)


def in_cycles(sweep: Sweep, length: float) -> LongRun:
    """Return the moments where owner 1 comes and goes in cycles of this mean length."""
    there, _, moves = _kept(sweep)
    goes, comes = 1 / (there[0] * length), 1 / ((1 - there[0]) * length)
    everyone = np.ones(len(there))
    rates = np.stack([everyone, everyone - np.eye(len(there))[0]])
    return while_it_lasts(moves, rates, np.array([[-goes, goes], [comes, -comes]]))


def exactly(sweep: Sweep, name: str) -> LongRun:
    """Return the moments of a variant in the long run.

    Without owner 1 it hardly ever ticks, and steps are as long as it is.
    """
    if name == ANEW:
        _, part, moves = _kept(sweep)
        return long_run(moves, part)
    if name != WITHOUT:
        return in_cycles(sweep, float(name.removeprefix(cycles_of(0)[:-1])))
    said = problem.scenario(result(sweep, WITHOUT))
    rates = np.array(said.clock.rate, dtype=float)  # type: ignore[union-attr]
    moves = copies(problem.objective(sweep), pace(said), np.ones(len(rates)))
    return long_run(moves, rates / rates.sum())


def exact_psi(sweep: Sweep, name: str) -> float:
    """Return E ψ of a variant in the long run."""
    return exactly(sweep, name).psi(problem.objective(sweep))


def around(sweep: Sweep, name: str) -> Range:
    """Return a window of standard errors around E ψ."""
    return problem.psi_around(sweep, name, exact_psi(sweep, name))


def off_mean(sweep: Sweep, name: str) -> float:
    """Return how many standard errors the mean model is off its exact value."""
    models = problem.ends(result(sweep, name))[:, 0]
    return problem.off_by(models, exactly(sweep, name).mean[0])


def least_growth(sweep: Sweep) -> float:
    """Return ψ over that where absence lasts less, the least of all steps."""
    found = [problem.mean_psi(sweep, name) for name in NAMES[:-1]]
    return float(np.min(np.array(found[1:]) / np.array(found[:-1])))


def more_biased(sweep: Sweep) -> float:
    """Return how far the mean model is off θ* without owner 1, over that where it is drawn anew."""
    best = float(problem.objective(sweep).optimum[0])
    without_it, anew = (
        abs(problem.ends(result(sweep, name)).mean() - best) for name in (WITHOUT, ANEW)
    )
    return float(without_it / anew)


def crossing(sweep: Sweep) -> float:
    """Return the length of cycles from which on E ψ is above that without owner 1; in units."""
    limit = exact_psi(sweep, WITHOUT)
    low, high = CYCLES[0], CYCLES[-1]
    if in_cycles(sweep, high).psi(problem.objective(sweep)) < limit:
        return float("inf")
    while high / low > 1.001:
        middle = float(np.sqrt(low * high))
        above = in_cycles(sweep, middle).psi(problem.objective(sweep)) > limit
        low, high = (low, middle) if above else (middle, high)
    return high


def over_without(sweep: Sweep, length: float) -> float:
    """Return ψ in cycles of a length over that without owner 1."""
    return problem.mean_psi(sweep, cycles_of(length)) / problem.mean_psi(sweep, WITHOUT)


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ over the length of cycles, predicted and measured."""
    lengths = np.geomspace(CYCLES[0] / 2, 2 * CYCLES[-1], 40)
    curve = np.array([in_cycles(sweep, each).psi(problem.objective(sweep)) for each in lengths])
    names = (*map(cycles_of, CYCLES), WITHOUT)
    mean, about = problem.late_means(sweep, names)
    ends, pays = np.array([mean, mean - about, mean + about]), crossing(sweep)
    exact = np.array([exact_psi(sweep, name) for name in names])
    limit, share = float(exact[-1]), f"{100 * _kept(sweep)[0][0]:.0f} %"
    marks = [
        PREDICTED,
        MEASURED,
        Layer("line", lengths, curve, look={"color": BLUE}),
        measured(np.array(CYCLES), ends[:, :-1], **DOTS),
        written(lengths[0], curve[0], "kept", color=BLUE),
        Layer("span", low=ends[1, -1], high=ends[2, -1], look={"color": VERMILION, "alpha": 0.3}),
        Layer("level", y=limit, look=TRUTH | {"color": VERMILION}),
        written(lengths[0], limit, "left out, ± 2 standard errors", color=VERMILION),
        Layer("upright", pays, look=TRUTH | {"linestyle": ":"}),
        written(pays, 0.0, number(pays)),
    ]
    cycle = np.array([*CYCLES, np.nan])
    table = {"cycle": cycle, "psi": mean, "two_standard_errors": about, "predicted": exact}
    results = [cell.result for cell in sweep.cells]
    title = leaving_pays(share, pays)
    return [captioned("long-absence", title, marks, table, results, share=share, psi=PSI)]


def leaving_pays(share: str, cycle: float) -> str:
    """Return from which cycles on it is better to leave out an owner."""
    owner = f"an owner that is online {share} of the time"
    if cycle > CYCLES[-1]:
        return f"Leaving out {owner} fits worse, up to cycles of {number(CYCLES[-1])} units"
    cycles = f"cycles of {number(cycle)} units"
    return f"Leaving out {owner} fits better only from {cycles} on (predicted exactly)"


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
