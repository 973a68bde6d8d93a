"""Whom to ask and how many at a time: what two papers on asynchronous learning state.

Their experiments are of images, with noise of nobody's; ours are of a quadratic loss, with answers
that are private, every owner's ε being the same whatever is chosen. What can be held is the
mechanism, and how large the gain is here. ``as-published`` has owners of two speeds, one twenty
times the other; ``alike`` takes the cause away: one speed, with the same mean.

The best choice is the one that is expected to be best, by networks in which no run has a part: what
is the best of many runs was also lucky there. What it saves is held beside what it is expected to.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.studies.whom_to_ask import FIGURE as WHOM_TO_ASK
from analysis.studies.whom_to_ask import TARGET, TASKS, end, time_to
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.formulas.exchanges import closed_network
from asyncdp_sim.theory.predict.protocols import facts_of
from scenarios.beyond.prices import BOARD, EVEN, TIME, WORK
from scenarios.papers.claims import Range, cell_of
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import SURE, scenario
from scenarios.papers.resampled import standard_error

EVEN_CHANCES, ALL, ONE = "all alike", 10, 1
"""As asynchronous learning is, with as many tasks as owners; and one task at a time."""
PRICES = {"time": TIME, "board": BOARD, "work": WORK, "even": EVEN}


def chosen(sweep: Sweep, name: str, tasks: int) -> Cell:
    """Return the cell of a choice."""
    return cell_of(sweep, {VARIANT: name, TASKS: tasks})


def usual(sweep: Sweep) -> Cell:
    """Return the cell that asks all alike, with as many tasks as owners."""
    return chosen(sweep, EVEN_CHANCES, ALL)


def gain(sweep: Sweep, price: str, by: str = "") -> float:
    """Return the share of a price that the best choice saves.

    That which is expected to be the cheapest, or the cheapest by another price.
    """
    paid, best = PRICES[price].paid, PRICES[by or price].best(sweep)
    return 1 - paid(best) / paid(usual(sweep))


def around(sweep: Sweep, price: str, by: str = "") -> Range:
    """Return a window of standard errors, of both, around the share that is expected."""
    value, error = PRICES[price].saved(PRICES[by or price].best(sweep), usual(sweep))
    measured = standard_error(lambda drawn: gain(drawn, price, by), [sweep]) or 0.0
    about = SURE * float(np.hypot(error, measured))
    return value - about, value + about


def gain_of_routing(sweep: Sweep, price: str) -> float:
    """Return the share that p alone saves, over the best m with all alike."""
    even = [cell for cell in sweep.cells if cell.values[VARIANT] == EVEN_CHANCES]
    paid = PRICES[price].paid
    return 1 - min(map(paid, sweep.cells)) / min(map(paid, even))


def per_update(sweep: Sweep) -> float:
    """Return ψ after as many updates, with two tasks an owner over that with one task in all."""
    many, one = (end(chosen(sweep, EVEN_CHANCES, tasks).result) for tasks in (2 * ALL, ONE))
    return many / one


def slowed(sweep: Sweep) -> float:
    """Return the time to the target with one task at a time, over that with as many as owners."""
    one, every = (time_to(chosen(sweep, EVEN_CHANCES, tasks).result) for tasks in (ONE, ALL))
    return one / every


def off_delays(sweep: Sweep) -> float:
    """Return by how much owners' mean staleness is off the closed network's, at most, relatively.

    In the cell where all are asked alike with as many tasks as owners; the first half is left out.
    """
    cell = chosen(sweep, EVEN_CHANCES, ALL)
    means = [law.mean for law in facts_of(scenario(cell.result).network).laws("compute")]
    count, speeds = len(means), np.array(means)
    exact = np.array(closed_network(ALL, (1 / count,) * count, means, (0.0,) * count)[1])
    k, owner, late = cell.result.columns("updates", "k", "owner", "staleness")
    settled = k > k.max() / 2
    found = [late[settled & (speeds[owner - 1] == one)].mean() for one in np.unique(speeds)]
    wanted = [exact[speeds == one].mean() for one in np.unique(speeds)]
    return float(np.max(np.abs(np.array(found) / np.array(wanted) - 1)))


def never(sweep: Sweep, name: str, tasks: int) -> float:
    """Return mean ψ at the end of a choice, over the target."""
    return end(chosen(sweep, name, tasks).result) / TARGET


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the time to ψ over m."""
    return [WHOM_TO_ASK.picture(sweep)]


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
