"""Async, figure 10: mean ψ of 86 hospitals against ε."""

from asyncdp_sim.figures.sweeps.psi_lines import lines
from asyncdp_sim.figures.sweeps.references import HOSPITAL

FIGURE = lines("mean-by-budget", "privacy.epsilon", references=(HOSPITAL,))
