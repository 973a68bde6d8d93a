"""Differences between a paper's own options, its text, and a sound version of one experiment."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from math import exp, inf, isfinite, log

from asyncdp_sim.core.words import as_float, extent, known
from asyncdp_sim.results import Sweep
from scenarios.papers.figure import AS_PUBLISHED

PRIVACY = ("private", "epsilon_true", "delta", "clip_count")
OVERVIEW = (
    "figure", "variant", "psi", "over as-published", "cells", "R", "N", "n_i", "diverged",
    "private", "epsilon", "epsilon_true",
)  # fmt: skip
"""ψ is the geometric mean over cells, R replicates of each; N owners with n_i records, the least
and the most of any cell; privacy by number of cells and the largest ε."""


def differences(swept: Mapping[str, Sweep]) -> str:
    """Return a CSV with a row per cell and variant: ψ, and what privacy is like.

    Parameters
    ----------
    swept : mapping
        A finished sweep by variant; they vary the same paths.
    """
    parts = ("mean", "median", "q25", "q75")
    paths = next(iter(swept.values())).paths
    rows = []
    for place in range(max(len(sweep.cells) for sweep in swept.values())):
        for variant, sweep in swept.items():
            for cell in sweep.cells[place : place + 1]:
                summary = cell.result.summary
                psi = [summary["psi_final"][part] for part in parts]
                said = [summary.get(name) for name in PRIVACY]
                rows.append([*(cell.values[path] for path in paths), variant, *psi, *said])
    return as_csv([*paths, "variant", *(f"psi_final_{part}" for part in parts), *PRIVACY], rows)


def overview(figure: str, swept: Mapping[str, Sweep]) -> list[tuple[object, ...]]:
    """Return a row per variant of a figure, under :data:`OVERVIEW`; None where there is nothing.

    Parameters
    ----------
    figure : str
    swept : mapping
        A finished sweep by variant.
    """
    found: list[tuple[object, ...]] = []
    means = {variant: _psi(sweep) for variant, sweep in swept.items()}
    for variant, sweep in swept.items():
        psi, published = means[variant], means.get(AS_PUBLISHED)
        summaries = [cell.result.summary for cell in sweep.cells]
        diverged = sum(as_float(each["psi_final"]["mean"]) is None for each in summaries)
        private = sum(each["private"] is True for each in summaries)
        over = None if psi is None or published is None else psi / published
        size = (len(summaries), *_sizes(sweep))
        true = max(known(each["epsilon_true"], inf) for each in summaries)
        said = (*size, diverged, private, _largest_epsilon(sweep), true)
        found.append((figure, variant, psi, over, *said))
    return found


def _psi(sweep: Sweep) -> float | None:
    """Return the geometric mean of mean ψ at the end over cells that did not diverge."""
    psi = [cell.result.mean_psi for cell in sweep.cells]
    logs = [log(each) for each in psi if isfinite(each) and each > 0]
    return exp(sum(logs) / len(logs)) if len(logs) > 0 else None


def _sizes(sweep: Sweep) -> tuple[str, str, str]:
    """Return R, N and n_i of the cells, each as one number or as the least and the most."""
    results = [cell.result for cell in sweep.cells]
    records = [n for each in results for n in each.columns("owners", "records")[0]]
    replicates = [len(each.replicates) for each in results]
    owners = [each.n_owners for each in results]
    return extent(replicates), extent(owners), extent(records)


def _largest_epsilon(sweep: Sweep) -> float | None:
    """Return the largest ε that is claimed, of any owner in any cell with noise."""
    claimed = []
    for cell in sweep.cells:
        privacy = cell.result.scenario["privacy"]
        said = privacy.get("epsilon")
        if privacy["mechanism"] != "none" and said is not None:
            claimed += [float(each) for each in (said if isinstance(said, list) else [said])]
    return max(claimed, default=None)


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, numbers with all their digits."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(["" if value is None else value for value in row] for row in rows)
    return text.getvalue()


def as_markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown, numbers rounded and – for nothing."""
    lines = [header, tuple("---" for _ in header), *(list(map(spoken, row)) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def spoken(value: object) -> str:
    """Return a table's value as people write it."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
