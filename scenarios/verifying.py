"""The command ``python -m scenarios verify``: which figures are meant, and how they came out."""

import argparse
from collections.abc import Callable
from pathlib import Path

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.words import duration
from scenarios.beyond import RESULTS
from scenarios.papers import FIGURES, PaperFigure
from scenarios.papers.verify import as_text, verify

SECONDS = 2
"""Of a core for a variant of a figure, in the mean over the papers' at the reduced size."""
GROUPS = {"beyond": RESULTS}
"""Names for several figures at once; without any name all of the papers' are run."""


def verified(asked: argparse.Namespace, say: Callable[..., object]) -> int:
    """Run and judge figures of the papers; exit 3 where one that must hold does not.

    Parameters
    ----------
    asked : Namespace
        What the command line was given.
    say : callable
        Puts lines on the screen.
    """
    for setting in asked.set:
        if setting.strip().strip('"').startswith("sweep"):
            allowed = "allowed with verify is anything but the sweep, which the claims read"
            raise SpecError([Fault("--set", repr(setting), allowed)], "scenarios")
    chosen = _chosen(asked.figures)
    variants = list(dict.fromkeys(name for figure in chosen for name in figure.variants))
    unknown = [name for name in asked.variant if name not in variants]
    if len(unknown) > 0:
        allowed = f"allowed are {', '.join(variants)}"
        raise SpecError([Fault("--variant", repr(unknown[0]), allowed)], "scenarios")
    out = Path("results") / ("verify-full" if asked.full else "verify")
    out = out if asked.out is None else asked.out
    more = tuple(asked.set)
    count = sum(name in asked.variant or not asked.variant for f in chosen for name in f.variants)
    cores = min(asked.workers, len(chosen))
    told = f"{len(chosen)} figures in {count} variants on {cores} processes"
    say(told if asked.full else f"{told}: {duration(SECONDS * count / cores)}")
    found = verify(
        chosen, out, full=asked.full, workers=asked.workers, variants=asked.variant, more=more,
        say=say, watch=drawn,
    )  # fmt: skip
    say(*as_text(found), f"verdicts, tables and figures in {out}")
    return 3 if any(each.verdict == "fails" for each in found) else 0


def _chosen(names: list[str]) -> list[PaperFigure]:
    """Return the figures of these names and groups, each once; without any all of the papers'."""
    known = GROUPS | {figure.name: (figure,) for figure in (*FIGURES, *RESULTS)}
    unknown = [name for name in names if name not in known]
    if len(unknown) > 0:
        allowed = f"allowed are {', '.join(known)}"
        raise SpecError([Fault("FIGURE", repr(unknown[0]), allowed)], "scenarios")
    if len(names) == 0:
        return list(FIGURES)
    return list({figure.name: figure for name in names for figure in known[name]}.values())
