"""Every figure of the papers run, drawn, and held against what was published."""

import csv
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from analysis import captions
from analysis.picture import save, write
from analysis.source import Sweep
from asyncdp_sim.provenance import described, digest
from asyncdp_sim.result import read_manifest
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweep import sweep
from scenarios.papers.claims import Judged, judge
from scenarios.papers.differences import differences
from scenarios.papers.figure import PaperFigure, Settings

HEADER = ("figure", "variant", "quantity", "published", "ours", "ratio", "verdict", "because")


def verify(
    figures: Sequence[PaperFigure],
    out: Path,
    *,
    full: bool,
    workers: int,
    more: Settings = (),
    say: Callable[[str], object],
) -> list[Judged]:
    """Run figures, draw them, judge them, and write the verdicts.

    A figure that has been run before with the same settings is not run again.

    Parameters
    ----------
    figures : sequence of PaperFigure
    out : Path
        Gets ``<figure>/<variant>/``, ``verdicts.md`` and ``verdicts.csv``.
    full : bool
        Whether at the papers' size.
    workers : int
        Processes.
    more : tuple of str
        Further settings of every figure, such as the path of a real table.
    say : callable
        Told of progress, a line at a time.

    Raises
    ------
    InputError
        If a setting does not fit, or a directory holds something else.
    """
    found: list[Judged] = []
    for figure in figures:
        swept: dict[str, Sweep] = {}
        for variant in figure.variants:
            began = time.perf_counter()
            scenario = figure.scenario(variant, full=full, more=more)
            directory = out / figure.name / variant
            fresh = _run(scenario, directory, workers)
            swept[variant] = Sweep.read(directory)
            drawn, folder = figure.pictures(swept[variant]), directory / "figures"
            for picture in drawn:
                save(picture, folder)
            shown = [cell.result for cell in swept[variant].cells]
            page = captions.page([(picture, shown) for picture in drawn], [])
            write(folder / "captions.md", page.encode())
            found += judge(figure.source, variant, figure.claims, swept[variant])
            took = f"{time.perf_counter() - began:.1f} s"
            say(f"{figure.name} {variant}: {took}" + ("" if fresh else ", runs of earlier on"))
        write(out / figure.name / "variants.csv", differences(swept).encode())
    write(out / "verdicts.md", as_markdown(found).encode())
    write(out / "verdicts.csv", as_csv(found).encode())
    return found


def _run(scenario: Scenario, directory: Path, workers: int) -> bool:
    """Run a sweep; return False where its very result is there already."""
    manifest = directory / "manifest.json"
    if manifest.exists() and read_manifest(directory)["digest"] == digest(described(scenario)):
        return False
    sweep(scenario, directory, workers=workers)
    return True


def rows(found: Sequence[Judged]) -> list[tuple[str, ...]]:
    """Return the verdicts as text, without the header."""
    return [
        (
            each.figure,
            each.variant,
            each.quantity,
            "–" if each.published is None else f"{each.published:.4g}",
            f"{each.ours:.4g}",
            "–" if each.ratio is None else f"{each.ratio:.3g}",
            each.verdict,
            each.because,
        )
        for each in found
    ]


def as_markdown(found: Sequence[Judged]) -> str:
    """Return the verdicts as a table in Markdown."""
    lines = [HEADER, tuple("---" for _ in HEADER), *rows(found)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def as_text(found: Sequence[Judged]) -> list[str]:
    """Return the verdicts as lines of aligned columns, reasons below their lines."""
    table = [HEADER[:-1], *(row[:-1] for row in rows(found))]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    said = [""] + [each.because for each in found]
    return [
        line + (f"\n    because {because}" if because else "")
        for line, because in zip(lines, said, strict=True)
    ]


def as_csv(found: Sequence[Judged]) -> str:
    """Return the verdicts as CSV, numbers with all their digits."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HEADER)
    for each in found:
        numbers = (each.published, each.ours, each.ratio)
        said = ["" if value is None else repr(value) for value in numbers]
        head = (each.figure, each.variant, each.quantity)
        table.writerow([*head, *said, each.verdict, each.because])
    return text.getvalue()
