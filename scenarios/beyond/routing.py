"""Whom to ask and how many at a time: what two papers on asynchronous learning state.

Their experiments are of images, with noise of nobody's; ours are of a quadratic loss, with answers
that are private, every owner's ε being the same whatever is chosen. What can be held is the
mechanism, and how large the gain is here. ``as-published`` has owners of two speeds, one twenty
times the other; ``alike`` takes the cause away: one speed, with the same mean.

The best choice is the one that is expected to be best, by networks in which no run has a part: what
is the best of many runs was also lucky there. What it saves is held beside what it is expected to.
"""

from collections.abc import Callable, Sequence

import numpy as np

from analysis.whom_to_ask import TARGET, TASKS, end, time_to, whom_to_ask
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario import load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.formulas.closed_network import closed_network
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond.prices import BOARD, EVEN, TIME, WORK, Price
from scenarios.papers.claims import Claim, Measure, Printed, Range, Reason
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure
from scenarios.papers.resampled import standard_error

EVEN_CHANCES, ALL, ONE = "all alike", 10, 1
"""As asynchronous learning is, with as many tasks as owners; and one task at a time."""
BY_SPEED = "by speed: 20 times as often"
ALIKE = "alike"
BOTH = (AS_PUBLISHED, ALIKE)
SURE = 4.0
"""Standard errors within which what is measured must be of what is expected."""


def cell_of(sweep: Sweep, name: str, tasks: int) -> Cell:
    """Return the cell of a choice."""
    [found] = [
        each for each in sweep.cells if each.values[VARIANT] == name and each.values[TASKS] == tasks
    ]
    return found


def usual(sweep: Sweep) -> Cell:
    """Return the cell that asks all alike, with as many tasks as owners."""
    return cell_of(sweep, EVEN_CHANCES, ALL)


def gain(price: Price, by: Price | None = None) -> Measure:
    """Return what measures the share of a price that the best choice saves.

    That which is expected to be the cheapest, or the cheapest by another price.
    """
    chosen = price if by is None else by
    return lambda sweep: 1 - price.paid(chosen.best(sweep)) / price.paid(usual(sweep))


def around(price: Price, by: Price | None = None) -> Callable[[Sweep], Range]:
    """Return a window of standard errors, of both, around the share that is expected."""
    chosen = price if by is None else by

    def window(sweep: Sweep) -> Range:
        value, error = price.saved(chosen.best(sweep), usual(sweep))
        measured = standard_error(gain(price, by), [sweep]) or 0.0
        about = SURE * float(np.hypot(error, measured))
        return value - about, value + about

    return window


def gain_of_routing(price: Price) -> Measure:
    """Return what measures the share that p alone saves, over the best m with all alike."""

    def measured(sweep: Sweep) -> float:
        even = [cell for cell in sweep.cells if cell.values[VARIANT] == EVEN_CHANCES]
        return 1 - min(map(price.paid, sweep.cells)) / min(map(price.paid, even))

    return measured


def per_update(sweep: Sweep) -> float:
    """Return ψ after as many updates, with two tasks an owner over that with one task in all."""
    many, one = (end(cell_of(sweep, EVEN_CHANCES, tasks).result) for tasks in (2 * ALL, ONE))
    return many / one


def slowed(sweep: Sweep) -> float:
    """Return the time to the target with one task at a time, over that with as many as owners."""
    one, every = (time_to(cell_of(sweep, EVEN_CHANCES, tasks).result) for tasks in (ONE, ALL))
    return one / every


def off_delays(sweep: Sweep) -> float:
    """Return by how much owners' mean staleness is off the closed network's, at most, relatively.

    In the cell where all are asked alike with as many tasks as owners; the first half is left out.
    """
    cell = cell_of(sweep, EVEN_CHANCES, ALL)
    scenario = load(cell.result.directory / "scenario.toml")[0]
    means = [law.mean for law in facts_of(scenario.network).laws("compute")]
    count = len(means)
    exact = np.array(closed_network(ALL, (1 / count,) * count, means, (0.0,) * count).staleness)
    k, owner, late = cell.result.columns("updates", "k", "owner", "staleness")
    settled = k > k.max() / 2
    slow = np.array(means)[owner - 1] == max(means)
    found = [late[settled & which].mean() for which in (slow, ~slow) if np.any(settled & which)]
    wanted = [exact[np.array(means) == max(means)].mean()]
    if len(found) > 1:
        wanted.append(exact[np.array(means) < max(means)].mean())
    return float(np.max(np.abs(np.array(found) / np.array(wanted) - 1)))


