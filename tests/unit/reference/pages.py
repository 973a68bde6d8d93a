"""The generated pages of the reference: fields of scenarios, and columns of results."""

from collections.abc import Iterable, Iterator

from asyncdp_sim.columns import summary
from asyncdp_sim.columns import tables as tables_of_results
from asyncdp_sim.columns.readme import rows
from asyncdp_sim.reference.lookup import page
from asyncdp_sim.scenario.fields import Field, KindEntry, TableEntry, tables

_SCENARIO = """# Fields of scenario files

Each table of a scenario file has its kinds and their fields, on this page and on those below. A
field without "of" belongs to all kinds. One time unit is the mean time between two ticks of a clock
with rate one. Wherever a field takes a duration, it takes a law: a table of `compute`. `asyncdp
describe PATH` prints one field or kind, and editors complete a file by `asyncdp schema`.
"""
PARTS = {
    "owners-and-data": ("Owners and data", ("owners", "data")),
    "model-and-algorithm": (
        "Model and algorithm", ("model", "algorithm", "adversary", "acceptance", "trigger"),
    ),
    "time": ("Clocks, availability, computing and energy",
             ("clock", "availability", "compute", "energy")),
    "network": ("Channel, links and messages", ("channel", "latency", "payload", "topology")),
    "protocol": ("Protocol", ("protocol",)),
    "privacy": ("Privacy", ("privacy",)),
}  # fmt: skip
"""Pages below that of the top of a scenario file: title, and tables."""
_RESULTS = """# Tables and figures of results

What `asyncdp run` and `asyncdp sweep` write, column by column. Times are in time units, ticks are
10⁻⁹ of one; owners, replicates, messages and k count from 1. What has no value is null. Fields of
the Parquet files hold meaning and unit too, and the `README.md` in each directory has its own part
of this page."""

_SUMMARY = """Of all replicates together. `cells.parquet` has them as columns of these names; in the
manifest what follows a point is a key below the name before it, and `_low` and `_high` are in
`intervals`."""


def scenario_pages() -> dict[str, str]:
    """Return the pages of the fields of scenario files, by their paths in the reference."""
    top = [_SCENARIO, "| page | tables |", "|---|---|"]
    found = dict[str, str]()
    for name, (title, roots) in PARTS.items():
        inner = [table for table in tables() if table.path.partition(".")[0] in roots]
        listed = ", ".join(f"`{table.path}`" for table in inner)
        top.append(f"| [{title}](scenario/{name}.md) | {listed} |")
        heading = f"# {title}\n\nTables of a scenario file; [the others](../scenario.md)."
        found[f"scenario/{name}"] = _page(heading, inner, "../../")
    placed = {root for _, roots in PARTS.values() for root in roots}
    rest = [table for table in tables() if table.path.partition(".")[0] not in placed]
    found["scenario"] = _page("\n".join(top), rest, "../")
    return found


def _page(heading: str, shown: Iterable[TableEntry], up: str) -> str:
    return (
        "\n".join([heading, *(line for table in shown for line in ("", *_table(table, up)))]) + "\n"
    )


def home(table: str) -> str:
    """Return the path in the reference of the page that has a table of scenario files."""
    root = table.partition(".")[0]
    [name] = [name for name, (_, roots) in PARTS.items() if root in roots]
    return f"scenario/{name}.md#{table}"


def results_page() -> str:
    """Return the page of the columns of results and of the figures of summaries."""
    lines = [_RESULTS]
    for name, table in tables_of_results().items():
        lines += ["", f"## {name}.parquet", "", f"{table.meaning}.", "", *rows(table.columns)]
    lines += ["", "## summary in manifest.json", "", _SUMMARY, "", *rows(summary().values())]
    return "\n".join(lines) + "\n"


def _table(table: TableEntry, up: str) -> Iterator[str]:
    yield f"## {'The top' if table.path == '' else table.path}"
    yield ""
    if table.path == "":
        yield "What stands before the first table, and the tables themselves."
    else:
        more = page(table.path).removeprefix("docs/")
        yield f"{table.meaning}. More: [{more}]({up}{more})."
    yield ""
    for kind in table.kinds:
        yield from _kind(kind)
    if len(table.fields) > 0:
        yield from _fields(table)
    else:
        yield "No kind of it has fields."


def _kind(kind: KindEntry) -> Iterator[str]:
    yield f"**{kind.kind}** {kind.meaning}"
    yield ""
    if kind.more != "":
        yield kind.more
        yield ""
    yield from ("```toml", kind.example, "```", "")


def _fields(table: TableEntry) -> Iterator[str]:
    yield "| field | meaning | unit | domain | default |"
    yield "|---|---|---|---|---|"
    for each in table.fields:
        of = _of(table, each)
        cells = (f"`{each.name}`{of}", each.meaning, each.unit, each.domain, _default(each))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(field: Field) -> str:
    return field.default if field.default in ("required", "absent") else f"`{field.default}`"


def _of(table: TableEntry, field: Field) -> str:
    if len(field.kinds) == len(table.kinds):
        return ""
    return f" of {', '.join(field.kinds)}"
