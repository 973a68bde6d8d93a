"""Waves of absence: FedAWE's second example, with and without the presence that waves cost.

Owners are there with chance p [(1 − γ) + γ sin 2πt/20], all alike. A larger γ makes chances swing
more, and lower in the mean: p (1 − γ). So each γ is run twice: in waves, and with the same mean
chance throughout, in which nothing is left of the waves. All is known exactly
(:mod:`scenarios.beyond.crowds`).
"""

from collections.abc import Callable, Sequence
from math import log

import numpy as np

from analysis.beyond.with_and_without import Pair, with_and_without
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.beyond.crowds import in_rounds
from scenarios.beyond.problem import late_psi, objective, scenario, uncertain
from scenarios.papers.claims import Claim, Measure, Printed, Range, Reason, result
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure

DEGREES = (0.1, 0.3, 0.5)
SURE = 4.0
"""Standard errors within which a mean must be."""
LAPS = 200


def in_waves(degree: float) -> str:
    """Return the variant with waves of this γ."""
    return f"waves of {degree:g}"


def steady(degree: float) -> str:
    """Return the variant in which owners are there as often, without waves."""
    return f"as often as in {in_waves(degree)}"


NAMES = tuple(name for degree in DEGREES for name in (in_waves(degree), steady(degree)))


def chances(sweep: Sweep, name: str) -> list[float]:
    """Return the chances of presence in rounds of one period."""
    said = scenario(result(sweep, name)).availability
    if name in map(in_waves, DEGREES):
        return [said.at(float(t), 0.0) for t in range(1, round(said.period) + 1)]  # type: ignore[union-attr, arg-type]
    return [float(said.probability)]  # type: ignore[union-attr, arg-type]


def exact_psi(sweep: Sweep, name: str) -> float:
    """Return E ψ of a variant in the long run."""
    f, step = objective(sweep), scenario(result(sweep, name)).algorithm.step  # type: ignore[union-attr]
    return in_rounds(f, step, chances(sweep, name), LAPS).psi(f)  # type: ignore[arg-type]


def psi(name: str) -> Measure:
    """Return what measures mean ψ of a variant, late in its run."""
    return lambda sweep: float(late_psi(result(sweep, name)).mean())


def around(name: str) -> Callable[[Sweep], Range]:
    """Return a window of standard errors around E ψ."""

    def window(sweep: Sweep) -> Range:
        about = SURE * uncertain(late_psi(result(sweep, name)))
        return exact_psi(sweep, name) - about, exact_psi(sweep, name) + about

    return window


def growth(of: Callable[[float], str]) -> Measure:
    """Return what measures ψ at the largest γ over that at the least."""
    return lambda sweep: psi(of(DEGREES[-1]))(sweep) / psi(of(DEGREES[0]))(sweep)


def exact_growth(sweep: Sweep, of: Callable[[float], str]) -> float:
    """Return the same of E ψ."""
    return exact_psi(sweep, of(DEGREES[-1])) / exact_psi(sweep, of(DEGREES[0]))


def part_of_mean(sweep: Sweep) -> float:
    """Return the part of the growth, in logarithms, that is there without waves, exactly."""
    return log(exact_growth(sweep, steady)) / log(exact_growth(sweep, in_waves))


def waves_alone(sweep: Sweep) -> float:
    """Return ψ in the largest waves over that without waves at the same mean chance."""
    return psi(in_waves(DEGREES[-1]))(sweep) / psi(steady(DEGREES[-1]))(sweep)


def as_low(sweep: Sweep) -> Range:
    """Return up to a quarter more than the growth that the mean chance makes, exactly."""
    return 1.0, 1.25 * exact_growth(sweep, steady)


FEWER = Reason(
    "with γ the mean chance falls too, to p (1 − γ): from 0.45 to 0.25 here; fewer owners a round "
    "make a noisier mean, whether chances swing or not",
    as_low, "calculated: the growth at those chances, without waves, and a quarter more",
)  # fmt: skip
CLAIMS: tuple[Claim, ...] = (
    Claim("ψ in waves of 0.5 over waves of 0.1: a drop in accuracy", growth(in_waves), 1),
    Claim("the same without waves, as often there: none, if waves are the cause", growth(steady),
          high=1.1, published=1.0, reason=FEWER),
    Claim("part of the growth that is there without waves, exactly", part_of_mean, 0, 1),
    Claim("ψ in waves of 0.5 over that without waves, as often there", waves_alone, 1),
    *(
        Claim(f"{name}: mean ψ, beside its exact value", psi(name), window=around(name))
        for name in NAMES
    ),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw ψ over γ, in waves and without."""

    def pair(of: Callable[[float], str], name: str) -> Pair:
        late = [late_psi(result(sweep, of(degree))) for degree in DEGREES]
        exact = np.array([exact_psi(sweep, of(degree)) for degree in DEGREES])
        mean = np.array([each.mean() for each in late])
        return Pair(name, mean, np.array([2 * uncertain(each) for each in late]), exact)

    pairs = [pair(in_waves, "in waves"), pair(steady, "as often there, without waves")]
    results = [result(sweep, str(cell.values[VARIANT])) for cell in sweep.cells]
    return [with_and_without(np.array(DEGREES), pairs, results)]


PRINTED = (
    Printed(
        "Notice that, as the client availability becomes more non-stationary (a larger γ), FedAvg "
        "experiences a significant drop in accuracy.",
        "Xiang, Ioannidis, Yeh, Joe-Wong and Su 2024, arXiv 2409.17446, caption of figure 3",
    ),
)
RESULTS: tuple[PaperFigure, ...] = (
    PaperFigure("fedawe-waves", "FedAWE, figure 3", "absence-in-waves", CLAIMS, pictures,
                {AS_PUBLISHED: ()}, printed=PRINTED),
)  # fmt: skip
