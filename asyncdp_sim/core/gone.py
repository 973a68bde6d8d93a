"""Names of earlier versions that no longer exist, and what to do instead: add a line to a table.

A result that an earlier version made with such a name is still opened; a scenario, a command or an
option that is given one is refused in one line.
"""

from collections.abc import Iterator
from typing import Any

KINDS = {
    "staircase": "allowed is laplace",
    "fitted": "allowed is public-rows",
    "moments": "allowed is public-rows",
    "persistent-aloha": "allowed is slotted-aloha with a backoff, or csma with a persistence",
    "huber": "allowed is python:huber.py:Huber, an example in docs/kinds",
    "scale-free": "allowed is file: NetworkX writes the graph, as asyncdp docs own-network shows",
    "dual-averaging": "allowed is python:dual_averaging.py:DualAveraging, an example in docs/kinds",
}
"""Values of a ``kind``."""

FIELDS: dict[str, str] = {
    "adversary": "attacks on learning are not simulated; remove the table",
    "acceptance": "attacks on learning are not simulated; remove the table",
    "algorithm.trim": "attacks on learning are not simulated; remove the field",
    "trigger": "owners answer every query that they receive; remove the table",
}
"""Dotted paths of tables and fields of a scenario; of a table, its own path is enough."""

COLUMNS: dict[str, str] = {
    "withheld": "owners answer every query that they receive",
}
"""Columns of a result's tables: those of older results are not read."""

ENTRIES: dict[str, str] = {
    "owners-that-lie": "attacks on learning are not simulated; asyncdp list prints all names",
}
"""Names of scenarios of the catalogue."""

COMMANDS: dict[str, str] = {
    "import fedscale": "write owner,start,end with pandas, a recipe in asyncdp docs own-network",
    "import flash": "write owner,start,end with pandas, a recipe in asyncdp docs own-network",
    "import topology": "write a graph file with NetworkX, a recipe in asyncdp docs own-network",
    "rehearse": "asyncdp export flower SCENARIO -o DIR writes an app that runs the scenario on "
    "real machines",
}
"""Commands, or a command and its first argument: ``import topology``."""

_BY_RUNS = "a forecast is simulated runs, on the records of each owner; leave it out"
OPTIONS = {
    "forecast --common": _BY_RUNS,
    "forecast --heterogeneity": _BY_RUNS,
    "forecast --own": _BY_RUNS,
    "forecast --sweep": "forecast one cell with --set PATH=VALUE, or run all with asyncdp sweep",
    "--no-cache": "no records are kept between commands; leave it out",
    "--schedule": "sweep privacy.budget.growth to compare parts of budgets",
}
"""Options of any command, or of one: ``forecast --sweep``."""

EARLIER: dict[str, tuple[str, str, str]] = {
    "dcf": ("counting", "bianchi", "frozen"),
}
"""Kind → a field that earlier versions did not have, the value for what they did, and its default.

A result's ``scenario.toml`` names the field, in its sweep too, unless an earlier version wrote it.
Digests leave the first value out, as they did.
"""


def _tables(raw: Any) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield tables whose kind has such a field, with the field's key, dotted in a sweep."""
    values = raw.values() if isinstance(raw, dict) else raw
    for inner in values if isinstance(raw, dict | list | tuple) else ():
        yield from _tables(inner)
    for key, kind in list(raw.items()) if isinstance(raw, dict) else ():
        table, named, last = key.rpartition("kind")
        if named != "" and last == "" and isinstance(kind, str) and kind in EARLIER:
            yield raw, table + EARLIER[kind][0], kind


def as_earlier(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the tables of a result's ``scenario.toml``, changed to name fields of later versions.

    Parameters
    ----------
    raw : dict
        Tables and lists, as TOML reads them.
    """
    for table, name, kind in _tables(raw):
        table.setdefault(name, EARLIER[kind][1])
    return raw


def as_now(raw: dict[str, Any]) -> dict[str, Any]:
    """Return tables of a new file, changed to name such fields where its sweep leaves them out."""
    for table, name, kind in _tables(raw.get("sweep")):
        table.setdefault(name, EARLIER[kind][2])
    return raw


def unnamed(raw: dict[str, Any]) -> dict[str, Any]:
    """Return tables, changed to leave out what earlier versions could not name, for a digest."""
    for table, name, kind in _tables(raw):
        if table.get(name) == EARLIER[kind][1]:
            del table[name]
    return raw


def instead_of_field(path: str) -> str | None:
    """Return what to do instead of setting a field, or a field of a table; None if none is gone.

    Parameters
    ----------
    path : str
        Dotted, as in ``adversary.owners``.
    """
    return next(
        (does for name, does in FIELDS.items() if path == name or path.startswith(f"{name}.")), None
    )


def instead_of_name(name: str) -> str | None:
    """Return what to do instead of using a field, kind or column; None if it is not gone.

    Parameters
    ----------
    name : str
        A path, or its last part, as ``asyncdp describe`` takes it.
    """
    of_last = KINDS | COLUMNS | {path.rpartition(".")[2]: does for path, does in FIELDS.items()}
    return instead_of_field(name) or of_last.get(name.rpartition(".")[2])


def instead_of_command(words: list[str]) -> str | None:
    """Return the refusal of a command line, by its first two words; None if it is not gone."""
    for name in (" ".join(words[:2]), words[0]):
        if name in COMMANDS:
            return f"{name} is gone: {COMMANDS[name]}"
    return None


def instead_of_option(command: str | None, option: str) -> str | None:
    """Return the refusal of an option of a command; None if it is not gone."""
    does = OPTIONS.get(f"{command} {option}", OPTIONS.get(option))
    return None if does is None else f"{option} is gone: {does}"