def never(name: str, tasks: int) -> Callable[[Sweep], float]:
    """Return what measures mean ψ at the end of a choice, over the target."""
    return lambda sweep: end(cell_of(sweep, name, tasks).result) / TARGET


EXPECTED = "calculated: forecasts of 200 networks of their own, exact given who answers when"
MIX = Reason(
    "how much is saved is of the owners' speeds and data; of owners of one speed nothing is",
    around(TIME), EXPECTED,
)  # fmt: skip
WATTS = Reason(
    "how many joules are saved is of the owners' watts, which what was read does not state",
    around(BOARD), EXPECTED,
)  # fmt: skip
SAVED = "share of the {} to ψ = 0.02 saved by the best m and p, over all alike and m = N"
DEAR = "share of the joules that the quickest choice saves, if all answers cost as many: a loss"
BY_P = "share of the {} saved by p alone, over the best m with all alike"
CLAIMS: tuple[Claim, ...] = (
    Claim(SAVED.format("time"), gain(TIME), 0.29, 0.46, 0.375, MIX),
    Claim("that share of the time, beside its forecast", gain(TIME), window=around(TIME)),
    Claim(BY_P.format("time"), gain_of_routing(TIME), 0.05),
    Claim(BY_P.format("time"), gain_of_routing(TIME), high=0.05, published=0.0, variants=(ALIKE,)),
    Claim(SAVED.format("joules of boards"), gain(BOARD), 0.36, 0.49, 0.425, WATTS),
    Claim("that share of the joules, beside its forecast", gain(BOARD), window=around(BOARD)),
    Claim("that share, without watts while idle, beside its forecast", gain(WORK),
          window=around(WORK)),
    Claim(DEAR, gain(EVEN, TIME), high=0.0),
    Claim("that loss, beside its forecast", gain(EVEN, TIME), window=around(EVEN, TIME)),
    Claim(BY_P.format("joules of boards"), gain_of_routing(BOARD), 0.05),
    Claim(BY_P.format("joules of boards"), gain_of_routing(BOARD), high=0.05, published=0.0,
          variants=(ALIKE,)),
    Claim("ψ after as many updates, m = 2N over one task at a time: staleness", per_update, 2),
    Claim("time to ψ = 0.02, one task at a time over m = N: drastically slower", slowed, 2,
          variants=BOTH),
    Claim("staleness of fast and slow owners against the closed network: relatively off",
          off_delays, high=0.15, published=0.0),
    Claim("ψ at the end over 0.02, asked by speed with m = N: throughput alone",
          never(BY_SPEED, ALL), 1),
)  # fmt: skip


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the time to ψ over m."""
    return [whom_to_ask(sweep)]


PRINTED = (
    Printed(
        "Second, we observe that naively optimizing this metric drastically slows down the system "
        "by overemphasizing staleness at the expense of throughput.",
        "Alahyane, Comte, Jonckheere and Moulines 2025, arXiv 2502.08206v4, abstract; the metric "
        "is the average loss per model update",
    ),
    Printed(
        "First, we prove a discrete variant of Little’s law to derive a closed-form expression for "
        "relative delay, a metric that quantifies staleness.",
        "the same",
    ),
    Printed(
        "Experiments on EMNIST demonstrate reductions of 29%--46% in convergence time and 36%--49% "
        "in energy consumption compared to AsyncSGD.",
        "Alahyane, Comte and Jonckheere 2026, arXiv 2603.26231, abstract",
    ),
)
RESULTS: tuple[PaperFigure, ...] = (
    PaperFigure(
        "routing", "Routing and concurrency", "whom-to-ask", CLAIMS, pictures,
        {AS_PUBLISHED: (), ALIKE: ('compute={ kind = "exponential", mean = 1.05 }',)},
        printed=PRINTED,
    ),
)  # fmt: skip
