"""Warnings of a sweep: those of its cells, each thing once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asyncdp_sim.notices import Notice
from asyncdp_sim.words import ranges

SEVERAL = 5
"""Warnings that differ in numbers alone and are still said one by one."""


@dataclass(frozen=True)
class Gathered:
    """A warning of some cells.

    Attributes
    ----------
    notice : Notice
        Of numbers that differ, as spans, or of one cell.
    cells : tuple of int
        Whose it is, in ascending order.
    everywhere : bool
        Whether every cell of the sweep says just that.
    """

    notice: Notice
    cells: tuple[int, ...]
    everywhere: bool

    def words(self) -> str:
        """Return the sentence, behind the cells that it is of where it is not of all alike."""
        if self.everywhere:
            return self.notice.words()
        cells = f"cell{'s' * (len(self.cells) > 1)} {ranges(self.cells)}"
        return f"{cells}: {self.notice.words()}"

    def content(self) -> dict[str, Any]:
        """Return the fields as a manifest holds them."""
        return self.notice.content() | {"cells": list(self.cells)}


def gathered(warnings: Sequence[Sequence[Notice] | None]) -> list[Gathered]:
    """Return every cell's warnings once, naming the cells where not all of them say it.

    Those that differ in their numbers alone are one, if there are more than :data:`SEVERAL` or
    what they count is replicates. None stands for a cell that has no result.
    """
    alike: dict[Any, dict[str, tuple[Notice, list[int]]]] = {}
    for number, said in enumerate(warnings):
        for notice in said or ():
            known = alike.setdefault(notice.alike(), {})
            known.setdefault(notice.words(), (notice, []))[1].append(number)
    return [
        _one(group, len(warnings))
        for known in alike.values()
        for group in _together(list(known.values()))
    ]


Known = tuple[Notice, list[int]]
"""A warning, and the cells that say it."""


def _together(known: list[Known]) -> list[list[Known]]:
    """Return warnings that differ in numbers alone as one group, or each as its own."""
    if known[0][0].counted or len(known) > SEVERAL:
        return [known]
    return [[each] for each in known]


def _one(group: list[Known], n_cells: int) -> Gathered:
    """Return a group of warnings as one."""
    notices = [notice for notice, _ in group]
    cells = sorted(number for _, numbers in group for number in numbers)
    if len(group) == 1:
        return Gathered(notices[0], tuple(cells), len(cells) == n_cells)
    return Gathered(notices[0].with_others(notices[1:]), tuple(cells), everywhere=False)
