"""Figures run, drawn, and held against what was published: ``python -m scenarios verify``.

Its tables are the verdicts, and for each figure the differences between a paper's own options, its
text, and a sound version of one experiment.
"""

import argparse
import csv
import io
import shutil
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from math import exp, inf, isfinite, log
from pathlib import Path

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, counted, drawn
from asyncdp_sim.core.words import SCREEN, as_float, duration, extent, known
from asyncdp_sim.figures.picture import captions_page, save, write
from asyncdp_sim.results import Sweep, read_manifest
from asyncdp_sim.results.manifest import described, digest
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.grid import grid
from asyncdp_sim.sweeps.sweep import sweep
from scenarios.beyond import RESULTS
from scenarios.papers import FIGURES
from scenarios.papers.claims import OURS, Judged, judge
from scenarios.papers.figure import AS_PUBLISHED, PaperFigure, Settings

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
    _require_known("--variant", asked.variant, variants)
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
    groups = GROUPS | {figure.name: (figure,) for figure in (*FIGURES, *RESULTS)}
    _require_known("FIGURE", names, groups)
    if len(names) == 0:
        return list(FIGURES)
    return list({figure.name: figure for name in names for figure in groups[name]}.values())


def _require_known(field: str, names: Iterable[str], allowed: Collection[str]) -> None:
    for name in names:
        if name not in allowed:
            rule = f"allowed are {', '.join(allowed)}"
            raise SpecError([Fault(field, repr(name), rule)], "scenarios")


HEADER = (
    "figure", "variant", "quantity", "published", "ours", "error", "low", "high", "ratio",
    "verdict", "because", "judges",
)  # fmt: skip
"""``error`` is the standard error of ours over replicates: 0 of exact expectations. Ours agrees
from ``low`` to ``high``, which are empty where there is no bound. ``judges`` is the sentence that
is judged, with the file that has it."""
BELOW = 2
"""Columns that stand below their line on a screen: the last ones."""
WHOLE = "runs.parquet"
"""What traces have that are kept whole, to learn over."""
_Verified = tuple[list[Judged], list[tuple[object, ...]], list[str]]
ALIKE = "settings other than as published: none"


