"""Mean ψ against the number of owners, where a record or a whole owner is hidden, and ψ alone."""

import numpy as np

from asyncdp_sim.figures.sweeps.psi_lines import lines
from asyncdp_sim.figures.sweeps.references import Reference
from asyncdp_sim.results import Cell


def alone(cell: Cell) -> float:
    """Return ψ of the median owner's own model, without noise."""
    return float(np.median(cell.result.of_owners("psi_alone")))


OWN = Reference("own model of the median owner, without noise", "psi_alone", alone)
FIGURE = lines("hide-the-owner", "owners.count", "variant", references=(OWN,))
