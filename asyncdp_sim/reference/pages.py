"""Pages of the documentation as texts, which ship with the package."""

import re
from pathlib import Path

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.words import did_you_mean


def topic(path: str) -> str:
    """Return what a page is called: ``privacy`` of ``docs/privacy/README.md``, with its anchor."""
    return re.sub(r"(/README)?\.md", "", path.removeprefix("docs/"))


def pages() -> dict[str, Path]:
    """Return the files of all pages by topic, sorted."""
    package = Path(__file__).parents[1]
    shipped = package / "docs"
    folder = shipped if shipped.is_dir() else package.parent / "docs"  # of a checkout
    files = (file.relative_to(folder) for file in folder.rglob("*.md"))
    return {name: folder / file for name, file in sorted((topic(f.as_posix()), f) for f in files)}


def topics() -> list[str]:
    """Return a line for each page: its topic, and the title where that says more."""
    titles = {
        name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for name, file in pages().items()
    }
    width = max(map(len, titles))
    rows = ((name, "" if title == name.split("/")[-1] else title) for name, title in titles.items())
    return [f"{name:<{width}}  {title}".rstrip() for name, title in rows]


def page_text(name: str) -> str:
    """Return a page, or with ``#HEADING`` behind its topic a section of it.

    Raises
    ------
    SpecError
        If there is no such page or heading, naming the nearest.
    """
    asked, _, anchor = name.partition("#")
    known = pages()
    if asked not in known:
        raise _unknown(name, list(known))
    text = known[asked].read_text(encoding="utf-8")
    return text if anchor == "" else _section(name, text, anchor)


def _section(name: str, text: str, anchor: str) -> str:
    """Return a section with those below it."""
    lines = text.splitlines(keepends=True)
    fenced, headings = False, list[tuple[int, int, str]]()
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        match = None if fenced else re.match(r"(#+) (.*)", line)
        if match is not None:
            headings.append((place, len(match[1]), _anchor(match[2])))
    for place, level, found in headings:
        if found == anchor:
            after = (other for other, depth, _ in headings if other > place and depth <= level)
            return "".join(lines[place : next(after, len(lines))])
    page = name.partition("#")[0]
    raise _unknown(name, [f"{page}#{found}" for _, _, found in headings])


def _anchor(heading: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _unknown(name: str, known: list[str]) -> SpecError:
    hint = did_you_mean(name, known, 4, 0.4)
    return SpecError([Fault("docs", repr(name), f"{hint}asyncdp docs prints all topics")])
