"""The generated pages of the reference: fields of scenarios, and columns of results."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from textwrap import fill

from asyncdp_sim.measures.energy import ENERGY_RATIOS
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import RATIOS
from asyncdp_sim.results.columns import COUNT, NEVER, NUMBER, SPREAD, UNITLESS, Column, summary
from asyncdp_sim.results.columns import tables as tables_of_results
from asyncdp_sim.scenario.fields import Field, TableEntry, tables
from asyncdp_sim.sentences.names import page

_SCENARIO = """# Fields of scenario files

Tables, their kinds and fields. A field's default stands behind it, then the kinds that have it, in
brackets, unless all do. A field without default is required if **bold**, else optional. *Or list*:
one value for each owner. A *law* is a table of [`compute`](scenario/time.md#compute), a duration. A
time unit is the mean time between two ticks of a clock with rate one. `asyncdp describe NAME`
prints more, with an example; `asyncdp schema` lets editors complete a file.

A complete file: `stays.csv` has columns `site`, `age`, `dose` and `days`; its last 300 rows are
public. `asyncdp check FILE` explains it in words, and `asyncdp run FILE --plot` runs and draws it.

```toml
schema = 1
id = "stays"
[run]
seed = 1
replicates = 20
updates = 60
[data]
kind = "table"
path = "stays.csv"
target = "days"
split = { column = "site" }
public_records = 300
preprocessing = "pca"
features = 2
[model]
kind = "ridge"
regularisation = 1e-3
[algorithm]
kind = "async-gossip"
rho = 1.0
[privacy]
epsilon = 10.0
mechanism = "laplace"
sensitivity = { kind = "clip", bound = 6.0 }
budget = { kind = "per-owner-cap", answers = 30 }
```
"""
PARTS = {
    "owners-and-data": ("Owners and data", ("owners", "data")),
    "model-and-algorithm": (
        "Model and algorithm", ("model", "algorithm"),
    ),
    "time": ("Clocks, availability, computing and energy",
             ("clock", "availability", "compute", "energy")),
    "network": ("Channel, links and messages", ("channel", "latency", "payload", "topology")),
    "protocol": ("Protocol", ("protocol",)),
    "privacy": ("Privacy", ("privacy",)),
}  # fmt: skip
"""Pages below that of the top of a scenario file: title, and tables."""
_RESULTS = """# Tables and figures of results

The columns of every table that `asyncdp run` and `asyncdp sweep` write. Times are in time units; a
tick is 10⁻⁹ of one. Owners, replicates, messages and k count from 1. The fields of the Parquet
files have the same meanings and units, and the `README.md` in each directory lists its own columns.
`{score}` is one of the [scores](#scores). Values are null for the reason that stands with them."""
_SUMMARY = """Figures over all replicates, which are also columns of `cells.parquet`. A name with
`.*` has four values over the replicates: `.mean`, `.median`, `.q25` and `.q75`; in the manifest
they are keys below the name before the point. `intervals` in the manifest holds 95 % confidence
intervals over replicates; in `cells.parquet` their ends are `_low` and `_high`. They exist for"""
_SCORES = """Of the predictions for held-out rows that have a target. A score is null if no row has
one; R² also if all targets are equal, AUC also if all labels are equal."""


def scenario_pages() -> dict[str, str]:
    """Return the pages of the fields of scenario files, by their paths in the reference."""
    found = dict[str, str]()
    for name, (title, roots) in PARTS.items():
        inner = [table for table in tables() if table.path.partition(".")[0] in roots]
        heading = f"# {title}\n\n[How to read this page, and other tables](../scenario.md)."
        found[f"scenario/{name}"] = _page(heading, inner, "../../")
    placed = {root for _, roots in PARTS.values() for root in roots}
    rest = [table for table in tables() if table.path.partition(".")[0] not in placed]
    found["scenario"] = _page(_SCENARIO.rstrip(), rest, "../")
    return found


def _page(heading: str, shown: Iterable[TableEntry], up: str) -> str:
    return (
        "\n".join([heading, *(line for table in shown for line in ("", *_table(table, up)))]) + "\n"
    )


def results_page() -> str:
    """Return the page of the columns of results and of the figures of summaries."""
    lines, known = [_RESULTS], set[tuple[str, str]]()
    for name, table in tables_of_results().items():
        new = [each for each in table.columns if (each.name, each.meaning) not in known]
        old = [f"`{each.name}`" for each in table.columns if (each.name, each.meaning) in known]
        known |= {(each.name, each.meaning) for each in new}
        also = f" Also {', '.join(old)}, as above." if len(old) > 0 else ""
        lines += ["", f"## {name}.parquet", "", f"{table.meaning}.{also}", "", *_rows(new)]
    ratios = fill(", ".join(f"`{name}`" for name in (*RATIOS, *ENERGY_RATIOS)), 100)
    lines += ["", "## summary in manifest.json", "", f"{_SUMMARY}\n{ratios}.", ""]
    lines += [*_rows(summary().values()), "", "## Scores", "", _SCORES, ""]
    lines += ["| score | meaning |", "|---|---|"]
    for score in SCORES:
        unit = " (in the target's unit)" if score.in_units else ""
        lines.append(_row(f"`{score.name}`", f"{score.words}: {score.meaning}{unit}"))
    return "\n".join(lines) + "\n"


def _rows(columns: Iterable[Column]) -> list[str]:
    """Return a table with one row for all scores, and one for the spread over replicates."""
    found = dict[str, Column]()
    for column in columns:
        name, meaning = column.name, column.meaning
        score = next((each for each in SCORES if name.startswith(f"held_out_{each.name}")), None)
        spread = next((each for each in SPREAD if name.endswith(f".{each}")), None)
        if "95 % confidence interval" in meaning:
            continue
        if spread is not None:
            name = f"{name.removesuffix(spread)}*"
            meaning = meaning.removesuffix(f": {SPREAD[spread]}")
        if score is not None:
            name = name.replace(score.name, "{score}")
            meaning = f"Score{meaning.removeprefix(score.words).removesuffix(f': {score.meaning}')}"
            column = replace(column, unit=UNITLESS, domain="see Scores", null="")
        found.setdefault(name, replace(column, name=name, meaning=meaning))
    head = ["| name | meaning | values |", "|---|---|---|"]
    lines, before = head, ""
    for name, column in found.items():
        null = column.null if column.null in ("", NEVER) or column.null != before else "as above"
        lines.append(_row(f"`{name}`", column.meaning, _held(replace(column, null=null))))
        before = column.null
    return lines


def _held(column: Column) -> str:
    """Return domain, unit and reason for null in one; numbers of things need no unit."""
    unit = column.unit.partition(" (10")[0]
    counted = column.domain in (COUNT, NUMBER) and unit not in ("ticks", "bytes")
    unit = "" if counted or unit == UNITLESS else f" ({unit})"
    null = "" if column.null in ("", NEVER) else f"; null: {column.null}"
    return f"{column.domain.replace('whole numbers', 'integers')}{unit}{null}"


def _table(table: TableEntry, up: str) -> Iterator[str]:
    yield f"## {'The top' if table.path == '' else table.path}"
    more, root = page(table.path), page(table.path.partition(".")[0])
    if "." in table.path and table.path in _named():  # its row there has its meaning
        yield from () if more == root else ("", f"[More]({up}{more.removeprefix('docs/')}).")
    elif table.path != "":
        yield from ("", f"[{table.meaning}]({up}{more.removeprefix('docs/')}).")
    if len(table.kinds) > 0:
        yield from ("", "| kind | meaning |", "|---|---|")
        yield from (_row(f"`{kind.kind}`", kind.meaning) for kind in table.kinds)
    if len(table.fields) > 0:
        yield from ("", "| field | meaning | values |", "|---|---|---|")
        yield from (_field(table, each) for each in table.fields)


@cache
def _named() -> frozenset[str]:
    """Return the tables that are fields of another one, whose row has their meaning."""
    below = {table.path for table in tables()}
    return frozenset(f.path for table in tables() for f in table.fields if f.path in below)


def _field(table: TableEntry, field: Field) -> str:
    name, default = field.name, ""
    if field.default == "required" and "Absent" not in field.meaning:
        name = f"**`{name}`**"
    elif field.default in ("absent", "required"):
        name = f"`{name}`"
    else:
        default = f"`{field.default}`"
        name = f"`{name}` = {default}"
    kinds = f" ({', '.join(field.kinds)})" if len(field.kinds) < len(table.kinds) else ""
    return _row(f"{name}{kinds}", field.meaning, _values(field))


def _values(field: Field) -> str:
    """Return domain and unit in few words; limits of the machine's integers are left out."""
    counted = "whole numbers" in field.domain and field.unit not in ("bytes", "time units")
    unit = "" if counted or field.unit in ("", "none") else f" ({field.unit})"
    if field.path in _named():
        several = ", or list" if "list of them" in field.domain else ""
        return f"[table]({_place(field.path)}){several}"
    domain = field.domain
    for long, short in _SHORT:
        domain = re.sub(long, short, domain)
    return f"{domain}{unit}"


_LAWS = "none, constant, exponential, lognormal, gamma, uniform, empirical"
_SHORT = (
    (rf"a table whose kind is one of {_LAWS}", "law"),
    (" whose kind is one of ", ": "),
    ("the name of a kind, or a table: ", "kind, or table: "),
    (" and ≤ (2147483647|9223372036854775807)", ""),
    (r"\b1(0{6,})\b", lambda found: f"10{str(len(found[1])).translate(_POWERS)}"),
    (r"1e-(0?)(\d+)", lambda found: f"10⁻{found[2].translate(_POWERS)}"),
    (r"≥ (\S+) and ≤ (\S+)", r"\1 to \2"),
    (r"(>|≥) (\S+) and (<|≤) (\S+)", r"\1 \2, \3 \4"),
    ("whole numbers", "integers"),
    (r"numbers (?=[>≥\d])", ""),
    ("one of |, or a list of them(?=, or a table)", ""),
    (", or a list of them", ", or list"),
    (r"\ba (?=list|table)", ""),
    ("list of list of ", "lists of "),
    (r"(lists?) of (?=[>≥\d])", r"\1, "),
)
"""Words of domains, and what stands for them on a page, in this order."""
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _place(path: str) -> str:
    """Return the link to a table's section from a page of its root, or from the first page."""
    anchor = f"#{path.replace('.', '')}"
    root = path.partition(".")[0]
    pages = [name for name, (_, roots) in PARTS.items() if root in roots]
    return f"scenario/{pages[0]}.md{anchor}" if path == root and len(pages) > 0 else anchor


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
