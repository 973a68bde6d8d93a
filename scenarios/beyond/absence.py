"""The objective that absence makes: FedAWE's equation (3), and its repair.

Owners are online with chances p_i, drawn anew each time. Equation (3) says that F_i then counts
p_i/Σ p_j. Learning ends where it says if answers are taken one at a time. If a round's answers are
averaged over those present, F_i counts E[1{i ∈ A}/|A|], which is another number: an owner that is
seldom there is seldom there alone. With steps divided by shares it ends at θ*.

All means and second moments are known exactly (:mod:`scenarios.beyond.moves`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from analysis.beyond.where_it_ends import End, where_it_ends
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Sweep
from scenarios.beyond.moves import (
    Array,
    LongRun,
    copies,
    long_run,
    minimiser,
    one_model,
    rounds,
    shares,
)
from scenarios.beyond.problem import ends, late_psi, objective, scenario, uncertain
from scenarios.papers.claims import Claim, Measure, Printed, Range, Reason, result
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure

PRESENT, SINGLE = "over those present", "one at a time"
COPIES, DIVIDED = "copies", "copies, divided by shares"
NAMES = (PRESENT, SINGLE, COPIES, DIVIDED)
SURE = 4.0
"""Standard errors within which a mean must be."""


def online(sweep: Sweep) -> Array:
    """Return p_i."""
    said = scenario(sweep.cells[0].result).availability
    return np.array(said.probability, dtype=float)  # type: ignore[union-attr]


def exactly(sweep: Sweep, name: str) -> LongRun:
    """Return the moments of a variant in the long run."""
    f, chances = objective(sweep), online(sweep)
    part, said = chances / chances.sum(), scenario(result(sweep, name))
    algorithm = said.algorithm
    if name == PRESENT:
        return long_run(*rounds(f, algorithm.step, chances.tolist()))  # type: ignore[union-attr, arg-type]
    if name == SINGLE:
        return long_run(one_model(f, algorithm.step), part)  # type: ignore[union-attr, arg-type]
    pace = algorithm.rho / said.run.updates**2  # type: ignore[union-attr, operator]
    divided = name == DIVIDED
    by = len(part) * part if divided else np.ones(len(part))
    return long_run(copies(f, pace, by), part)


def printed(sweep: Sweep) -> float:
    """Return where learning ends by equation (3)."""
    chances = online(sweep)
    return float(minimiser(objective(sweep), chances / chances.sum())[0])


def wanted(sweep: Sweep) -> float:
    """Return θ*."""
    f = objective(sweep)
    return float(minimiser(f, shares(f))[0])


def over_printed(sweep: Sweep, model: float) -> float:
    """Return how far a model is off θ*, over how far it is by equation (3)."""
    return (model - wanted(sweep)) / (printed(sweep) - wanted(sweep))


def bias(name: str) -> Measure:
    """Return what measures a variant's bias over that of equation (3)."""
    return lambda sweep: over_printed(sweep, float(ends(result(sweep, name)).mean()))


def doubt(sweep: Sweep, name: str) -> float:
    """Return so many standard errors of a variant's bias as it must be within."""
    away = printed(sweep) - wanted(sweep)
    return SURE * uncertain(ends(result(sweep, name))[:, 0]) / abs(away)


def about(name: str, value: float) -> Callable[[Sweep], Range]:
    """Return a window around a value."""
    return lambda sweep: (value - doubt(sweep, name), value + doubt(sweep, name))


def about_exact(name: str) -> Callable[[Sweep], Range]:
    """Return a window around the exact mean."""

    def window(sweep: Sweep) -> Range:
        value = over_printed(sweep, float(exactly(sweep, name).mean[0]))
        return value - doubt(sweep, name), value + doubt(sweep, name)

    return window


def off(name: str, of: Callable[[Sweep, str], tuple[Array, float]]) -> Measure:
    """Return what measures how many standard errors a mean is off its exact value."""

    def measured(sweep: Sweep) -> float:
        values, exact = of(sweep, name)
        return (float(values.mean()) - exact) / uncertain(values)

    return measured


def models(sweep: Sweep, name: str) -> tuple[Array, float]:
    """Return models at the end, and their exact mean."""
    return ends(result(sweep, name))[:, 0], float(exactly(sweep, name).mean[0])


def fitness(sweep: Sweep, name: str) -> tuple[Array, float]:
    """Return late ψ, and its exact mean."""
    return late_psi(result(sweep, name)), exactly(sweep, name).psi(objective(sweep))


def gain(sweep: Sweep) -> float:
    """Return late ψ of copies over that where steps are divided by shares."""
    return float(late_psi(result(sweep, COPIES)).mean() / late_psi(result(sweep, DIVIDED)).mean())


COUNTED = Reason(
    "the mean over those present weighs an owner by E[1{i ∈ A}/|A|], and not by p_i/Σ p_j: who is "
    "seldom there is seldom alone there; answers that are taken one at a time have no |A|, and end "
    "where (3) says",
    about_exact(PRESENT),
    "calculated: the bias with those weights, over all sets A, and four standard errors",
)
BIAS = "bias over that of equation (3)"
CLAIMS: tuple[Claim, ...] = (
    Claim(f"{PRESENT}: {BIAS}", bias(PRESENT), published=1.0, reason=COUNTED,
          window=about(PRESENT, 1.0)),
    Claim(f"{SINGLE}: {BIAS}", bias(SINGLE), published=1.0, window=about(SINGLE, 1.0)),
    Claim(f"{COPIES}: {BIAS}", bias(COPIES), published=1.0, window=about_exact(COPIES)),
    Claim(f"{DIVIDED}: {BIAS}", bias(DIVIDED), published=0.0, window=about_exact(DIVIDED)),
    Claim("ψ of copies over that where steps are divided by shares", gain, 1),
    *(
        Claim(f"{name}: {what} less its exact value, in standard errors", off(name, of),
              -SURE, SURE, 0.0)
        for name in NAMES
        for what, of in (("mean model", models), ("mean ψ", fitness))
    ),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw where each variant ends, between the owners' own optima."""
    f = objective(sweep)
    own = [float(minimiser(f, each)[0]) for each in np.eye(len(f.records))]
    found = [
        End(name, float(values.mean()), 2 * uncertain(values), exact)
        for name in NAMES
        for values, exact in (models(sweep, name),)
    ]
    marks = {"θ*": wanted(sweep), "equation (3)": printed(sweep)}
    results = [result(sweep, name) for name in NAMES]
    return [where_it_ends(found, marks, list(zip(own, online(sweep), strict=True)), results)]


PRINTED = (
    Printed(
        "Example 1 matches [54, Theorem 1], which shows that FedAvg leads to a biased global "
        "objective (3) under heterogeneous pi’s, and that (3) may be significantly away from (1) "
        "depending on pi’s.",
        "Xiang, Ioannidis, Yeh, Joe-Wong and Su 2024, arXiv 2409.17446, section 4; (3) is "
        "Σ (p_i/Σ p_j) F_i",
    ),
)
RESULTS: tuple[PaperFigure, ...] = (
    PaperFigure("fedawe-bias", "FedAWE, equation (3)", "bias-of-absence", CLAIMS, pictures,
                {AS_PUBLISHED: ()}, printed=PRINTED),
)  # fmt: skip
