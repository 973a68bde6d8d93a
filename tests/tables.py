"""Large tables of cases that are data: TOML files beside the modules that read them."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def table(module: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside a module."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))


def composed(parts: Mapping[str, Any], case: Iterable[Any]) -> dict[str, Any]:
    """Return the fields of a case: parts by their names, then further ones; "absent" is None."""
    fields: dict[str, Any] = {}
    for part in case:
        fields |= parts[part] if isinstance(part, str) else part
    found: dict[str, Any] = _without_absent(fields)
    return found


def _without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_absent(each) for key, each in value.items()}
    return None if value == "absent" else value
