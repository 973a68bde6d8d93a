"""The fields that the papers' letters stand for, and the pages that say more of a table."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def labels() -> Mapping[str, Mapping[str, Any]]:
    """Return ``symbols``, from letters to paths, and ``pages``, from paths to pages."""
    return tomllib.loads(files(__package__).joinpath("labels.toml").read_text("utf-8"))


def page(table: str, kind: str | None = None) -> str:
    """Return the page of the documentation that says more of a table, or of one of its kinds."""
    path = table if kind is None else f"{table}.{kind}"
    while path not in labels()["pages"]:
        path = path.rpartition(".")[0]
    return str(labels()["pages"][path])
