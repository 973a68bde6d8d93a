"""The README of every result and sweep directory, with the meanings of its columns."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from asyncdp_sim.columns.dictionary import (
    NEVER,
    SUMMARY_NAME,
    UNITLESS,
    Column,
    column,
    flat,
    tables,
)

README = "README.md"
"""Its name; it explains a result and is no part of it."""
_FILES = {
    "manifest.json": "what made this, its summary and its warnings",
    "scenario.toml": "the scenario, which loads again",
}
Names = Mapping[str, Iterable[str]]


def readme(manifest: Mapping[str, Any], written: Names, others: Iterable[str]) -> str:
    """Return the page of a directory.

    Parameters
    ----------
    manifest : mapping
        Of the result, or of the sweep.
    written : mapping
        From the tables of the directory to the names of their columns.
    others : iterable of str
        Its other files.
    """
    text = manifest["scenario"]
    name = " ".join(str(text.get("title") or text["id"]).split())
    figures = {k: v for k, v in manifest.get(SUMMARY_NAME, {}).items() if k != "intervals"}
    chosen = {table: tuple(names) for table, names in written.items()}
    listed = [f"- `{other}`: {_FILES[other]}" for other in others]
    label = [f"Privacy: {manifest['label']}", ""] if "label" in manifest else []
    head = [f"# {name}", "", f"Scenario `{text['id']}`, seed {manifest['seed']}.", "", *label]
    return "\n".join([*head, *listed, _body(tuple(chosen.items()), tuple(flat(figures)))]) + "\n"


def rows(columns: Iterable[Column]) -> Iterator[str]:
    """Yield a Markdown table of columns."""
    yield "| name | meaning | unit | values | null if |"
    yield "|---|---|---|---|---|"
    for item in columns:
        unit = "" if item.unit == UNITLESS else item.unit
        null = "" if item.null == NEVER else item.null
        cells = (f"`{item.name}`", item.meaning, unit, item.domain, null)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


@lru_cache(maxsize=64)
def _body(chosen: tuple[tuple[str, tuple[str, ...]], ...], summary: tuple[str, ...]) -> str:
    lines = list[str]()
    for table, names in chosen:
        value = tables().get(table)
        text = "" if value is None else f"{value.meaning}."
        lines += ["", f"## {table}.parquet", "", text, "", *rows(_entries(table, names))]
    if len(summary) > 0:
        about = "Figures of the result, all replicates together."
        lines += ["", "## summary in manifest.json", "", about, ""]
        lines += rows(_entries(SUMMARY_NAME, summary))
    return "\n".join(lines)


def _entries(table: str, names: Iterable[str]) -> list[Column]:
    return [result for name in names if (result := column(table, name)) is not None]
