"""Blocks of ``docs/parts`` that come from the code: what a kind runs on, and its oracles."""

import re
from pathlib import Path

from asyncdp_sim.core.specification import Variant, kind_of, members
from tests.conformance.members import FAMILIES
from tests.oracles import Basis, basis_of, oracles_of
from tests.tables import table

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "docs" / "parts"
TABLE = table(__file__, "parts.toml")
PAGES = TABLE["pages"]
"""Families with a page of all their members."""
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
    """Return what a member rests on, and how many oracles it has; their page names them."""
    basis = basis_of(member)
    if basis is Basis.unverified:
        return f"Validation: **{basis.words}**."
    count = len(oracles_of(member))
    listed = f"[{count} oracle{'' if count == 1 else 's'}](../verification/oracles.md#{family})"
    return f"Validation: **{basis.words}**, {listed}."
