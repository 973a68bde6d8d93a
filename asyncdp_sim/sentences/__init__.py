"""Every sentence on scenarios, decisions, forecasts and results; the meanings of names."""

import tomllib
from importlib.resources import files

WORDS = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
"""Names and sentences that say the same whatever the figures are."""
