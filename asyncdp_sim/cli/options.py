"""Options and arguments that several commands take, and their reading."""

from collections.abc import Callable, Sequence
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from asyncdp_sim.decision import Judging
    from asyncdp_sim.scenario import Scenario


def directory(given: str | Path) -> Path:
    """Read a directory; a URL is none, since it has no lock that keeps two sweeps apart."""
    if "://" in str(given):
        remedy = "allowed is a directory: a shared folder serves a cluster"
        raise typer.BadParameter(f"given {str(given)!r}, a URL; {remedy}")
    return Path(given)


def whole_number(given: str | int) -> int:
    """Read an option's whole number."""
    text = str(given)
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise typer.BadParameter(f"given {text!r}; allowed is a whole number")
    if len(text) > 30:
        raise typer.BadParameter(f"given {text[:27]}...; allowed is a whole number below 2^63")
    return int(text)


def count_from(least: int) -> Callable[[str | int], int]:
    """Return a reader of numbers of things that are at least so many."""

    def read(given: str | int) -> int:
        number = whole_number(given)
        if number < least:
            raise typer.BadParameter(f"given {number}; allowed is a whole number ≥ {least}")
        return number

    return read


from_zero = count_from(0)
positive_count = count_from(1)
attack_count = count_from(100)
"""Of attacks, half of which are for the choice of what to look for."""


def charset_name(given: str) -> str:
    """Read the name of a charset."""
    from asyncdp_sim.data.tables.file_form import charset_of

    try:
        return charset_of(given)
    except ValueError as error:
        raise typer.BadParameter(f"given {given!r}; {error}") from None


def number_that(fits: Callable[[float], bool], allowed: str) -> Callable[[str | float], float]:
    """Return a reader of numbers that fit; a text that is none is not a number."""

    def read(given: str | float) -> float:
        try:
            number = float(given)
        except ValueError:
            number = nan
        if not fits(number):
            raise typer.BadParameter(f"given {str(given)!r}; allowed is a number {allowed}")
        return number

    return read


positive = number_that(lambda number: 0 < number < inf, "> 0")
not_negative = number_that(lambda number: 0 <= number < inf, "≥ 0")
inches = number_that(lambda number: 2.5 <= number <= 20, "of 2.5 to 20 inches")
open_share = number_that(lambda number: 0 < number < 1, "in (0, 1)")
share = number_that(lambda number: 0 < number <= 1, "> 0 and at most 1")


def price_list(given: str) -> tuple[float, ...]:
    """Read prices > 0, separated by commas."""
    return tuple(positive(item.strip()) for item in given.split(","))


def length_of_time(given: str) -> tuple[float, str]:
    """Read a number and a unit of time, such as "2 h"."""
    from asyncdp_sim.core.units import duration

    try:
        return duration(given)
    except ValueError as error:
        raise typer.BadParameter(f"given {error}") from None


def as_options(settings: Sequence[str]) -> list[str]:
    """Return settings as the words of a command."""
    return [word for setting in settings for word in ("--set", setting)]


def who(only: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the settings of ``--only`` and ``--without``."""
    if len(only) > 0 and len(without) > 0:
        raise typer.BadParameter("given --only and --without; allowed is one of them")
    import json

    named = {"only": only, "without": without}
    return [
        f"owners.{key}={json.dumps(names, ensure_ascii=False)}"
        for key, names in named.items()
        if len(names) > 0
    ]


def as_judging(material: float | None, own_best: str) -> "Judging":
    """Return how gains are judged, as ``--material`` and ``--own-best`` say."""
    from asyncdp_sim.decision import MATERIAL, Judging

    if own_best not in ("any", "linear"):
        raise typer.BadParameter(f"given --own-best {own_best!r}; allowed: any, linear")
    share = MATERIAL if material is None else material
    return Judging(share, "linear" if own_best == "linear" else "any")


def load_scenario(
    file: Path, settings: Sequence[str], allow_code: bool
) -> tuple["Scenario", list[str]]:
    """Load a scenario by file or name; return it, and what settings changed beside their own."""
    from asyncdp_sim.scenario import load
    from asyncdp_sim.scenario.catalogue import scenario_file

    return load(scenario_file(file), settings, allow_code=allow_code)


def base_notes(file: Path, scenario: "Scenario") -> list[str]:
    """Return a note where a command takes a scenario without its sweep."""
    if len(scenario.sweep) == 0:
        return []
    swept = ", ".join(scenario.sweep)
    return [f"{file} sweeps {swept}; this result is of the base values only"]
