"""Basis of the page's numbers: its kinds and what they make together, with the oracles behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asyncdp_sim.columns import summary as dictionary
from asyncdp_sim.evidence import Basis, Oracle, named


@dataclass(frozen=True)
class OracleLine:
    """An oracle as the page shows it; of another version's its name alone is known."""

    name: str
    oracle: Oracle | None


@dataclass(frozen=True)
class BasisRow:
    """One kind, or one figure, and what it rests on.

    Attributes
    ----------
    name, detail : str
        Key path and kind; or the figure and why it rests on that.
    basis : str
        A value of :class:`~asyncdp_sim.evidence.Basis`.
    words : str
        What that means.
    oracles : tuple of OracleLine
    where : str
        In which cells of a sweep; empty where in all.
    """

    name: str
    detail: str
    basis: str
    words: str
    oracles: tuple[OracleLine, ...]
    where: str


@dataclass(frozen=True)
class Foundation:
    """Oracles that the numbers rest on; neither has members where manifests are too old to say."""

    kinds: tuple[BasisRow, ...]
    together: tuple[BasisRow, ...]


def foundation(manifests: Sequence[Mapping[str, Any]]) -> Foundation:
    """Return what the numbers of one run, or of all cells of a sweep, rest on."""
    said = [each["rests_on"] for each in manifests if "rests_on" in each]
    return Foundation(
        tuple(_alike(_rows([each["kinds"] for each in said], "at", "kind"))),
        tuple(_rows([each["together"] for each in said], "figure", "why")),
    )


def _rows(
    cells: Sequence[Sequence[Mapping[str, Any]]], name: str, detail: str
) -> Iterator[BasisRow]:
    """Yield a row for each that differs, in the order of their first cells, alike ones together."""
    found: dict[tuple[str, str, str], int] = {}
    oracles: dict[tuple[str, str, str], Sequence[str]] = {}
    for cell in cells:
        for row in cell:
            key = (str(row[name]), str(row[detail]), str(row["basis"]))
            found[key] = found.get(key, 0) + 1
            oracles[key] = row.get("oracles", ())
    first = list(dict.fromkeys(key[0] for key in found))
    for key in sorted(found, key=lambda key: first.index(key[0])):
        count = found[key]
        yield BasisRow(
            name=key[0],
            detail=key[1],
            basis=key[2],
            words=_words(key[2]),
            oracles=tuple(OracleLine(each, named(each)) for each in oracles[key]),
            where="" if count == len(cells) else f"in {count} of {len(cells)} cells",
        )


def _alike(rows: Iterable[BasisRow]) -> Iterator[BasisRow]:
    """Yield rows of one kind and one basis as one, by all of their key paths."""
    groups: dict[tuple[object, ...], list[BasisRow]] = {}
    for row in rows:
        groups.setdefault((row.detail, row.basis, row.oracles, row.where), []).append(row)
    for some in groups.values():
        yield replace(some[0], name=", ".join(row.name for row in some))


def meaning(figure: str) -> str:
    """Return what a figure of the summary is."""
    known = dictionary()
    column = known.get(figure) or known.get(f"{figure}.mean")
    return "" if column is None else column.meaning


def _words(basis: str) -> str:
    return Basis(basis).words if basis in set(Basis) else basis
