"""A malformed scenario file starts with what a user sees: the command and its error lines."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.tables import table

FILES = Path(__file__).parent / "files"
REST = "…"
"""Ends an expected line of which the rest is left open."""

TABLE = table(__file__, "transcript.toml")
LEAKS = TABLE["leaks"]
"""Words of the libraries behind the command line, which no user should have to read."""


@dataclass(frozen=True)
class Transcript:
    """What stands at the top of a file.

    Attributes
    ----------
    name : str
        The file's name.
    arguments : tuple of str
        After ``asyncdp``.
    expected : tuple of str
        The lines on stderr; one that ends in ``…`` may go on.
    """

    name: str
    arguments: tuple[str, ...]
    expected: tuple[str, ...]


def transcript(file: Path) -> Transcript:
    """Read the comment at the top of a file, up to its first empty line."""
    head = file.read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    said = [line.removeprefix("# ") for line in head]
    start = "$ asyncdp "
    assert said[0].startswith(start), file
    words = shlex.split(said[0].removeprefix(start))
    arguments = tuple(word.replace("\\n", "\n") for word in words)
    return Transcript(file.name, arguments, tuple(said[1:]))


def agrees(line: str, expected: str) -> bool:
    """Whether a line is the expected one, as far as it is told."""
    expected = expected.replace("{folder}", str(FILES))
    if expected.endswith(REST):
        return line.startswith(expected.removesuffix(REST).rstrip())
    return line == expected


def leaked(text: str) -> list[str]:
    """Return the words of :data:`LEAKS` that a text holds."""
    return [word for word in LEAKS if word in text.lower()]
