"""Formulas and reasons of predictions for a person; manifests keep the recorded text."""

import tomllib
from functools import cache
from importlib.resources import files


@cache
def phrases() -> dict[str, str]:
    """Return what a person reads in place of recorded phrases."""
    return tomllib.loads(files(__package__).joinpath("plain.toml").read_text("utf-8"))


def plain(text: str) -> str:
    """Return a recorded formula or reason as a person reads it."""
    for recorded, clear in phrases().items():
        text = text.replace(recorded, clear)
    return text
