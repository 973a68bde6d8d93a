"""Mean ψ against the number of owners, where noise of rounds is independent, and correlated."""

from asyncdp_sim.figures.sweeps.psi_lines import PsiSeries, lines
from asyncdp_sim.results import Cell, Sweep
from asyncdp_sim.scenario.paths import VARIANT

OWNERS = "owners.count"


def _owners(cell: Cell) -> float:
    return float(cell.result.scenario["owners"]["count"])


def select(sweep: Sweep) -> list[PsiSeries]:
    """Return a series for each noise: variants begin with its name, and end with the owners'."""
    by_noise: dict[str, list[Cell]] = {}
    for cell in sweep.cells:
        by_noise.setdefault(str(cell.values[VARIANT]).partition(",")[0], []).append(cell)
    return [PsiSeries.ordered(noise, cells, _owners) for noise, cells in by_noise.items()]


FIGURE = lines("correlated-noise", OWNERS, select=select)
