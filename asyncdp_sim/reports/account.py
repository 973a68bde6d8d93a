"""Account of what was simulated: title, story, and the scenario in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from asyncdp_sim.describe import describe
from asyncdp_sim.errors import InputError
from asyncdp_sim.figures.kit.source import Result, Sweep
from asyncdp_sim.scenario import data_files, load

_ELSEWHERE = ("predicted", "budget")
"""What lines of a description begin with that stand in a table of the page."""


@dataclass(frozen=True)
class AccountLine:
    """A part of the scenario: its name, and what it is."""

    name: str
    text: str


@dataclass(frozen=True)
class Account:
    """An account of what was simulated.

    Attributes
    ----------
    id, title, source : str
    story : tuple of str
        Paragraphs of the scenario's own description.
    lines : tuple of AccountLine
        The scenario in words; without members where it does not load any more.
    note : str
        Why it does not; empty where it does.
    """

    id: str
    title: str
    source: str
    story: tuple[str, ...]
    lines: tuple[AccountLine, ...]
    note: str


def account(opened: Result | Sweep, scenario: dict[str, Any]) -> Account:
    """Return what was simulated, from the directory's own scenario."""
    note, lines = "", tuple[AccountLine, ...]()
    try:
        lines = tuple(_lines(opened.directory))
    except InputError as error:
        fault = error.faults[0]
        note = f"The scenario does not load any more ({fault.key or fault.given}): in words it is "
        note += "its description alone."
    return Account(
        id=str(scenario["id"]),
        title=str(scenario.get("title") or scenario["id"]),
        source=str(scenario.get("source") or ""),
        story=tuple(_paragraphs(str(scenario.get("description", "")))),
        lines=lines,
        note=note,
    )


def _lines(directory: Path) -> Iterator[AccountLine]:
    """Yield what ``asyncdp check`` says of the scenario, but for what a table says better.

    Files go by their names: where they lie is nobody's concern but their owner's.
    """
    scenario, _ = load(directory / "scenario.toml")
    places = data_files(scenario)
    for said in describe(scenario):
        for place in places:
            said = said.replace(place, PurePath(place).name)
        name, colon, text = said.partition(": ")
        if name.startswith(_ELSEWHERE):
            continue
        yield AccountLine(name, text) if colon and name.count(" ") < 2 else AccountLine("", said)


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.strip().split("\n\n"):
        if part.strip():
            yield " ".join(part.split())
