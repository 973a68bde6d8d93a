"""A figure of a paper: what runs it, how it is drawn, and what it says."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import Entry, entry
from scenarios.papers import claims, exact, problem, replayed
from scenarios.papers.claims import OURS, SENTENCES, Claim, Printed, Reason, result

Settings = tuple[str, ...]
"""``path=value``, as on the command line."""
AS_PUBLISHED = "as-published"
"""The options of the authors' published code: the catalogue's file as it is."""
AS_WRITTEN = "as-written"
"""What the paper's text says, where that is something else."""
SOUND = "sound"
"""The same question with answers that are private as claimed."""
EVERY = (AS_PUBLISHED, AS_WRITTEN, SOUND)
"""What every figure has; some have more."""
TEXT = (AS_PUBLISHED, AS_WRITTEN)
_GROUPS = {"every": EVERY, "text": TEXT}
COMMON = Path(__file__).with_name("common.toml")
"""Claims and reasons of figures of several files."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, or a result that one states.

    Attributes
    ----------
    name : str
        The paper and the figure's number, such as ``async-05``.
    source : str
        As in the scenario, such as ``Async, figure 5``.
    entry : str
        Id of the catalogue's scenario, or a file in ``scenarios``; it has a sweep.
    claims : tuple of Claim
    variants : mapping
        Settings by name; ``as-published`` has none.
    pictures : callable
        Draws a finished sweep, in the paper's manner; nothing by default.
    small : tuple of str
        Settings that make a run of seconds of it.
    small_of : mapping
        Those of single variants, in their place.
    full : tuple of str
        Settings of the paper's size, where the entry has another.
    alike : str
        Why the text asks for nothing else than what is run as published, where ``as-written`` has
        no settings; empty elsewhere.
    printed : tuple of Printed
        What claims judge that name no sentence of their own.
    """

    name: str
    source: str
    entry: str
    claims: tuple[Claim, ...]
    variants: Mapping[str, Settings]
    pictures: Callable[[Sweep], Sequence[Picture]] = lambda _: ()
    small: Settings = ()
    small_of: Mapping[str, Settings] = field(default_factory=dict)
    full: Settings = ()
    alike: str = ""
    printed: tuple[Printed, ...] = ()

    def __reduce__(self) -> tuple[Callable[[str], "PaperFigure"], tuple[str]]:
        """Pickle it by its name: what reads and draws it may be functions without a name."""
        return _named, (self.name,)

    @property
    def together(self) -> str:
        """What figures that take least time in one process have in common."""
        data = self.origin.scenario().data.kind
        return data if data == "hospital" else self.entry  # its records and moments take longest

    @property
    def origin(self) -> Entry:
        """The scenario that runs it."""
        file = Path(__file__).parents[1] / self.entry
        return Entry(file) if file.suffix == ".toml" else entry(self.entry)

    def scenario(self, variant: str, *, full: bool, more: Settings = ()) -> Scenario:
        """Load the scenario of a variant.

        Raises
        ------
        SpecError
            If a setting does not fit.
        """
        size = self.full if full else self.small_of.get(variant, self.small)
        return self.origin.scenario((*self.variants[variant], *size, *more))

    def repeats(self, variant: str) -> bool:
        """Return whether a variant asks for nothing else than what is run as published."""
        return variant != AS_PUBLISHED and len(self.variants[variant]) == 0


def _named(name: str) -> PaperFigure:
    from scenarios.beyond import RESULTS  # which import this module
    from scenarios.papers import FIGURES

    [figure] = (figure for figure in (*FIGURES, *RESULTS) if figure.name == name)
    return figure


