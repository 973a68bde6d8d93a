"""The page of all public names, ``docs/reference/python.md``, from their docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import asyncdp_sim
from tests.tables import table

_MEMBERS = ("TracePlots", "RunPlots", "SweepPlots", "ComparisonPlots", "ForecastPlots")
"""Classes of what ``.plot`` gives, which have no name at the top."""
TABLE = table(__file__, "page.toml")
_SHOWN = TABLE["shown"]
"""Members of classes outside ``asyncdp_sim.api``; of those inside, all are shown."""
_HEAD = TABLE["head"]


def page() -> str:
    """Return the page as Markdown."""
    from asyncdp_sim.api import pictures

    named: dict[str, Any] = {name: getattr(asyncdp_sim, name) for name in asyncdp_sim.__all__}
    parts: dict[str, dict[str, Any]] = {
        "Functions": {name: each for name, each in named.items() if inspect.isfunction(each)},
        "Classes": {
            name: each
            for name, each in named.items()
            if inspect.isclass(each) and not issubclass(each, Exception)
        },
        "Pictures": {name: getattr(pictures, name) for name in _MEMBERS},
        "Errors": {
            name: each
            for name, each in named.items()
            if inspect.isclass(each) and issubclass(each, Exception)
        },
    }
    lines, before = [_HEAD], set[str]()
    for title, members in parts.items():
        lines.append(f"## {title}\n")
        lines += [_entry(name, each, before) for name, each in members.items()]
    return "\n".join(lines)


def _entry(name: str, each: Any, before: set[str]) -> str:
    """Return a name's signature and docstring; of a class, also its members in a line each.

    Rows that stand before are added to, and those that another class had are only named.
    """
    parts = [f"### `ad.{name}`\n" if name in asyncdp_sim.__all__ else f"### `{name}`\n"]
    if inspect.isfunction(each):
        parts.append(f"```text\n{name}{_signature(each)}\n```\n")
    parts += _sections(inspect.getdoc(each) or "")
    members = _members(each) if inspect.isclass(each) else {}
    rows = {f"| `.{_called(n, m)}` | {_markdown(_first(m))} |": n for n, m in members.items()}
    old = ", ".join(f"`.{member}`" for row, member in rows.items() if row in before)
    new = [row for row in rows if row not in before]
    before.update(new)
    if old != "":
        parts.append(f"Also {old}, as above.\n")
    if len(new) > 0:
        parts.append("\n".join(["| member | meaning |", "|---|---|", *new, ""]))
    for member, method in members.items():
        documented = inspect.getdoc(method) or ""
        if re.search(r"^Parameters\n-", documented, re.M):
            parts.append(f"#### `.{_called(member, method)}`\n")
            parts += _sections(documented.partition("\n")[2])
    return "\n".join(parts)


def _sections(docstring: str) -> Iterator[str]:
    """Yield a numpydoc docstring as Markdown: its text, then its sections but the examples."""
    text, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", docstring, flags=re.M)
    if text.strip() != "":
        yield f"{_markdown(text.strip())}\n"
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title in ("Examples", "Raises"):
            continue
        if title in ("Returns", "Yields"):
            yield "".join(f"{title} {_markdown(line)}\n" for line in _entries(body))
            continue
        rows = [f"- {_markdown(line)}" for line in _entries(body) if ":" in line]
        yield from ["\n".join([*rows, ""])] if len(rows) > 0 else []


def _entries(section: str) -> Iterator[str]:
    """Yield each name of a section with its meaning in a line; a signature has the types."""
    for entry in re.split(r"\n(?=\S)", section.strip()):
        head, _, meaning = entry.partition("\n")
        quoted = ", ".join(f"`{name}`" for name in head.partition(" : ")[0].split(", "))
        yield f"{quoted}: {' '.join(meaning.split())}" if meaning != "" else quoted


def _markdown(text: str) -> str:
    """Return text of a docstring with Markdown's marks for code."""
    return re.sub(r":\w+:`~?([\w.]+)`|``(.+?)``", lambda found: f"`{found[1] or found[2]}`", text)


def _signature(function: Any) -> str:
    """Return a signature, a line for each argument, in the words of the source."""
    given = inspect.signature(function).parameters.values()
    starred = any(each.kind is each.VAR_POSITIONAL for each in given)
    lines, bare = list[str](), starred
    for each in given:
        if each.kind is each.KEYWORD_ONLY and not bare:
            lines.append("    *,")
            bare = True
        lines.append(f"    {_bare(str(each))},")
    gives = inspect.formatannotation(inspect.signature(function).return_annotation)
    return "\n".join(["(", *lines, f") -> {_bare(gives)}"])


def _bare(annotation: str) -> str:
    """Return an annotation without the modules of its names."""
    plain = re.sub(r"(?:[a-zA-Z_]\w*\.)+(\w+)", r"\1", annotation)
    return re.sub(r"Optional\[(.+)\]", r"\1 | None", plain)


def _members(each: type[Any]) -> dict[str, Any]:
    """Return a class's public members that the page shows, inherited ones first."""
    own = [kind for kind in reversed(each.mro()) if kind.__module__ == each.__module__]
    found = {name: member for kind in own for name, member in vars(kind).items()}
    if each.__module__.startswith(f"{asyncdp_sim.__name__}.api."):
        return {name: member for name, member in found.items() if not name.startswith("_")}
    return {name: found[name] for name in _SHOWN.get(each.__name__, ())}


def _called(name: str, member: Any) -> str:
    """Return a member as it is written: of a method, with its parameters and their defaults."""
    if not inspect.isfunction(member):
        return name
    given = [*inspect.signature(member).parameters.values()][1:]
    return f"{name}({', '.join(str(each.replace(annotation=each.empty)) for each in given)})"


def _first(member: Any) -> str:
    line = (inspect.getdoc(member) or "").partition("\n")[0]
    return re.sub(r",? (as )?a pandas frame", "", line)  # the head of the page says so
