"""``python -m scenarios`` lists the catalogue; ``python -m scenarios NAME`` runs and draws."""

import argparse
import sys
import time
from pathlib import Path

from analysis import draw_all
from asyncdp_sim.errors import InputError
from asyncdp_sim.provenance import default_directory, described, digest
from asyncdp_sim.report import notes, report
from asyncdp_sim.result import read_manifest, require_free
from asyncdp_sim.run import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweep import sweep
from scenarios.catalogue import catalogue, entry
from scenarios.published import FINAL_PSI


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; exit 0 done, 2 wrong input, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m scenarios", description=__doc__)
    parser.add_argument("name", nargs="?", help="id of a scenario; none: list them all")
    parser.add_argument("--out", type=Path, help="result directory; must not exist")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PATH=VALUE", help="as for asyncdp run"
    )
    asked = parser.parse_args(arguments)
    try:
        if asked.name is None:
            say(*(f"{found.name:<24}{found.scenario().title}" for found in catalogue()))
        else:
            scenario = entry(asked.name).scenario(tuple(asked.set))
            directory = default_directory(scenario) if asked.out is None else asked.out
            produce(scenario, directory, asked.workers)
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return 0


def produce(scenario: Scenario, directory: Path, workers: int) -> None:
    """Run a scenario (its sweep, if it has one), draw its figures, and say where all that is.

    A finished result of the very same scenario is not computed again, only drawn.
    """
    began = time.perf_counter()
    finished = (directory / "manifest.json").exists()
    if finished and read_manifest(directory)["digest"] == digest(described(scenario)):
        say(f"{scenario.id}: the result is there already; drawing it")
    elif len(scenario.sweep) > 0:
        sweep(scenario, directory, workers=workers)
        say(f"{scenario.id}: simulated and learned in {time.perf_counter() - began:.1f} s")
    else:
        require_free(directory)
        write(run(scenario, workers=workers), directory)
        say(f"{scenario.id}: simulated and learned in {time.perf_counter() - began:.1f} s")
    say(*report(directory), *(f"note: {note}" for note in notes(directory)))
    drawing = draw_all(directory, published=FINAL_PSI.get(scenario.id))
    say(
        f"result in {directory}",
        *(f"  {path.relative_to(directory)}" for path in drawing.pictures),
        *(f"  not drawn: {note}" for note in drawing.notes),
    )


def say(*lines: str) -> None:
    """Write lines to the screen."""
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
