"""``asyncdp check``, ``replay`` and ``audit``: scenarios and results held against their claims."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from asyncdp_sim.cli import terminal
from asyncdp_sim.core.errors import InputError, blaming
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.starting import TO_RUN, require_address_space

if TYPE_CHECKING:
    from asyncdp_sim.scenario import Scenario


def check_command(
    files: list[Path], details: bool = False, settings: Sequence[str] = (), allow_code: bool = False
) -> None:
    """Check scenarios, and print what they mean.

    Tables are read too, and the predictions of theory are printed.
    """
    from asyncdp_sim.forecasts.step import step_lines
    from asyncdp_sim.runs.problem import require_columns, table_lines
    from asyncdp_sim.sentences.scenario import describe, first_screen
    from asyncdp_sim.theory.predict.all import require_room, size_notes

    faulty = []
    for file in files:
        try:
            with blaming(file):
                scenario, notes = terminal.load_scenario(file, settings, allow_code)
                if len(scenario.sweep) == 0:
                    require_room(scenario)
                described = describe(scenario)
                if not details:
                    described = first_screen(described, scenario.owners.count)
                lines = [*described, *step_lines(scenario.base())]
                require_columns(scenario)
                lines += table_lines(scenario, details=details) if scenario.reads_a_file else []
                lines += [line for line in _cell_lines(scenario) if line not in lines]
        except InputError as error:
            faulty += error.lines()
        else:
            terminal.show([f"{file}: valid", *(f"  {line}" for line in lines)])
            terminal.note_all([*notes, *([] if len(scenario.sweep) > 0 else size_notes(scenario))])
    if len(faulty) > 0:
        terminal.show(faulty, err=True)
        raise typer.Exit(2)


def _cell_lines(scenario: "Scenario") -> list[str]:
    """Return lines on the cells of a sweep, if it has any: each kind of finding once.

    Raises
    ------
    SpecError
        If a cell cannot fit into the memory of this machine.
    """
    if len(scenario.sweep) == 0:
        return []
    from operator import attrgetter

    from asyncdp_sim.core.messages import Noted, Notice, gathered
    from asyncdp_sim.forecasts.step import swept_step
    from asyncdp_sim.sentences.scenario import network_findings, privacy_findings
    from asyncdp_sim.sweeps.grid import grid, networks
    from asyncdp_sim.theory.predict.all import require_room, size_notes

    cells = grid(scenario)
    notices_by_cell: list[list[Notice]] = [[] for _ in cells]
    for alike in networks(cells):
        # Where the cell with the largest curves has room, the others of its network have.
        largest = max(alike, key=attrgetter("size"))
        require_room(largest.scenario)
        notices_by_cell[largest.number] += map(Noted.from_sentence, size_notes(largest.scenario))
        of_network = network_findings(alike[0].scenario)
        for cell in alike:
            notices_by_cell[cell.number] += [*of_network, *privacy_findings(cell.scenario)]
    steps = swept_step([cell.scenario for cell in cells])
    return [*steps, *(item.describe() for item in gathered(notices_by_cell))]


def replay_command(
    context: typer.Context,
    directories: list[Path],
    workers: int = 1,
    moved: Sequence[str] = (),
    allow_code: bool = False,
    diff: bool = False,
) -> None:
    """Compute a result or a sweep again, and compare all of it."""
    if len(directories) != 1 + diff:
        count = f"{len(directories)} director{'y' if len(directories) == 1 else 'ies'}"
        options = "two directories with --diff" if diff else "one directory (two with --diff)"
        raise typer.BadParameter(f"given {count}; allowed is {options}")
    if diff:
        remedy = "leave it out, as --diff compares results without computing them again"
        terminal.refuse_without_effect(context, ("workers", "moved", "allow_code"), remedy)
        from asyncdp_sim.comparisons.differences import first_difference

        lines, notes = first_difference(*directories)
        terminal.note_all([f"made with another {item}" for item in notes])
        named = f"{directories[0]} and {directories[1]}"
        if len(lines) > 0:
            terminal.show([f"{named} differ", *lines])
            raise typer.Exit(3)
        terminal.show([f"{named} are equal (manifest, scenario and every table agree)"])
        return
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.runs.replay import OTHER_ALGEBRA
    from asyncdp_sim.sweeps.sweep import reproduce_all

    [directory] = directories
    notes = list[str]()
    with (
        terminal.keeping(lambda: f"{terminal.NOTHING_KEPT}, and {directory} is as it was"),
        drawn() as progress,
    ):
        results = reproduce_all(
            directory,
            workers=workers,
            settings=moved,
            allow_code=allow_code,
            on_note=notes.append,
            progress=progress,
        )
    # Notes that begin so say how nearly numbers agree: they are part of the verdict.
    rounded = [item for item in notes if item.startswith(OTHER_ALGEBRA)]
    terminal.note_all([item for item in notes if item not in rounded])
    agreed = "; ".join(rounded) or "manifest, scenario and every table agree"
    which = "" if results == 1 else f" in {results} cells"
    typer.echo(f"{directory}: reproduced ({agreed}{which})")


def audit_command(
    context: typer.Context,
    file: Path,
    answers: int | None = None,
    canaries: int | None = None,
    thorough: bool = False,
    runs: int = 1000,
    confidence: float = 0.999,
    details: bool = False,
    workers: int = 1,
    settings: Sequence[str] = (),
    allow_code: bool = False,
) -> None:
    """Attack the privacy of a scenario, and print lower bounds on its ε.

    The first verdict takes seconds: single answers, and one training with random canary
    records. --thorough attacks whole runs on neighbouring tables; it prints its duration first.
    """
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.audits import audit, expected_seconds, first_audit
    from asyncdp_sim.core.words import duration

    useless, remedy = ["runs", "workers"], "add --thorough"
    if thorough:
        useless, remedy = ["canaries"], "leave it out, or leave out --thorough"
    terminal.refuse_without_effect(context, useless, remedy)
    scenario, notes = terminal.load_scenario(file, settings, allow_code)
    notes += terminal.base_notes(file, scenario)
    with blaming(file), drawn() as progress:
        options: Any = {"confidence": confidence, "progress": progress}
        if thorough:
            seconds = expected_seconds(scenario, runs)
            terminal.note(f"{duration(seconds)} of processor time; fewer --runs take less")
            answers = 1_000_000 if answers is None else answers
            result = audit(scenario, answers=answers, runs=runs, workers=workers, **options)
        else:
            result = first_audit(scenario, answers=answers, canaries=canaries, **options)
    terminal.show(result.lines(details=details))
    terminal.note_all(notes)
    if result.exceeded:
        raise typer.Exit(3)