def read_figures(file: Path, names: Mapping[str, Any]) -> tuple[PaperFigure, ...]:
    """Return the figures of a TOML file, in its order.

    A table is a figure; an array of claims has a name, by which later arrays include it, as they
    do those of ``common.toml``. Reasons have their own tables, below texts that several of them
    have in common, and so have variants and statements that several claims judge.

    Parameters
    ----------
    file : Path
    names : mapping
        Readings, numbers, drawings, variants and arrays of claims by the names that the file has
        for them; readings of the modules beside this one, which serve many, are known without.
    """
    shared, tables = (tomllib.loads(each.read_text(encoding="utf-8")) for each in (COMMON, file))
    groups = {
        **vars(claims),
        **vars(exact),
        **vars(problem),
        **vars(replayed),
        **shared,
        **shared["reasons"],
    }
    groups |= {**names, **tables.pop("reasons", {}), **tables.pop("variants", {})}
    own = {name: Printed(**said) for name, said in tables.pop("statements", {}).items()}
    groups["statements"] = {**SENTENCES, **own}
    figures = list[PaperFigure]()
    for name, table in tables.items():
        if isinstance(table, list):
            groups[name] = _claims(table, groups)
            continue
        table["claims"] = _claims(table["claims"], groups)
        table |= {"pictures": groups[table["pictures"]]} if "pictures" in table else {}
        variants = table["variants"]
        table["variants"] = _settings(groups[variants] if isinstance(variants, str) else variants)
        table["printed"] = tuple(
            groups["statements"][each] if isinstance(each, str) else Printed(**each)
            for each in table["printed"]
        )
        sizes = {key: tuple(table[key]) for key in ("small", "full") if key in table}
        few = _settings(table.get("small_of", {}))
        figures.append(PaperFigure(name, **(table | sizes | {"small_of": few})))
    return tuple(figures)


def _settings(variants: Mapping[str, Iterable[str]]) -> dict[str, Settings]:
    return {name: tuple(settings) for name, settings in variants.items()}


def _claims(rows: Iterable[Any], names: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return claims, from rows, names of arrays of rows, and what is a claim already."""
    found = list[Claim]()
    for row in rows:
        if isinstance(row, str):
            found += _claims(names[row], names)
        else:
            found.append(row if isinstance(row, Claim) else _claim(row, names))
    return tuple(found)


def _claim(row: Mapping[str, Any], names: Mapping[str, Any]) -> Claim:
    """Return a claim.

    ``cell`` is the one whose result is measured, ``over`` divides what is measured, and ``near`` is
    what was read off a plot.
    """
    measure, low, high = _reading(row["measure"], names), row.get("low", -inf), row.get("high", inf)
    published = _value(row.get("published"), names)
    if "cell" in row:
        measure = _of_cell(measure, row["cell"])
    if "over" in row:
        measure = _ratio(measure, _reading(row["over"], names))
    if "near" in row:
        published = row["near"]
        low, high = published / names["READ_OFF"], published * names["READ_OFF"]
    if "within" in row:
        low, high = _value(row["within"], names)
    variants, judges = row.get("variants", (AS_PUBLISHED,)), row.get("judges", "")
    return Claim(
        names.get(row["quantity"], row["quantity"]), measure, low, high, published,
        _reason(row["reason"], names) if "reason" in row else None,
        _GROUPS[variants] if isinstance(variants, str) else tuple(variants),
        tuple(row.get("beside", ())), row.get("of_means", False),
        _reading(row["window"], names) if "window" in row else None,
        OURS if judges == "OURS" else names["statements"].get(judges, judges),
    )  # fmt: skip


def _reason(said: str | list[Any], names: Mapping[str, Any]) -> Reason:
    """Return a reason by its name, or by that and further arguments of what it explains."""
    name, *arguments = [said] if isinstance(said, str) else said
    table = names[name]
    table = names.get(table.get("like"), {}) | table
    says, found = (" ".join(table[of].format_map(names).split()) for of in ("says", "found"))
    explains = table["explains"]
    reach = names[explains] if isinstance(explains, str) else tuple(explains)
    if callable(reach):
        explained = reach
        reach = lambda *swept: explained(*swept, *arguments)  # noqa: E731
    return Reason(says, reach, found, table.get("without", ""))


def _value(said: Any, names: Mapping[str, Any]) -> Any:
    """Return what is named, what a named function makes of arguments, or else what stands there."""
    if isinstance(said, list) and isinstance(said[0], str):
        return names[said[0]](*said[1:])
    return names[said] if isinstance(said, str) else said


def _reading(said: str | list[Any], names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a reading of sweeps by its name, or by that and its further arguments."""
    name, *arguments = [said] if isinstance(said, str) else said
    reading = names[name]
    return lambda *swept: reading(*swept, *arguments)


def _of_cell(measure: Callable[..., Any], name: str) -> Callable[..., Any]:
    return lambda sweep: measure(result(sweep, name))


def _ratio(above: Callable[..., Any], below: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *swept: above(*swept) / below(*swept)
