"""Studies of single entries: pictures that answer the entry's own question, beyond the common ones.

Each takes the directory of a finished sweep, adds to its figures, and returns where. What it draws
with is imported by it alone: most entries have none, and all together take a tenth of a second.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from asyncdp_sim.errors import ResultError

if TYPE_CHECKING:
    from asyncdp_sim.figures.kit.picture import Picture
    from asyncdp_sim.results import Sweep


def three_budgets(directory: Path) -> list[Path]:
    """Draw the README's picture: ψ against time for three budgets."""
    from analysis.three_budgets import psi_against_time

    return _added(directory, psi_against_time, "three-budgets")


def whom_to_learn_with(directory: Path) -> list[Path]:
    """Draw ψ over owner 1's records and budget, beside four kinds of others."""
    from analysis.papers.four_cases import four_cases

    return _added(directory, four_cases, "four-cases")


def secure_aggregation(directory: Path) -> list[Path]:
    """Draw the noise part of ψ over the number of owners, with sums and without."""
    from analysis.privacy.sums import value_of_sums

    return _added(directory, value_of_sums, "sums")


def sampled_answers(directory: Path) -> list[Path]:
    """Draw what sampling does to noise, and to the computing that a ψ takes."""
    from analysis.privacy.subsampling import subsampling

    return _added(directory, subsampling, "subsampling")


def steps_of_their_own(directory: Path) -> list[Path]:
    """Draw the exchanges and the time that local steps save, and the ψ that they cost."""
    from analysis.local_steps import local_steps

    return _added(directory, local_steps, "local-steps")


def joules_and_time(directory: Path) -> list[Path]:
    """Draw what ψ costs in joules and in time, protocol by protocol."""
    from analysis.energy_frontier import energy_frontier

    return _added(directory, energy_frontier, "energy-frontier")


def tasks_and_chances(directory: Path) -> list[Path]:
    """Draw the time to a ψ over how many tasks are under way, by whom the learner asks."""
    from analysis.whom_to_ask import whom_to_ask

    return _added(directory, whom_to_ask, "whom-to-ask")


def contention(directory: Path) -> list[Path]:
    """Draw by how much Bianchi's fixed point is off, over the number of owners."""
    from analysis.fixed_point import bianchi

    return _added(directory, bianchi, "fixed-point")


def market_and_game(directory: Path) -> list[Path]:
    """Draw the market, and the game beside it."""
    from scenarios.data_market import study as drawn

    return drawn(directory)


def what_others_learn(directory: Path) -> list[Path]:
    """Draw what those who collude with the learner learn of an owner."""
    from scenarios.collusion import study as drawn

    return drawn(directory)


def by_distance(directory: Path) -> list[Path]:
    """Draw what owners learn of others, by distance."""
    from scenarios.over_distance import study as drawn

    return drawn(directory)


def steps_by_age(directory: Path) -> list[Path]:
    """Draw what smaller steps for older answers change."""
    from scenarios.stale_steps import study as drawn

    return drawn(directory)


def _added(directory: Path, picture: "Callable[[Sweep], Picture]", study: str) -> list[Path]:
    """Add a picture of a whole sweep to its figures."""
    from asyncdp_sim.figures.draw import add
    from asyncdp_sim.results import Sweep

    sweep = Sweep.read(directory)
    return add(directory, [(picture(sweep), [cell.result for cell in sweep.cells])], study)


STUDIES: Mapping[str, Callable[[Path], list[Path]]] = {
    "collab-06": whom_to_learn_with,
    "collab-11": whom_to_learn_with,
    "data-market": market_and_game,
    "joules-against-accuracy": joules_and_time,
    "lending-three-budgets": three_budgets,
    "owner-learner-collude": what_others_learn,
    "privacy-over-distance": by_distance,
    "steps-against-staleness": steps_by_age,
    "value-of-aggregation": secure_aggregation,
    "value-of-local-steps": steps_of_their_own,
    "value-of-subsampling": sampled_answers,
    "whom-to-ask": tasks_and_chances,
    "wifi-contention": contention,
}
"""By the entry's name."""


def study(name: str, directory: Path) -> tuple[list[Path], list[str]]:
    """Draw what an entry asks besides; return where, and notes on what its sweep does not allow."""
    if name not in STUDIES:
        return [], []
    try:
        return STUDIES[name](directory), []
    except ResultError as error:
        return [], [f"the study of {name}: {line}" for line in error.lines()]
