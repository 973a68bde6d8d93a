"""The dictionary of columns: every column of every table, and every key of a summary.

They are in ``columns.toml`` beside this module.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import product
from typing import Any

from asyncdp_sim.measures.energy import ENERGY_RATIOS
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import RATIOS
from asyncdp_sim.scenario.fields import field_at
from asyncdp_sim.scenario.paths import VARIANT

SUMMARY_NAME = "summary"
"""What the figures of a manifest are called where tables are."""
NEVER = "never null"
UNITLESS = "none"
ANY = "any number"
COUNT = "whole numbers ≥ 0"
NUMBER = "whole numbers ≥ 1"
TEXT = "text"
YES = "true or false"
OR_INFINITE = " or ∞"
SPREAD = {
    "mean": "mean over replicates",
    "median": "median over replicates",
    "q25": "lower quartile over replicates",
    "q75": "upper quartile over replicates",
}
"""The four figures of what each replicate has one of."""


@dataclass(frozen=True)
class Column:
    """The meaning of a column of a table, or of a key of a summary.

    Attributes
    ----------
    name : str
    meaning : str
    unit : str
        "none" of names, numbers of things, shares and whatever else has no unit.
    domain : str
        Which values it may have; "or ∞" where infinity is one.
    null : str
        When it is null.
    """

    name: str
    meaning: str
    unit: str = UNITLESS
    domain: str = ANY
    null: str = NEVER

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of its field in a Parquet file."""
        return {"unit": self.unit, "meaning": self.meaning}


@dataclass(frozen=True)
class Table:
    """A table of a directory, and its columns.

    Attributes
    ----------
    name : str
        Of its file, without ``.parquet``; with the folder before it where that is another.
    meaning : str
        What a row is, and in which order rows are.
    columns : tuple of Column
        All that it may have.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]


@cache
def tables() -> Mapping[str, Table]:
    """Return every table by its name: ``updates``, ``cells``, ``traces/exchanges``."""
    return {name: Table(name, rows, _columns(name)) for name, rows in _entries()["rows"].items()}


@cache
def summary() -> Mapping[str, Column]:
    """Return every figure of a summary by its name, with the ends of the intervals."""
    figures = {column.name: column for column in _columns(SUMMARY_NAME)}
    for name in (*RATIOS, *ENERGY_RATIOS):
        for end, word in (("low", "Lower"), ("high", "Upper")):
            meaning = f"{word} end of the 95 % confidence interval of {name}, over replicates"
            null = f"there is one replicate, or {name} is null"
            key = f"{name}_{end}"
            figures[key] = replace(figures[name], name=key, meaning=meaning, null=null)
    return figures


@cache
def _entries() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("columns.toml").read_text("utf-8"))


def _columns(table: str) -> tuple[Column, ...]:
    shared = _entries()["shared"]
    result = list[Column]()
    for name, entry in _entries()[table].items():
        if isinstance(entry, dict):
            result += _of_scores(name, **entry)
        else:
            result.append(Column(name, *(entry or shared[name])))
    return tuple(column for entry in result for column in _spread(entry))


def _of_scores(name: str, rows: str, models: Mapping[str, str]) -> Iterator[Column]:
    """Yield a column for each score of held-out rows, by each model; the first may diverge."""
    alike = {"auc": ", or all their labels are alike", "r_squared": ", or all targets are alike"}
    for score, (suffix, model) in product(SCORES, models.items()):
        domain = "0 to 1" if score.worst == 0 else ANY if score.worst < 0 else "≥ 0"
        yield Column(
            name.format(score=f"{score.name}{suffix}"),
            f"{score.words} of {model} on {rows}: {score.meaning}",
            "of the target" if score.in_units else UNITLESS,
            domain + (OR_INFINITE if suffix == "" and score.worst != 0 else ""),
            f"none of these rows has a target{alike.get(score.name, '')}",
        )


def _spread(column: Column) -> Iterator[Column]:
    """Yield a column, or its mean, median and quartiles."""
    if not column.name.endswith(".*"):
        yield column
        return
    for part, words in SPREAD.items():
        name = column.name.removesuffix("*") + part
        yield replace(column, name=name, meaning=f"{column.meaning}: {words}")


def is_exact(name: str) -> bool:
    """Return whether a column is computed from the owners' records without noise: no ε covers it.

    ψ, losses, scores and gains on held-out rows, and optima; the private models are ``theta_L``.
    """
    return name in ("theta", "fitness", "relative_fitness", "own", "joint_gain") or name.startswith(
        ("psi_", "held_out_")
    )


def column(table: str, name: str) -> Column | None:
    """Return the entry of a table's column; None where it has none of this name.

    Parameters
    ----------
    table : str
        "summary" is that of a manifest; ``cells`` has its figures as columns.
    name : str
    """
    if table == SUMMARY_NAME:
        return summary().get(name)
    value = tables().get(table) or tables().get(table.rpartition("/")[2])
    own = {} if value is None else {item.name: item for item in value.columns}
    return own.get(name) or (_in_cells(name) if table == "cells" else None)


def _in_cells(name: str) -> Column | None:
    """Return a figure of the cells' summaries, which a failed cell does not have, or a swept path.

    What is swept may be a field of a kind from outside, of which nothing is known.
    """
    result = summary().get(name)
    if result is None:
        return _swept(name) if "." in name or name == VARIANT or field_at(name) else None
    null = (
        "the cell has failed" if result.null == NEVER else f"{result.null}; or the cell has failed"
    )
    return replace(result, null=null)


def _swept(path: str) -> Column:
    """Return the column of a swept path; tables, and values of several types, are JSON texts."""
    if path == VARIANT:
        return Column(path, "Swept: the variant, a table of paths that go together", domain=TEXT)
    text = list(dict.fromkeys(item.meaning for item in field_at(path)))
    units = {item.unit for item in field_at(path)}
    meaning = f"Swept: {'; or: '.join(text)}" if len(text) > 0 else "Swept"
    return Column(path, meaning, units.pop() if len(units) == 1 else UNITLESS, "as in the scenario")


def flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return a summary's figures by one name each, such as ``psi_final.mean``."""
    by_name: dict[str, Any] = {}
    for name, value in summary.items():
        if name == "intervals":
            for inner, ends in value.items():
                low, high = (None, None) if ends is None else ends
                by_name |= {f"{inner}_low": low, f"{inner}_high": high}
        elif isinstance(value, Mapping):
            by_name |= {f"{name}.{inner}": number for inner, number in value.items()}
        else:
            by_name[name] = value
    return by_name


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
        lines += ["", f"## {table}.parquet", "", text, "", *rows(_named(table, names))]
    if len(summary) > 0:
        about = "Figures of the result, all replicates together."
        lines += ["", "## summary in manifest.json", "", about, ""]
        lines += rows(_named(SUMMARY_NAME, summary))
    return "\n".join(lines)


def _named(table: str, names: Iterable[str]) -> list[Column]:
    return [result for name in names if (result := column(table, name)) is not None]
