"""A comparison of results, in words and as tables."""

import textwrap
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.comparisons.against import Against, ComparedFigure
from asyncdp_sim.comparisons.contrast import Contrast
from asyncdp_sim.privacy.label import label
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import jsonable
from asyncdp_sim.words import SCREEN, aligned, figure


@dataclass(frozen=True)
class Comparison:
    """Results compared with the first of them.

    Attributes
    ----------
    first : Result
    name : str
        Of the first result.
    others : tuple of Against
        At least one.
    """

    first: Result
    name: str
    others: tuple[Against, ...]

    @property
    def results(self) -> dict[str, Result]:
        """All results by name, the first one first."""
        return {self.name: self.first} | {each.name: each.result for each in self.others}

    @property
    def labels(self) -> dict[str, str]:
        """What is said of the privacy of each result, by name."""
        return {name: label([each.manifest]).text for name, each in self.results.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return every figure of every comparison as a row of a table."""
        return [
            {"result": each.name, "against": self.name, "paired": each.is_paired, **_cells(row)}
            for each in self.others
            for row in each.rows
        ]

    def content(self) -> dict[str, Any]:
        """Return all of it as ``asyncdp compare --json`` prints it: infinities are texts."""
        said = {
            "schema": 1,
            "first": self.name,
            "comparisons": [
                {
                    "second": each.name,
                    "paired": each.is_paired,
                    "pairing": each.pairing,
                    "replicates": list(each.common),
                    "figures": [_cells(row) for row in each.rows],
                    "scenario": [vars(setting) for setting in each.settings],
                    "together": each.together,
                }
                for each in self.others
            ],
            "labels": self.labels,
        }
        return dict(jsonable(said))

    def lines(self) -> list[str]:
        """Return all of it for the screen."""
        told = [line for each in self.others for line in [*self._against(each), ""]]
        return told + _wrapped(*(f"{name}: {said}" for name, said in self.labels.items()))

    def figures(self, each: Against) -> list[list[str]]:
        """Return the figures of one comparison as a table of texts, its header first."""
        won = ["better in"] if each.is_paired else []
        header = ["", self.name, each.name, "difference", "95 % interval", *won]
        return [header, *(_spoken(row) for row in each.rows if not row.is_nothing)]

    def _against(self, each: Against) -> list[str]:
        settings = [["field", self.name, each.name], *(s.words() for s in each.settings)]
        alike = ["the scenarios do not differ"]
        return [
            *_wrapped(f"{each.name} against {self.name}, {each.pairing}"),
            "",
            *aligned(self.figures(each)),
            "",
            *(aligned(settings) if len(each.settings) > 0 else alike),
            "",
            *_wrapped(f"published together: {each.together}"),
        ]


def _cells(row: ComparedFigure) -> dict[str, Any]:
    quantity, found = row.quantity, row.contrast
    return {
        "figure": quantity.name,
        "unit": quantity.unit,
        "first": row.first,
        "second": row.second,
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "better": "more" if quantity.more_is_better else "less",
        "wins": row.wins,
        "less": found.less,
        "more": found.more,
        "pairs": found.pairs,
    }


def _spoken(row: ComparedFigure) -> list[str]:
    quantity, found = row.quantity, row.contrast
    ends = "–" if found.low is None else f"{figure(found.low)} … {figure(found.high)}"
    won = [] if row.wins is None else [_won(row.wins, found)]
    return [
        quantity.words,
        figure(row.first),
        figure(row.second),
        figure(found.mean),
        ends,
        *won,
    ]


def _won(wins: int, found: Contrast) -> str:
    alike = found.less == found.more == 0
    return f"alike in {found.pairs}" if alike else f"{wins} of {found.pairs}"


def _wrapped(*said: str) -> list[str]:
    return [line for each in said for line in textwrap.wrap(each, SCREEN)]
