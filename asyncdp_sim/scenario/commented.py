"""Scenario files with a comment at every setting: a catalogue's entry, or a small one."""

import re
import textwrap
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.spec.base import Spec

_WIDTH = 100
_SETTING = re.compile(r"([\w-]+|\"[^\"]+\")\s*=")
_TABLE = re.compile(r"\[+([\w.-]+)\]+")


def starter() -> str:
    """Return a small scenario with every section that a first one needs, commented."""
    return files("asyncdp_sim.scenario").joinpath("starter.toml").read_text(encoding="utf-8")


def commented(name: str) -> str:
    """Return the file of a catalogue's entry, with the meaning of settings above them.

    Raises
    ------
    SpecError
        If there is no entry of that name.
    """
    result = entry(name)
    text = result.file.read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in _lines(text, result.as_it_is))


def _lines(text: str, scenario: Spec) -> Iterator[str]:
    part: Any = scenario
    open_statement = ""
    for line in text.splitlines():
        if open_statement == "":
            table, setting = _TABLE.match(line), _SETTING.match(line)
            if table is not None:
                part = scenario
                for key in table[1].split("."):
                    part = _member(part, key)
            elif setting is not None:
                yield from _comment(part, setting[1])
        yield line
        open_statement = f"{open_statement}{line}\n"
        if _complete(open_statement):
            open_statement = ""


def _complete(statement: str) -> bool:
    """Return whether TOML ends here, and goes on with no string, list or table of this line."""
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _member(part: object, key: str) -> object:
    if not isinstance(part, Spec):
        return None
    fields = {field.alias or name: name for name, field in type(part).model_fields.items()}
    return getattr(part, fields[key]) if key in fields else None


def _comment(part: object, key: str) -> Iterator[str]:
    """Yield the meaning of a setting, folded; nothing where nobody says it."""
    text = meaning(type(part), key) if isinstance(part, Spec) else ""
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def meaning(spec: type[Spec], key: str) -> str:
    """Return what a field means; of a ``kind``, what the class is; of no field, nothing."""
    field = spec.model_fields.get(key)
    if field is not None and field.description is not None:
        return field.description
    if key == "kind":
        return (spec.__doc__ or "").strip().partition("\n")[0]
    return ""
