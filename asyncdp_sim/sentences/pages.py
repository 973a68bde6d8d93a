"""Pages of the documentation, and the JSON schema of scenario files."""

import re
from contextlib import suppress
from importlib.resources import files
from os.path import lexists
from pathlib import Path
from shlex import quote

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import write_new
from asyncdp_sim.core.words import did_you_mean

NEAR = 4
"""Most suggestions for an unknown name."""
_SIMILAR = 0.4
"""Least similarity of a suggested topic or heading, from 0 to 1."""


def topic(path: str) -> str:
    """Return what a page is called: ``privacy`` of ``docs/privacy/README.md``, with its anchor."""
    return re.sub(r"(/README)?\.md", "", path.removeprefix("docs/"))


def files_by_topic() -> dict[str, Path]:
    """Return the files of all pages by topic, sorted."""
    package = Path(__file__).parents[1]
    shipped = package / "docs"
    folder = shipped if shipped.is_dir() else package.parent / "docs"  # of a checkout
    inside = (file.relative_to(folder) for file in folder.rglob("*.md"))
    return {name: folder / file for name, file in sorted((topic(f.as_posix()), f) for f in inside)}


def topics() -> list[str]:
    """Return a line for each page: its topic and its title."""
    titles = {
        name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for name, file in files_by_topic().items()
    }
    width = max(map(len, titles))
    return [f"{name:<{width}}  {title}" for name, title in titles.items()]


def page_text(name: str) -> str:
    """Return a page, or with ``#HEADING`` behind its topic a section of it.

    Raises
    ------
    SpecError
        If there is no such page or heading, naming the nearest.
    """
    asked, _, anchor = name.partition("#")
    files_of_pages = files_by_topic()
    if asked not in files_of_pages:
        raise _unknown(name, list(files_of_pages))
    text = files_of_pages[asked].read_text(encoding="utf-8")
    return text if anchor == "" else _section(name, text, anchor)


def _section(name: str, text: str, anchor: str) -> str:
    """Return a section with those below it."""
    lines = text.splitlines(keepends=True)
    fenced, headings = False, list[tuple[int, int, str]]()
    for place, line in enumerate(lines):
        if line.startswith("```"):  # a block of code begins or ends, in which # begins a comment
            fenced = not fenced
        match = None if fenced else re.match(r"(#+) (.*)", line)
        if match is not None:
            headings.append((place, len(match[1]), _anchor(match[2])))
    for place, level, heading in headings:
        if heading == anchor:
            after = (other for other, depth, _ in headings if other > place and depth <= level)
            return "".join(lines[place : next(after, len(lines))])
    page = name.partition("#")[0]
    raise _unknown(name, [f"{page}#{heading}" for _, _, heading in headings])


def _anchor(heading: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _unknown(name: str, known: list[str]) -> SpecError:
    hint = did_you_mean(name, known, NEAR, _SIMILAR)
    return SpecError([Fault("docs", repr(name), f"{hint}asyncdp docs prints all topics")])


def schema_text() -> str:
    """Return the JSON schema of scenario files, as the text of its file.

    It says what a field may hold by itself; that fields fit together only loading can tell.
    """
    return files(__package__).joinpath("asyncdp.schema.json").read_text("utf-8")


def write_beside(file: Path) -> str | None:
    """Write this version's schema into the scenario's folder, unless the folder has one.

    The first line of a new scenario names this file.

    Returns
    -------
    str or None
        What was written, or how to replace a schema of another version; None for one of this.
    """
    from asyncdp_sim.scenario.files import SCHEMA_FILE  # pages need no scenario

    place = file.parent / SCHEMA_FILE
    if not lexists(place):
        write_new(schema_text(), place, "-o")
        return f"also written: {SCHEMA_FILE}; editors use it to complete and check the file"
    with suppress(OSError):  # a folder, or a link to nothing
        if place.read_bytes() == schema_text().encode():
            return None
    return f"{place} is of another version; to replace it: asyncdp schema -o {quote(str(place))}"
