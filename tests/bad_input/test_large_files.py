"""A scenario that could not be read in seconds is refused before it is."""

from pathlib import Path

import pytest

from asyncdp_sim.core.files import from_toml
from tests.cli.command import Command
from tests.cli.scenes import SMALL

FEW = "allowed are 500,000: one value for all owners, or fewer owners"
SOON = 2.0
"""Processor seconds; without a limit each of them takes from 5 to 60."""
PARTS = ".".join("a" * 20_000)
SPACED = ' . "a"' * 20_000
DEEP = "text that is not TOML (tables or lists nested more than 100 deep); "
DEEP += "allowed is TOML 1.0, as in asyncdp new"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (f"rate = [{'1.0,' * 1_000_000}]", f"1,000,042 values and lines; {FEW}"),
        (f"{PARTS} = 1", DEEP),
        (f"[{PARTS}]", DEEP),
        (f"a{SPACED} = 1", DEEP),
        (f"x = {{ y = 1, {PARTS} = 1 }}", DEEP),
    ],
    ids=["a list", "a key", "a table", "a quoted key", "an inline table"],
)
def test_it_is_refused_at_once(more: str, said: str, here: Path, command: Command):
    (here / "large.toml").write_text(f"{SMALL}\n{more}\n", encoding="utf-8")
    command.refused("check", "small.toml")  # imports are paid for
    ended = command("check", "large.toml")
    assert (ended.code, ended.lines) == (2, [f"large.toml: given {said}"])
    assert ended.seconds < SOON


def test_a_list_of_a_hundred_thousand_rates_is_read():
    assert len(from_toml(f"rate = [{'1.0,' * 100_000}]")["rate"]) == 100_000


def test_of_very_many_mistakes_the_first_are_said(here: Path, command: Command):
    keys = "\n".join(f"k{number} = 1" for number in range(3000))
    (here / "keys.toml").write_text(f"{keys}\n{SMALL}", encoding="utf-8")
    ended = command("check", "keys.toml")
    assert ended.code == 2
    assert len(ended.lines) == 1001
    assert ended.lines[-1] == "keys.toml: given 2,000 more mistakes; mend those above first"
