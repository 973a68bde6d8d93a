"""``asyncdp check``: scenarios validated, and described in words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asyncdp_sim.cli.options import AllowCode, Settings, load_scenario
from asyncdp_sim.cli.screen import note_all, show
from asyncdp_sim.core.errors import InputError, blaming

if TYPE_CHECKING:
    from asyncdp_sim.scenario import Scenario


def check_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="NAME|FILE…",
            help="Check these scenarios: names of the catalogue (asyncdp list) or TOML files.",
        ),
    ],
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Check scenarios, and print what they mean.

    Tables are read too, and the predictions of theory are printed.
    """
    from asyncdp_sim.describe import describe
    from asyncdp_sim.forecasts.step import step_lines
    from asyncdp_sim.theory.predict.size import require_room, size_notes

    faulty = []
    for file in files:
        try:
            with blaming(file):
                scenario, text = load_scenario(file, settings, allow_code)
                if len(scenario.sweep) == 0:
                    require_room(scenario)
                lines = [*describe(scenario), *step_lines(scenario.base()), *_of_tables(scenario)]
                lines += [line for line in _of_cells(scenario) if line not in lines]
        except InputError as error:
            faulty += error.lines()
        else:
            show([f"{file}: valid", *(f"  {line}" for line in lines)])
            note_all([*text, *([] if len(scenario.sweep) > 0 else size_notes(scenario))])
    if len(faulty) > 0:
        show(faulty, err=True)
        raise typer.Exit(2)


def _of_cells(scenario: "Scenario") -> list[str]:
    """Return what is found in the cells of a sweep, if it has any: each kind of finding once.

    Raises
    ------
    SpecError
        If a cell cannot fit into the memory of this machine.
    """
    if len(scenario.sweep) == 0:
        return []
    from operator import attrgetter

    from asyncdp_sim.core.messages import Noted, Notice, gathered
    from asyncdp_sim.describe import network_findings, privacy_findings
    from asyncdp_sim.forecasts.step import swept_step
    from asyncdp_sim.sweeps.batch import grid, networks
    from asyncdp_sim.theory.predict.size import require_room, size_notes

    cells = grid(scenario)
    matches: list[list[Notice]] = [[] for _ in cells]
    for alike in networks(cells):
        largest = max(alike, key=attrgetter("size"))
        require_room(largest.scenario)
        matches[largest.number] += map(Noted.from_sentence, size_notes(largest.scenario))
        of_network = network_findings(alike[0].scenario)
        for cell in alike:
            matches[cell.number] += [*of_network, *privacy_findings(cell.scenario)]
    steps = swept_step([cell.scenario for cell in cells])
    return [*steps, *(item.describe() for item in gathered(matches))]


def _of_tables(scenario: "Scenario") -> list[str]:
    """Open the tables of a scenario, if it has any, and return what they are to it."""
    if not scenario.reads_a_file:
        return []
    from asyncdp_sim.runs.problem import table_lines

    return table_lines(scenario)
