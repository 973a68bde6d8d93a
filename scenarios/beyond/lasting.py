"""Absence that lasts: CA-Fed's trade between unbiased steps and going on without an owner.

Owner 1 is online a tenth of the time, in cycles of length c; its steps are divided by its share.
The longer the cycles, the further the model follows whoever is there: E ψ grows with c from what it
is where presence is drawn anew at every tick. Without owner 1 nothing swings, and learning ends at
the optimum of the others. All of this is known exactly (:mod:`scenarios.beyond.moves`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from analysis.beyond.long_absence import Ending, long_absence
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.beyond.moves import Array, LongRun, copies, long_run, while_it_lasts
from scenarios.beyond.problem import ends, late_psi, objective, scenario, uncertain
from scenarios.papers.claims import Claim, Measure, Printed, Range, result
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure

ANEW, WITHOUT = "drawn anew", "left out"
CYCLES = (1.0, 10.0, 100.0, 400.0)
SURE = 4.0
"""Standard errors within which a mean must be."""


def cycles_of(length: float) -> str:
    """Return the variant with cycles of this length."""
    return f"cycles of {length:g}"


NAMES = (ANEW, *map(cycles_of, CYCLES), WITHOUT)


def pace(said: Scenario) -> float:
    """Return ρ/T²."""
    return said.algorithm.rho / said.run.updates**2  # type: ignore[union-attr, operator]


def online(sweep: Sweep) -> Array:
    """Return the shares of time for which owners are online."""
    said = scenario(result(sweep, ANEW)).availability
    return np.array(said.probability, dtype=float)  # type: ignore[union-attr]


def drawn_anew(sweep: Sweep) -> LongRun:
    """Return the moments where each tick finds its owner online by a chance of its own."""
    there = online(sweep)
    part = there / there.sum()
    step = pace(scenario(result(sweep, ANEW)))
    return long_run(copies(objective(sweep), step, len(part) * part), part)


def in_cycles(sweep: Sweep, length: float) -> LongRun:
    """Return the moments where owner 1 comes and goes in cycles of this mean length."""
    there = online(sweep)
    part = there / there.sum()
    moves = copies(objective(sweep), pace(scenario(result(sweep, ANEW))), len(part) * part)
    goes, comes = 1 / (there[0] * length), 1 / ((1 - there[0]) * length)
    everyone = np.ones(len(there))
    rates = np.stack([everyone, everyone - np.eye(len(there))[0]])
    return while_it_lasts(moves, rates, np.array([[-goes, goes], [comes, -comes]]))


def without(sweep: Sweep) -> LongRun:
    """Return the moments where owner 1 hardly ever ticks, and steps are as long as it is."""
    said = scenario(result(sweep, WITHOUT))
    rates = np.array(said.clock.rate, dtype=float)  # type: ignore[union-attr]
    moves = copies(objective(sweep), pace(said), np.ones(len(rates)))
    return long_run(moves, rates / rates.sum())


def exactly(sweep: Sweep, name: str) -> LongRun:
    """Return the moments of a variant in the long run."""
    known: dict[str, Callable[[], LongRun]] = {
        ANEW: lambda: drawn_anew(sweep),
        WITHOUT: lambda: without(sweep),
    }
    known |= {cycles_of(each): lambda each=each: in_cycles(sweep, each) for each in CYCLES}  # type: ignore[misc]
    return known[name]()


def psi(name: str) -> Measure:
    """Return what measures mean ψ of a variant, late in its run."""
    return lambda sweep: float(late_psi(result(sweep, name)).mean())


def exact_psi(sweep: Sweep, name: str) -> float:
    """Return E ψ of a variant in the long run."""
    return exactly(sweep, name).psi(objective(sweep))


def around(name: str) -> Callable[[Sweep], Range]:
    """Return a window of standard errors around E ψ."""

    def window(sweep: Sweep) -> Range:
        about = SURE * uncertain(late_psi(result(sweep, name)))
        return exact_psi(sweep, name) - about, exact_psi(sweep, name) + about

    return window


def off_mean(name: str) -> Measure:
    """Return what measures how many standard errors the mean model is off its exact value."""

    def measured(sweep: Sweep) -> float:
        values = ends(result(sweep, name))[:, 0]
        return float((values.mean() - exactly(sweep, name).mean[0]) / uncertain(values))

    return measured


def least_growth(sweep: Sweep) -> float:
    """Return ψ over that where absence lasts less, the least of all steps."""
    found = [psi(name)(sweep) for name in NAMES[:-1]]
    return float(np.min(np.array(found[1:]) / np.array(found[:-1])))


def bias(name: str) -> Measure:
    """Return what measures how far the mean model is off θ*."""
    return lambda sweep: float(
        abs(ends(result(sweep, name)).mean() - float(objective(sweep).optimum[0]))
    )


def more_biased(sweep: Sweep) -> float:
    """Return the bias without owner 1 over that where presence is drawn anew."""
    return bias(WITHOUT)(sweep) / bias(ANEW)(sweep)


def crossing(sweep: Sweep) -> float:
    """Return the length of cycles from which on E ψ is above that without owner 1; in units."""
    limit = exact_psi(sweep, WITHOUT)
    low, high = CYCLES[0], CYCLES[-1]
    if in_cycles(sweep, high).psi(objective(sweep)) < limit:
        return float("inf")
    while high / low > 1.001:
        middle = float(np.sqrt(low * high))
        above = in_cycles(sweep, middle).psi(objective(sweep)) > limit
        low, high = (low, middle) if above else (middle, high)
    return high


def over_without(length: float) -> Measure:
    """Return what measures ψ in cycles of a length over that without owner 1."""
    return lambda sweep: psi(cycles_of(length))(sweep) / psi(WITHOUT)(sweep)


CLAIMS: tuple[Claim, ...] = (
    Claim("ψ over that where absence lasts less, the least of four steps: adversely affects",
          least_growth, 1),
    Claim("bias where owner 1 is left out, over that of steps divided by shares: at the cost",
          more_biased, 1),
    Claim("ψ in cycles of 400 over that without owner 1: can alleviate", over_without(400.0), 1),
    Claim("ψ in cycles of 100 over that without owner 1: too short for it", over_without(100.0),
          high=1),
    Claim("cycles from which on going without owner 1 is better, in units, exactly", crossing,
          100, 400),
    *(
        Claim(f"{name}: mean ψ, beside its exact value", psi(name), window=around(name))
        for name in NAMES
    ),
    *(
        Claim(f"{name}: mean model less its exact value, in standard errors", off_mean(name),
              -SURE, SURE, 0.0)
        for name in NAMES
    ),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ over the length of cycles, predicted and measured."""
    lengths = np.geomspace(CYCLES[0] / 2, 2 * CYCLES[-1], 40)
    curve = np.array([in_cycles(sweep, each).psi(objective(sweep)) for each in lengths])
    late = {name: late_psi(result(sweep, name)) for name in NAMES}
    measured = {name: (float(each.mean()), 2 * uncertain(each)) for name, each in late.items()}
    dots = [(each, *measured[cycles_of(each)]) for each in CYCLES]
    flat = [Ending(name, *measured[name], exact_psi(sweep, name)) for name in (WITHOUT, ANEW)]
    results = [result(sweep, str(cell.values[VARIANT])) for cell in sweep.cells]
    return [long_absence(lengths, curve, dots, flat, results)]


PRINTED = (
    Printed(
        "Our analysis highlights how correlation adversely affects the algorithm’s convergence "
        "rate and how the aggregation strategy can alleviate this effect at the cost of steering "
        "training toward a biased model.",
        "Rodio, Faticanti, Marfoq, Neglia and Leonardi 2023, arXiv 2301.04632, abstract",
    ),
)
RESULTS: tuple[PaperFigure, ...] = (
    PaperFigure("ca-fed", "CA-Fed, abstract", "absence-that-lasts", CLAIMS, pictures,
                {AS_PUBLISHED: ()}, printed=PRINTED),
)  # fmt: skip
