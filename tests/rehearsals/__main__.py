"""``python -m tests.rehearsals [FILE] [options]``: rehearse twelve scenarios, and write the tables.

FILE is ``docs/rehearsals.md`` by default, or another with the two markers. ``--replicates R`` and
``--updates T`` say how long each is, ``--at-once K`` how many crews rehearse side by side,
``--only WORD`` which (then nothing is written), ``--unit SECONDS`` how long a unit of time takes;
each part takes a minute otherwise, as with ``asyncdp rehearse``. A crew
plays a scenario's replicates, or several, of which each plays ``--each K`` at most.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from asyncdp_sim.runs.workers import executor
from tests.machine import machine
from tests.markdown_tables import rewritten, table
from tests.rehearsals.agreement import (
    COST_HEAD,
    HEAD,
    SCENARIOS,
    Compared,
    Row,
    compared,
    played,
    scenes,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rehearsals.md"
MARKS = ("<!-- rehearsals -->", "<!-- end of rehearsals -->")


def content(found: Sequence[Compared], said: str) -> str:
    """Return the three tables."""
    return "\n\n".join([
        "As it is: measured less simulated, ± one paired standard error.",
        table(HEAD, [each.as_is for each in found]),
        "With what the machine cost put into the simulation, as a law of its queries:",
        table(HEAD, [each.with_cost for each in found]),
        "What the machine cost: time of an exchange beyond what its owner slept.",
        table(COST_HEAD, [each.cost for each in found]),
        in_short(found),
        said,
    ])  # fmt: skip


def in_short(found: Sequence[Compared]) -> str:
    """Return how far off updates per unit are at most, and how well that is known."""
    as_is, with_cost = ([each.as_is for each in found], [each.with_cost for each in found])
    (off, unsure), (left, _) = (_furthest(rows) for rows in (as_is, with_cost))
    return (
        f"Updates per unit are at most {off:.2f} % off as it is, and {left:.2f} % with that cost; "
        f"the largest standard error of the first is {unsure:.2f} %."
    )


def _furthest(rows: Sequence[Row]) -> tuple[float, float]:
    pairs = [[float(each) for each in row[1].split(" ± ")] for row in rows]
    return max(abs(value) for value, _ in pairs), max(error for _, error in pairs)


def main(arguments: Sequence[str]) -> int:
    """Rehearse, and write."""
    options = argparse.ArgumentParser(prog="python -m tests.rehearsals")
    options.add_argument("file", nargs="?", type=Path, default=PAGE)
    options.add_argument("--replicates", type=int, default=12)
    options.add_argument("--updates", type=int, default=300)
    options.add_argument("--at-once", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--unit", type=float)
    options.add_argument("--each", type=int)
    given = options.parse_args(arguments)
    page = rewritten(given.file.read_text(encoding="utf-8"), "", MARKS)
    names = [name for name in SCENARIOS if given.only in name]
    parts = {n: scenes(n, given.updates, given.replicates, given.each) for n in names}
    found = []
    with executor(given.at_once) as pool:
        every = [each for some in parts.values() for each in some]
        rehearsed = pool.map(partial(played, unit=given.unit), every)
        for name, some in parts.items():
            found.append(compared(name, list(islice(rehearsed, len(some)))))
            each = found[-1]
            sys.stderr.write("\n".join(map(str, (each.as_is, each.with_cost, each.cost))) + "\n")
    side = f", {given.at_once} crews at once" if given.at_once > 1 else ""
    tables = content(found, f"{machine().removesuffix('.')}{side}.")
    if given.only != "":
        sys.stdout.write(f"{tables}\n")
    else:
        given.file.write_text(rewritten(page, tables, MARKS), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
