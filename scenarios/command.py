"""``python -m scenarios`` lists the catalogue; ``python -m scenarios NAME`` runs and draws.

``python -m scenarios verify`` runs every figure of the papers and holds it against what was
published; ``python -m scenarios verify async-05`` one of them. ``python -m scenarios verify
beyond`` does so with what others have published since. ``python -m scenarios decisions`` asks what
owners of other people's tables gain, and holds the answers against the truth.
"""

import argparse
import os
import shlex
import sys
import time
from pathlib import Path

from asyncdp_sim.core.errors import InputError
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.starting import one_thread, ready_streams, require_working_directory
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.manifest import default_directory, described, digest
from asyncdp_sim.results.write import require_free
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import catalogue, entry
from asyncdp_sim.sentences.result import notes, result_lines
from asyncdp_sim.sweeps.sweep import sweep


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; exit 0 done, 2 wrong input, 3 a verdict, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m scenarios", description=__doc__)
    parser.add_argument(
        "name", nargs="?", help="id of a scenario, verify or decisions; none: list them all"
    )
    parser.add_argument("figures", nargs="*", help="of verify: which; none: the papers'")
    parser.add_argument("--full", action="store_true", help="of verify: at the papers' size")
    parser.add_argument(
        "--variant", action="append", default=[], metavar="NAME",
        help="of verify: as-published, as-written or sound; may be given again; none: all",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, help="result directory; must not exist")
    parser.add_argument(
        "--workers", type=int, help="processes; none: 1, and of verify one for each core"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="as for asyncdp run"
    )
    ready_streams()
    asked = parser.parse_args(arguments)
    if asked.name in (None, "decisions") and (asked.workers is not None or len(asked.set) > 0):
        parser.error("--workers and --set are for a scenario and for verify")
    if asked.workers is None:
        asked.workers = (os.cpu_count() or 1) if asked.name == "verify" else 1
    if asked.workers < 1:
        parser.error(f"--workers: given {asked.workers}; allowed is a whole number ≥ 1")
    try:
        require_working_directory()
        if asked.name == "verify":
            from scenarios.papers.verify import verified  # all figures' claims: no other command's

            return verified(asked, say)
        if len(asked.figures) > 0 or asked.full or len(asked.variant) > 0:
            parser.error("further names, --full and --variant are for verify")
        if asked.name == "decisions":
            from scenarios.decided import decided

            return decided(asked, say)
        if asked.name is None:
            say(*(f"{found.name:<27}{found.scenario().title}" for found in catalogue()))
        else:
            scenario = entry(asked.name).scenario(tuple(asked.set))
            directory = default_directory(scenario) if asked.out is None else asked.out
            produce(scenario, directory, asked.workers)
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    except KeyboardInterrupt:
        again = shlex.join(sys.argv[1:] if arguments is None else arguments)
        sys.stderr.write(f"interrupted; to go on: python -m scenarios {again}\n")
        return 130
    return 0


def produce(scenario: Scenario, directory: Path, workers: int) -> None:
    """Run a scenario (its sweep, if it has one), draw its figures, and say where all that is.

    A finished result of the very same scenario is not computed again, only drawn.
    """
    made(scenario, directory, workers)
    say(*result_lines(directory), *(f"note: {note}" for note in notes(directory)))
    from analysis.studies import studies  # imports matplotlib: only once there is a result
    from asyncdp_sim.figures.draw import draw_all

    with one_thread():
        drawing = draw_all(directory, studies=studies(scenario.id))
    say(
        *(f"fit: {text}" for text in drawing.decisions),
        f"result in {directory}",
        *(f"  {path.relative_to(directory)}" for path in drawing.pictures),
        *(f"  not drawn: {note}" for note in drawing.notes),
    )


def made(scenario: Scenario, directory: Path, workers: int) -> None:
    """Run a scenario into a directory, unless that has its result, and say how long it took."""
    began = time.perf_counter()
    finished = (directory / "manifest.json").exists()
    if finished and read_manifest(directory)["digest"] == digest(described(scenario)):
        say(f"{scenario.id}: the result is there already; drawing it")
        return
    if len(scenario.sweep) > 0:
        with drawn() as progress:
            sweep(scenario, directory, workers=workers, progress=progress)
    else:
        require_free(directory)
        with drawn() as progress:
            write(run(scenario, workers=workers, progress=progress), directory)
    say(f"{scenario.id}: simulated and learned in {time.perf_counter() - began:.1f} s")


def say(*lines: str) -> None:
    """Write lines to the screen."""
    sys.stdout.write("\n".join(lines) + "\n")
