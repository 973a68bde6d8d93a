"""Blocks of ``docs/parts`` that come from the code: what a kind runs on, and its oracles."""

import re
from pathlib import Path

from asyncdp_sim.core.specification import Variant, kind_of, members
from tests.conformance.members import FAMILIES
from tests.oracles import Basis, basis_of, oracles_of

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "docs" / "parts"
PAGES = {
    "clock": "clocks.md",
    "law": "laws.md",
    "availability": "availability.md",
    "channel": "channels.md",
    "mechanism": "mechanisms.md",
    "protocol": "protocols.md",
    "algorithm": "algorithms.md",
}
"""Families with a page of all their members."""
SHOWN = 2
"""Oracles that a section names, those of the fewest kinds; the page of oracles has all."""
BLOCK = re.compile(
    r"(?<=<!-- oracles )([\w-]+)\.([\w-]+) -->\n(.*?)(?=<!-- end of oracles -->)", re.S
)


def expected() -> dict[Path, list[str]]:
    """Return every page that there has to be, with the members that it is about."""
    return {
        PARTS / name: [f"{family}.{kind_of(member)}" for member in members(FAMILIES[family])]
        for family, name in PAGES.items()
    }


def told(page: str) -> list[str]:
    """Return the members whose blocks a page has."""
    return [f"{family}.{kind}" for family, kind, _ in BLOCK.findall(page)]


def lacking() -> list[str]:
    """Return what pages lack for :func:`rewritten` to fill in, a line for each."""
    found = []
    for path, kinds in expected().items():
        here = told(path.read_text("utf-8")) if path.exists() else []
        found += [
            f"{path.relative_to(ROOT)} lacks <!-- oracles {kind} --> and, below it, "
            "<!-- end of oracles -->"
            for kind in kinds
            if kind not in here
        ]
    return found


def rewritten(page: str) -> str:
    """Return a page with its blocks as the code has them now."""
    return BLOCK.sub(lambda found: f"{found[1]}.{found[2]} -->\n{block(found[1], found[2])}", page)


def block(family: str, kind: str) -> str:
    """Return the block of a member: what it runs on, and what it is held against."""
    [member] = [each for each in members(FAMILIES[family]) if kind_of(each) == kind]
    lines = []
    if family == "algorithm":
        fitting = [each for each in members(FAMILIES["protocol"]) if member.runs_on(each)]
        linked = [f"[{kind_of(each)}](protocols.md#{kind_of(each)})" for each in fitting]
        lines.append(f"Runs on {', '.join(linked)}.")
    return "\n".join([*lines, _oracles(family, member)]) + "\n"


def _oracles(family: str, member: type[Variant]) -> str:
    """Return what a member is held against: its basis, and the oracles of its own family."""
    basis = basis_of(member)
    if basis is Basis.unverified:
        return f"Basis: **{basis.words}**. No test compares its numbers with anything independent."
    found = oracles_of(member)
    named = {each.__name__ for each in members(FAMILIES[family])}
    close = sorted((each for each in found if each.kinds[0] in named), key=lambda o: len(o.kinds))
    own = [_plain(oracle.statistic) for oracle in close[:SHOWN]]
    others = len(found) - len(own)
    more = f"{others} [more](../verification/oracles.md)" if others > 0 else ""
    return f"Basis: **{basis.words}**. Checked: {'; '.join(filter(None, (*own, more)))}."


def _plain(text: str) -> str:
    """Return text in which Markdown finds no marks of its own."""
    return re.sub(r"([*_|\[\]`])", r"\\\1", text).replace("<", "&lt;")
