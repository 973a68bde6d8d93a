"""Blocks of ``docs/parts`` that come from the code: how a kind is written, and its oracles."""

import re
from collections.abc import Iterator
from pathlib import Path

import tomli_w

from asyncdp_sim.core.specification import Spec, Variant, kind_of, members
from asyncdp_sim.scenario.fields import examples_of
from tests.conformance.members import FAMILIES
from tests.oracles import Basis, Oracle, basis_of, oracles_of
from tests.unit.reference.pages import home

ROOT = Path(__file__).resolve().parents[2]
PARTS = ROOT / "docs" / "parts"
SECTIONS = ("protocol", "algorithm")
"""Families with a page for each member, and tables of a scenario that name a member."""
TOGETHER = {
    "clock": "clocks.md",
    "law": "laws.md",
    "availability": "availability.md",
    "channel": "channels.md",
    "mechanism": "mechanisms.md",
}
"""Families with one page for all members."""
BLOCK = re.compile(
    r"(?<=<!-- oracles )([\w-]+)\.([\w-]+) -->\n(.*?)(?=<!-- end of oracles -->)", re.S
)


def expected() -> dict[Path, list[str]]:
    """Return every page that there has to be, with the members that it is about."""
    pages = {
        PARTS / family / f"{kind_of(member)}.md": [f"{family}.{kind_of(member)}"]
        for family in SECTIONS
        for member in members(FAMILIES[family])
    }
    for family, name in TOGETHER.items():
        kinds = [f"{family}.{kind_of(member)}" for member in members(FAMILIES[family])]
        pages[PARTS / name] = kinds
    return pages


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
    """Return the block of a member."""
    [member] = [each for each in members(FAMILIES[family]) if kind_of(each) == kind]
    heading = ["## Validation"] if family in SECTIONS else []
    written = [*_setting(family, member), *_fields(family), *heading, *_oracles(member)]
    return "\n".join(written) + "\n"


def _fields(family: str) -> Iterator[str]:
    """Yield where the fields of a member are told."""
    if family in SECTIONS:
        yield f"Fields: [`{family}`](../../reference/{home(family)}).\n"


def _setting(family: str, member: type[Variant]) -> Iterator[str]:
    """Yield how a scenario writes an example of a member, and which protocols carry it."""
    if family not in SECTIONS:
        return
    section = {family: _said(examples_of(member)[0])}
    yield "## In a scenario"
    yield "```toml"
    yield tomli_w.dumps(section).strip()
    yield "```\n"
    if family == "algorithm":
        fitting = [each for each in members(FAMILIES["protocol"]) if member.runs_on(each)]
        linked = [f"[{kind_of(each)}](../protocol/{kind_of(each)}.md)" for each in fitting]
        yield f"Runs on {', '.join(linked)}.\n"


def _said(kind: Spec) -> dict[str, object]:
    """Return the fields in which a specification is not as it would be without a word."""
    written = kind.model_dump(mode="json")
    said: dict[str, object] = {"kind": written["kind"]}
    for name, field in type(kind).model_fields.items():
        value = getattr(kind, name)
        if name == "path":
            said[name] = Path(value).name
        elif isinstance(value, Spec):
            said[name] = _said(value)
        elif name != "kind" and value is not None and value != field.default:
            said[name] = written[name]
    return said


def _oracles(member: type[Variant]) -> Iterator[str]:
    """Yield what a member is held against, or that it is against nothing."""
    basis = basis_of(member)
    if basis is Basis.unverified:
        yield f"Basis: **{basis.words}**. No test compares its numbers with anything independent."
        return
    yield f"Basis: **{basis.words}**.\n"
    yield "| measured | must equal | tested cases | tests |"
    yield "| --- | --- | --- | --- |"
    yield from (_row(oracle) for oracle in oracles_of(member))


def _row(oracle: Oracle) -> str:
    files = dict.fromkeys(test.split("::")[0] for test in oracle.tests)
    tests = ", ".join(f"`tests/{file}`" for file in files)
    note = "" if oracle.basis is Basis.exact else f" ({oracle.basis.words})"
    said = (oracle.statistic, f"{oracle.formula}{note}", oracle.setting)
    return "| " + " | ".join([*map(_plain, said), tests]) + " |"


def _plain(text: str) -> str:
    """Return text in which Markdown finds no marks of its own."""
    return re.sub(r"([*_|\[\]`])", r"\\\1", text).replace("<", "&lt;")
