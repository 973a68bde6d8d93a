"""Names of earlier versions that no longer exist, and what to do instead, read from ``gone.toml``.

A result that an earlier version made with such a name is still opened; a scenario, a command or an
option that is given one is refused in one line.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NAMES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
KINDS, FIELDS, COLUMNS = (_NAMES[table] for table in ("kinds", "fields", "columns"))
"""Values of a ``kind``; dotted paths of a scenario; columns of a result's tables."""
ENTRIES, COMMANDS, OPTIONS = (_NAMES[table] for table in ("entries", "commands", "options"))
"""Names of the catalogue; commands, or one with its first argument; options, or one of a command"""

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
