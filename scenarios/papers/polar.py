"""POLAR's figure 3: obfuscated gradients in three windows Δ, and a server that sees all.

The code is not published, and of the settings the paper leaves out the steps and Y, the length of
the additive vectors. ``as-published`` takes Y = 0.5; ``wide`` Y = 1.5, with which suboptimality
first increases, as the paper says that it may; ``as-written`` could name nothing else. Nothing is
private in these: obfuscated gradients have no finite ε. ``sound`` asks the same of an algorithm
that has one: the non-private server of the figure with the same clients, data, steps and number of
iterations, where record gradients are clipped in L1 and every answer, one of as many as there are
iterations, has vector Laplace noise.

"The general trend of the non-private algorithm" is read as its shape, and not as its number of
iterations: the same paragraph has the non-private algorithm "much faster".
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.runs.convergence import CurveLine, by_update, quartiles
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import OURS, SENTENCES, Claim, Range, Reason
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, SOUND, PaperFigure, Settings
from scenarios.papers.noise import scale_claims

Array = npt.NDArray[np.float64]
WIDE = "wide"
OPEN, WINDOWS = "non-private", ("Δ = 10", "Δ = 20", "Δ = 50")
BUDGETS, BOUND = (0.1, 1.0, 10.0), 10.0
"""Of the private server: its ε, and the bound to which record gradients are clipped."""


def hidden(epsilon: float) -> str:
    """Return what the server is called that learns from answers with noise."""
    return f"ε = {epsilon:g}"


CELLS = (
    f'{{ name = "{OPEN}", "algorithm.batch" = 10, "privacy.mechanism" = "none" }}',
    *(f'{{ name = "{hidden(each)}", "privacy.epsilon" = {each} }}' for each in BUDGETS),
)
PRIVATE: Settings = (
    'protocol={ kind = "rounds" }',
    'algorithm={ kind = "parameter-server", step = 0.5, exponent = 0.55 }',
    'privacy={ epsilon = 1.0, mechanism = "laplace", noise = "vector", '
    f'sensitivity = {{ kind = "clip", bound = {BOUND} }}, budget = {{ kind = "horizon" }} }}',
    f"sweep.variant=[{', '.join(CELLS)}]",
)
VARIANTS: dict[str, Settings] = {
    AS_PUBLISHED: (),
    AS_WRITTEN: (),
    SOUND: PRIVATE,
    WIDE: ("algorithm.additive_bound=1.5",),
}
SAME = (
    "there is no code to differ from, and the text names neither steps nor Y; what differs from it "
    "is the modulus of the secure consensus alone: the printed 2|X| wraps, and gives a wrong mean "
    "at S = 5 nearly always (PAPERS.md), so that no figure can have come of it"
)
FALLEN = 0.01
"""Of the suboptimality at the start, as soon as which an iterate counts as converged."""


def median(sweep: Sweep, name: str) -> tuple[Array, Array]:
    """Return iterations and the median suboptimality there, over that at the start."""
    [cell] = [cell for cell in sweep.cells if cell.values[VARIANT] == name]
    k, (_, middle, _) = quartiles(cell.result, "k")
    return k, middle / middle[0]


def arrival(sweep: Sweep, name: str) -> float:
    """Return the first recorded iteration at a hundredth of the start; infinite if there is none.

    The end of the run is not waited for: the median must stay below from there on.
    """
    k, values = median(sweep, name)
    above = np.flatnonzero(values > FALLEN)
    last = int(above[-1]) + 1 if len(above) > 0 else 0
    return float(k[last]) if last < len(k) else float("inf")


def after(name: str, other: str) -> Callable[[Sweep], float]:
    """Return what measures how many times as many iterations one takes as another."""
    return lambda sweep: arrival(sweep, name) / arrival(sweep, other)


def left(name: str) -> Callable[[Sweep], float]:
    """Return what measures the suboptimality at the end over that at the start."""
    return lambda sweep: float(median(sweep, name)[1][-1])


def peak(name: str) -> Callable[[Sweep], float]:
    """Return what measures the largest suboptimality over that at the start."""
    return lambda sweep: float(median(sweep, name)[1].max())


def kept(sweep: Sweep) -> float:
    """Return the share of cells with noise that are private as claimed."""
    noisy = [cell for cell in sweep.cells if cell.values[VARIANT] != OPEN]
    return float(np.mean([cell.result.summary["private"] is True for cell in noisy]))


def farthest(sweep: Sweep) -> float:
    """Return the largest suboptimality over that at the start, of the smaller windows."""
    return max(peak(name)(sweep) for name in WINDOWS[:2])


TEXT = (AS_PUBLISHED, AS_WRITTEN)


def drowning(epsilon: float) -> Reason:
    """Return why models do not come down to a hundredth of the start at a small budget."""

    def range_of(sweep: Sweep) -> Range:
        largest = max(BUDGETS)
        return FALLEN, left(hidden(largest))(sweep) * (largest / epsilon) ** 4

    return Reason(
        "models end where noise for as many answers as there are iterations leaves them; at this ε "
        "that may be more than a hundredth of the start",
        range_of,
        "calculated: from ε = 10 noise by the square of 1/ε, or by its fourth power where clipped "
        "gradients pull models back no harder the farther they are",
    )


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(f"{name}: suboptimality at the end over the start's: converges", left(name),
              high=FALLEN, variants=TEXT, judges=SENTENCES["CONVERGE"])
        for name in (OPEN, *WINDOWS)
    ),
    Claim("iterations of Δ = 10 over non-private: much slower", after(WINDOWS[0], OPEN), 2,
          variants=TEXT, judges=SENTENCES["MUCH_FASTER"]),
    Claim("iterations of Δ = 20 over Δ = 10: slower", after(WINDOWS[1], WINDOWS[0]), 1.2,
          variants=TEXT, judges=SENTENCES["LONGER"]),
    Claim("iterations of Δ = 50 over Δ = 20: slower", after(WINDOWS[2], WINDOWS[1]), 1.2,
          variants=TEXT, judges=SENTENCES["LONGER"]),
    Claim("Δ = 10 and 20: largest suboptimality over the start's, 1 if it falls from the start "
          "on, as without privacy: follows the general trend",
          farthest, high=1, variants=TEXT, judges=SENTENCES["TREND"]),
    Claim("Δ = 50, Y = 1.5: largest suboptimality over the start's: may increase",
          peak(WINDOWS[2]), 1.01, variants=(WIDE,), judges=SENTENCES["MAY_INCREASE"]),
    Claim("share of the cells with noise that are private as claimed", kept, 1, 1, 1.0,
          variants=(SOUND,), judges=OURS),
    *(
        Claim(f"{name}: suboptimality at the end over the start's: converges", left(name),
              high=FALLEN, reason=why, variants=(SOUND,), judges=SENTENCES["CONVERGE"])
        for name, why in ((OPEN, None), (hidden(10), None),
                          (hidden(1), drowning(1)), (hidden(0.1), drowning(0.1)))
    ),
    *scale_claims({SOUND: BOUND}, OURS),
    Claim("iterations of ε = 10 over non-private", after(hidden(10), OPEN), 1, variants=(SOUND,)),
    Claim("suboptimality at the end of ε = 1 over ε = 10: noise, by the square of ε",
          lambda sweep: left(hidden(1))(sweep) / left(hidden(10))(sweep), 50, 150, 100.0,
          variants=(SOUND,)),
    Claim("suboptimality at the end of ε = 10 over non-private: what privacy costs",
          lambda sweep: left(hidden(10))(sweep) / left(OPEN)(sweep), 1, variants=(SOUND,)),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the figure: ψ, which is the suboptimality f − f* over f*, against iterations."""
    return [by_update([CurveLine(cell.result, cell.label([VARIANT])) for cell in sweep.cells])]


FIGURES: tuple[PaperFigure, ...] = (
    PaperFigure("polar-03", "POLAR, figure 3", "polar-convergence", CLAIMS, pictures, VARIANTS,
                ("run.updates=200", "run.replicates=1"), alike=SAME,
                printed=(SENTENCES["FIGURE_POLAR"],)),
)  # fmt: skip
