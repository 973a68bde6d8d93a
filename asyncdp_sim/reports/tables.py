"""Pages of a forecast and of a comparison: an answer, pictures, and tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asyncdp_sim.comparisons import Comparison
from asyncdp_sim.figures import convergence, forecast
from asyncdp_sim.reports import answer
from asyncdp_sim.reports.drawn import in_columns
from asyncdp_sim.reports.numbers import shown
from asyncdp_sim.results import not_a_result

MOST = 20
"""Owners that are listed without unfolding."""


class PageTable(NamedTuple):
    """A table of a page: its rows, the header first, a sentence above it, whether it is folded."""

    title: str
    rows: Sequence[Sequence[str]]
    note: str = ""
    folded: bool = False


def of_forecast(file: Path) -> dict[str, Any]:
    """Return what the page of a forecast shows.

    Raises
    ------
    ResultError
        If the file is none.
    """
    found = forecast.read(file)
    if not isinstance(found.get("decision"), dict):
        raise not_a_result(
            file, "a forecast of an older version; run asyncdp forecast --json again"
        )
    drawn = forecast.pictures(found)
    tone = "withheld" if found["not_for_release"] else "kept"
    return {
        "title": f"Forecast: {file.stem}",
        "answer": answer.of_forecast(found),
        "banner": answer.Banner(drawn[0].label.text, tone, ()),
        "figures": in_columns(drawn),
        "tables": tuple(_forecast_tables(found)),
    }


def _forecast_tables(found: Mapping[str, Any]) -> Iterator[PageTable]:
    rows = [
        [
            str(owner["owner"]) + (f" ({owner['name']})" if owner.get("name") is not None else ""),
            shown(owner["records"]),
            shown(owner["alone"]),
            _GAINS[owner["profits"]],
            shown(owner["epsilon_needed"]),
        ]
        for owner in found["owners"]
    ]
    head = ["owner", "records", "ψ alone", "gains by joining", "break-even ε"]
    if len(rows) > 0:
        yield PageTable("Owners", [head, *rows[:MOST]])
    if len(rows) > MOST:
        yield PageTable(f"{len(rows) - MOST} more owners", [head, *rows[MOST:]], folded=True)
    figures = [[name, shown(found[key])] for key, name in _FIGURES.items() if key in found]
    texts = [["method", str(found["method"])], ["data", str(found["data"])]]
    yield PageTable("All figures", [["figure", "value"], *figures, *texts], folded=True)


_GAINS = {True: "yes", False: "no", None: "undecided"}
_FIGURES = {
    "psi": "expected ψ",
    "noise_free": "ψ without noise",
    "cost_of_privacy": "ψ that noise adds",
    "time": "time of the last update",
    "target": "target ψ",
    "target_time": "time at which the expected ψ reaches it",
    "target_probability": "probability to reach it",
}


def of_comparison(compared: Comparison) -> dict[str, Any]:
    """Return what the page of a comparison shows."""
    return {
        "title": "Comparison: " + ", ".join(compared.results),
        "answer": answer.of_comparison(compared),
        "banner": answer.banner([result.manifest for result in compared.results.values()]),
        "figures": in_columns(convergence.comparison(compared.results)),
        "tables": tuple(_comparison_tables(compared)),
    }


def _comparison_tables(compared: Comparison) -> Iterator[PageTable]:
    for pair in compared.others:
        name = f"{pair.name} against {compared.name}"
        head, *rows = compared.figures(pair)
        yield PageTable(name, [["figure", *head[1:]], *rows], _sentence(pair.pairing))
        settings = [["field", compared.name, pair.name], *(s.describe() for s in pair.settings)]
        if len(pair.settings) > 0:
            yield PageTable(f"Settings that differ: {name}", settings)
        yield PageTable(f"Publishing both: {name}", [], _sentence(pair.together))
    labels = [[name, text] for name, text in compared.labels.items()]
    yield PageTable("Privacy of each result", [["result", "label"], *labels])


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
