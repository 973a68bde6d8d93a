"""Large tables of cases that are data: TOML files beside the modules that read them."""

import tomllib
from pathlib import Path
from typing import Any


def table(module: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file beside a module."""
    return tomllib.loads(Path(module).with_name(name).read_text(encoding="utf-8"))
