"""Every sentence on scenarios, decisions, forecasts and results; the meanings of names."""

import re
import tomllib
from importlib.resources import files

WORDS = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
"""Names and sentences that say the same whatever the figures are."""
NEAR = 4
"""Most suggestions for an unknown name."""


def topic(path: str) -> str:
    """Return what a page is called: ``privacy`` of ``docs/privacy/README.md``, with its anchor."""
    return re.sub(r"(/README)?\.md", "", path.removeprefix("docs/"))
