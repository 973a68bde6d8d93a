"""Every figure of the papers run, drawn, and held against what was published."""

import shutil
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from pathlib import Path

from asyncdp_sim.core.progress import Progress, counted
from asyncdp_sim.core.words import SCREEN
from asyncdp_sim.figures.picture import captions_page, save, write
from asyncdp_sim.results import Sweep, read_manifest
from asyncdp_sim.results.manifest import described, digest
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.grid import grid
from asyncdp_sim.sweeps.sweep import sweep
from scenarios.papers.claims import OURS, Judged, judge
from scenarios.papers.differences import (
    OVERVIEW,
    as_csv,
    as_markdown,
    differences,
    overview,
    spoken,
)
from scenarios.papers.figure import PaperFigure, Settings

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
    known = [network for network, cells in shared.items() if cells > 1 and network in traces]
    if len(known) == 0 or directory.exists():
        return
    Folder(directory).begin(scenario)
    for network in known:
        partial = directory / "traces" / f".partial-{network}"
        shutil.copytree(traces[network], partial)
        partial.rename(partial.with_name(network))


def table(found: Sequence[Judged]) -> list[tuple[object, ...]]:
    """Return the verdicts as rows under :data:`HEADER`."""
    return [
        (
            each.figure,
            each.variant,
            each.quantity,
            each.published,
            each.ours,
            each.error,
            *(bound if isfinite(bound) else None for bound in each.within or (inf, inf)),
            each.ratio,
            each.verdict,
            each.because,
            each.judges,
        )
        for each in found
    ]


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
