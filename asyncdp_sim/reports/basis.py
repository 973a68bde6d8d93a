"""Basis of the page's numbers: its kinds and what they make together, with the oracles behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from asyncdp_sim.columns import summary as dictionary
from asyncdp_sim.evidence import Basis, Oracle, named
from asyncdp_sim.theory.predict.plain import plain


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
    bases = [manifest["rests_on"] for manifest in manifests if "rests_on" in manifest]
    return Foundation(
        tuple(_alike(_rows([manifest["kinds"] for manifest in bases], "at", "kind"))),
        tuple(_rows([manifest["together"] for manifest in bases], "figure", "why")),
    )


def _rows(
    cells: Sequence[Sequence[Mapping[str, Any]]], name: str, detail: str
) -> Iterator[BasisRow]:
    """Yield a row for each that differs, in the order of their first cells, alike ones together."""
    counts: dict[tuple[str, str, str], int] = {}
    oracles: dict[tuple[str, str, str], Sequence[str]] = {}
    for cell in cells:
        for row in cell:
            key = (str(row[name]), str(row[detail]), str(row["basis"]))
            counts[key] = counts.get(key, 0) + 1
            oracles[key] = row.get("oracles", ())
    first = list(dict.fromkeys(key[0] for key in counts))
    for key in sorted(counts, key=lambda key: first.index(key[0])):
        count = counts[key]
        yield BasisRow(
            name=key[0],
            detail=plain(key[1]),
            basis=key[2],
            words=Basis(key[2]).words if key[2] in set(Basis) else key[2],
            oracles=tuple(OracleLine(oracle, named(oracle)) for oracle in oracles[key]),
            where="" if count == len(cells) else f"in {count} of {len(cells)} cells",
        )


def _alike(rows: Iterable[BasisRow]) -> Iterator[BasisRow]:
    """Yield rows of one kind and one basis as one, by all of their key paths."""
    groups: dict[tuple[object, ...], list[BasisRow]] = {}
    for row in rows:
        groups.setdefault((row.detail, row.basis, row.oracles, row.where), []).append(row)
    for alike in groups.values():
        yield replace(alike[0], name=", ".join(row.name for row in alike))


def meaning(figure: str) -> str:
    """Return what a figure of the summary is."""
    columns = dictionary()
    column = columns.get(figure) or columns.get(f"{figure}.mean")
    return "" if column is None else column.meaning