def verify(
    figures: Sequence[PaperFigure],
    out: Path,
    *,
    full: bool,
    workers: int,
    variants: Sequence[str] = (),
    more: Settings = (),
    say: Callable[[str], object],
    watch: Callable[[], AbstractContextManager[Progress | None]] = nullcontext,
) -> list[Judged]:
    """Run figures, draw them, judge them, and write the verdicts.

    A sweep that has been run before with the very same settings, for this figure or for another,
    is not run again.

    Parameters
    ----------
    figures : sequence of PaperFigure
    out : Path
        Gets ``<figure>/<variant>/``, and the tables ``verdicts`` and ``variants`` in Markdown and
        CSV.
    full : bool
        Whether at the papers' size.
    workers : int
        Processes: figures that share no work run side by side.
    variants : sequence of str
        Which of each figure's; all of them by default.
    more : tuple of str
        Further settings of every figure, such as the path of a real table.
    say : callable
        Told of each figure that is done, a line at a time.
    watch : callable, optional
        Gives what reports progress: of each sweep in one process, else of the figures.

    Raises
    ------
    InputError
        If a setting does not fit, or a directory holds something else.
    """
    jobs: dict[str, list[PaperFigure]] = {}
    for figure in figures:
        jobs.setdefault(figure.together, []).append(figure)
    most, alone = max(1, workers // len(jobs)), workers == 1 or len(jobs) == 1
    work = partial(
        _verified, out=out, full=full, workers=most, variants=variants, more=more,
        watch=watch if alone else nullcontext,
    )  # fmt: skip
    done: dict[str, _Verified] = {}
    found: list[Judged] = []
    beside: list[tuple[object, ...]] = []
    with (
        processes(min(workers, len(jobs))) as at_work,
        nullcontext() if alone else watch() as progress,
    ):
        advance = counted(progress, "verifying figures", len(figures))
        # The longest first, or the last to end would run alone.
        longest = sorted(jobs.items(), key=lambda job: -sum(len(one.variants) for one in job[1]))
        waiting = {name: at_work.pool.submit(work, alike) for name, alike in longest}
        for figure in figures:
            if figure.name not in done:
                done |= waiting[figure.together].result()
            judged, rows, lines = done[figure.name]
            found, beside = found + judged, beside + rows
            for line in lines:
                say(line)
            advance(1)
    for name, header, rows in (("verdicts", HEADER, table(found)), ("variants", OVERVIEW, beside)):
        write(out / f"{name}.md", as_markdown(header, rows).encode())
        write(out / f"{name}.csv", as_csv(header, rows).encode())
    return found


def _verified(
    figures: Sequence[PaperFigure],
    out: Path,
    full: bool,
    workers: int,
    variants: Sequence[str],
    more: Settings,
    watch: Callable[[], AbstractContextManager[Progress | None]],
) -> dict[str, _Verified]:
    """Do the figures of one job; return by name verdicts, rows of ``variants``, and lines."""
    done: dict[str, _Verified] = {}
    runs, traces = dict[str, Path](), dict[str, Path]()
    for figure in figures:
        found: list[Judged] = []
        rows: list[tuple[object, ...]] = []
        swept, lines = dict[str, Sweep](), list[str]()
        for variant in (each for each in figure.variants if each in variants or not variants):
            began = time.perf_counter()
            scenario = figure.scenario(variant, full=full, more=more)
            directory = out / figure.name / variant
            with watch() as progress:
                origin = _run(scenario, directory, workers, runs, traces, progress)
            swept[variant] = Sweep.read(directory)
            drawn, folder = figure.pictures(swept[variant]), directory / "figures"
            for picture in drawn:
                save(picture, folder)
            shown = [cell.result for cell in swept[variant].cells]
            page = captions_page([(picture, shown) for picture in drawn], [])
            write(folder / "captions.md", page.encode())
            found += judge(figure.source, variant, figure.claims, swept, figure.printed)
            if figure.repeats(variant):
                same = Judged(figure.source, variant, ALIKE, None, 0, "agrees", figure.alike)
                found.append(replace(same, judges=OURS))
            lines.append(f"{figure.name} {variant}: {time.perf_counter() - began:.1f} s{origin}")
        if len(swept) > 0:
            write(out / figure.name / "variants.csv", differences(swept).encode())
            rows += overview(figure.source, swept)
        done[figure.name] = found, rows, lines
    return done


def _run(
    scenario: Scenario,
    directory: Path,
    workers: int,
    runs: dict[str, Path],
    traces: dict[str, Path],
    progress: Progress | None,
) -> str:
    """Run a sweep, unless its very result is there already or in ``runs``; return where from.

    Networks whose traces are in ``traces`` are not simulated again.
    """
    name, manifest = digest(described(scenario)), directory / "manifest.json"
    if manifest.exists() and read_manifest(directory)["digest"] == name:
        origin = ", runs of earlier on"
    elif name in runs and not directory.exists():
        partial = directory.with_name(f".partial-{directory.name}")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(runs[name], partial, ignore=shutil.ignore_patterns("figures"))
        partial.rename(directory)
        origin = f", the runs of {runs[name].parent.name} {runs[name].name}"
    else:
        _begin(scenario, directory, traces)
        sweep(scenario, directory, workers=workers, progress=progress)
        origin = ""
    runs.setdefault(name, directory)
    for kept in directory.glob(f"traces/*/{WHOLE}"):
        traces.setdefault(kept.parent.name, kept.parent)
    return origin


def _begin(scenario: Scenario, directory: Path, traces: dict[str, Path]) -> None:
    """Begin a sweep with such traces as its cells share, and others have simulated before."""
    shared = Counter(cell.network for cell in grid(scenario))
    simulated = [network for network, cells in shared.items() if cells > 1 and network in traces]
    if len(simulated) == 0 or directory.exists():
        return
    Folder(directory).begin(scenario)
    for network in simulated:
        partial = directory / "traces" / f".partial-{network}"
        shutil.copytree(traces[network], partial)
        partial.rename(partial.with_name(network))


def table(found: Sequence[Judged]) -> list[tuple[object, ...]]:
    """Return the verdicts as rows under :data:`HEADER`."""
    rows = list[tuple[object, ...]]()
    for each in found:
        low, high = (bound if isfinite(bound) else None for bound in each.within or (inf, inf))
        values = vars(each) | {"low": low, "high": high, "ratio": each.ratio}
        rows.append(tuple(values[name] for name in HEADER))
    return rows


def as_text(found: Sequence[Judged]) -> list[str]:
    """Return the verdicts as lines of aligned columns; below them what they judge, and reasons."""
    lines = [HEADER[:-BELOW], *(tuple(map(spoken, row[:-BELOW])) for row in table(found))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [
        "  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    below = [[], *(_below(each) for each in found)]
    return [
        "\n".join([*_wrapped(line), *(more for text in texts for more in _wrapped(text))])
        for line, texts in zip(aligned, below, strict=True)
    ]


def _below(judged: Judged) -> list[str]:
    texts = [f"    judges {judged.judges}"] if judged.judges else []
    return texts + ([f"    because {judged.because}"] if judged.because else [])


def _wrapped(line: str) -> list[str]:
    """Return a line on as many of the screen as it takes, further ones indented."""
    return textwrap.wrap(line, SCREEN, subsequent_indent="    ", break_on_hyphens=False)


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
    for place in range(max(len(found.cells) for found in swept.values())):
        for variant, found in swept.items():
            for cell in found.cells[place : place + 1]:
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
    rows = list[tuple[object, ...]]()
    means = {variant: _psi(found) for variant, found in swept.items()}
    for variant, found in swept.items():
        psi, published = means[variant], means.get(AS_PUBLISHED)
        summaries = [cell.result.summary for cell in found.cells]
        diverged = sum(as_float(each["psi_final"]["mean"]) is None for each in summaries)
        private = sum(each["private"] is True for each in summaries)
        over = None if psi is None or published is None else psi / published
        size = (len(summaries), *_sizes(found))
        true = max(known(each["epsilon_true"], inf) for each in summaries)
        said = (*size, diverged, private, _largest_epsilon(found), true)
        rows.append((figure, variant, psi, over, *said))
    return rows


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
