"""Cells of a sweep: what was varied, and how each came out."""

from dataclasses import dataclass

from asyncdp_sim.figures.kit.outcomes import interval, psi_at_end
from asyncdp_sim.figures.kit.source import Sweep
from asyncdp_sim.privacy.label import epsilon_words, label
from asyncdp_sim.reports.key_numbers import shown, span

MOST = 200
"""Cells that are listed."""


@dataclass(frozen=True)
class CellRow:
    """One cell."""

    number: int
    values: tuple[str, ...]
    psi: str
    psi_interval: str
    throughput: str
    throughput_interval: str
    time: str
    private: str
    epsilon: str


@dataclass(frozen=True)
class CellsTable:
    """The cells that are listed, what they vary, and how many there are."""

    paths: tuple[str, ...]
    rows: tuple[CellRow, ...]
    count: int
    missing: int


def cells(sweep: Sweep) -> CellsTable:
    """Return a row for each finished cell, the first of many."""
    rows = []
    for cell in sweep.cells[:MOST]:
        result = cell.result
        psi, said = psi_at_end(result), label([result.manifest])
        rows.append(
            CellRow(
                number=cell.number,
                values=tuple(
                    cell.label([path]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
                    for path in sweep.paths
                ),
                psi=shown(psi.value),
                psi_interval=span(psi.low, psi.high),
                throughput=shown(result.summary["throughput"]),
                throughput_interval=span(*interval(result.summary, "throughput")),
                time=shown(result.summary["simulated_time"]),
                private={True: "yes", False: "NO", None: "not shown"}[said.private],
                epsilon=epsilon_words(result.manifest).removeprefix("true ε "),
            )
        )
    return CellsTable(sweep.paths, tuple(rows), len(sweep.cells), len(sweep.missing))
