"""Scenario, commands and output that pages of ``docs/privacy`` show.

A block that is fenced as ``console`` (or ``console nightly``, which takes longer) holds commands
after ``$ ``, continued after ``> ``; under each what it prints, of which lines may be left out and
an ``…`` at a line's end leaves out the rest of it; and ``# exit 3`` where it does not end with 0.
A block that is fenced as ``python`` is run before them.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tests.cli.command import Command

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "privacy"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?|∞")


@dataclass(frozen=True)
class Shown:
    """A command of a page, and what the page says that it prints."""

    page: str
    nightly: bool
    arguments: tuple[str, ...]
    lines: tuple[str, ...]
    code: int


def fenced(page: Path, *infos: str) -> list[tuple[str, str]]:
    """Return blocks of these kinds, each with its kind."""
    found = re.findall(r"^```(\w[\w ]*)\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return [(info, text) for info, text in found if info in infos]


def pages() -> list[Path]:
    return sorted(FOLDER.glob("*.md"))


def scenario() -> str:
    [(_, text)] = fenced(FOLDER / "README.md", "toml")
    return text


def shown() -> list[Shown]:
    """Return all commands of all pages; settings that have a name are put in, as a shell does."""
    text = "".join(page.read_text("utf-8") for page in pages())
    named = dict(re.findall(r"^\$ (\w+)='(.*)'$", text, re.M))
    blocks = [
        (page.stem, info.endswith("nightly"), text)
        for page in pages()
        for info, text in fenced(page, "console", "console nightly")
    ]
    return [each for block in blocks for each in commands(*block, named)]


def commands(page: str, nightly: bool, text: str, named: dict[str, str]) -> Iterator[Shown]:
    """Yield the commands of a block, with what it says that they print."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, *printed = part.replace("\\\n> ", "").splitlines()
        program, *words = shlex.split(command)
        if program != "asyncdp":
            continue
        arguments = [
            part
            for word in words
            for part in (named[word[1:]].split() if word.startswith("$") else [word])
        ]
        code = [int(line.removeprefix("# exit ")) for line in printed if line[:7] == "# exit "]
        lines = [line for line in printed if not line.startswith("#")]
        yield Shown(page, nightly, tuple(arguments), tuple(lines), code[0] if code else 0)


def agrees(claimed: str, line: str) -> bool:
    """Return whether a page's line says what was printed: words alike, numbers to 0.5 %."""
    if claimed.endswith("…"):
        claimed = claimed.removesuffix("…").rstrip()
        told = len(NUMBER.findall(claimed))
        words, rest = NUMBER.split(claimed), NUMBER.split(line)
        if not rest[told : told + 1] or not rest[told].startswith(words[told]):
            return False
        left, right = NUMBER.findall(claimed), NUMBER.findall(line)[:told]
        return words[:told] == rest[:told] and all(map(_near, left, right))
    if NUMBER.split(claimed) != NUMBER.split(line):
        return False
    return all(map(_near, NUMBER.findall(claimed), NUMBER.findall(line)))


def _near(claimed: str, found: str) -> bool:
    if "∞" in (claimed, found):
        return claimed == found
    return abs(float(claimed) - float(found)) <= 0.005 * abs(float(found))


def hold(command: Command, each: Shown) -> None:
    """Run a command of a page, which must print what the page says, and end as it says."""
    said = command(*each.arguments)
    printed = (said.out + said.err).splitlines()
    assert said.code == each.code, printed
    assert missing(each.lines, printed) is None, (missing(each.lines, printed), printed)


def missing(claimed: tuple[str, ...], printed: list[str]) -> str | None:
    """Return the first line of a page that was not printed, in its place."""
    left = iter(printed)
    for line in claimed:
        if not any(agrees(line, other) for other in left):
            return line
    return None


def alike(found: Path, expected: Path) -> None:
    """Require that the lines of two sessions agree."""
    texts = (file.read_text("utf-8").splitlines() for file in (found, expected))
    for line, told in zip_longest(*texts, fillvalue="(no line)"):
        same = told == line or agrees(told.replace("…", "..."), line.replace("…", "..."))
        assert same, f"{told}\nnow: {line}"
