"""Async, figure 6: mean ψ falls with the inverse square of records and of budgets."""

from asyncdp_sim.figures.sweeps.psi_lines import lines
from asyncdp_sim.figures.sweeps.references import LENDING

FIGURE = lines("by-budget", "privacy.epsilon", "owners.records", references=(LENDING,))
