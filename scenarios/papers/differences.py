"""What a paper's own options, its text, and a sound version make of one experiment."""

import csv
import io
from collections.abc import Mapping

from analysis.source import Sweep

FIGURES = ("private", "epsilon_true", "delta", "clip_count")


def differences(swept: Mapping[str, Sweep]) -> str:
    """Return a CSV with a row per cell and variant: ψ, and what privacy is like.

    Parameters
    ----------
    swept : mapping
        A finished sweep by variant; they vary the same paths.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    paths = next(iter(swept.values())).paths
    parts = ("mean", "median", "q25", "q75")
    table.writerow([*paths, "variant", *(f"psi_{part}" for part in parts), *FIGURES])
    for number, cell in enumerate(next(iter(swept.values())).cells):
        for variant, sweep in swept.items():
            summary = sweep.cells[number].result.summary
            psi = [summary["psi_final"][part] for part in parts]
            said = [summary.get(name) for name in FIGURES]
            table.writerow([*(cell.values[path] for path in paths), variant, *psi, *said])
    return text.getvalue()
