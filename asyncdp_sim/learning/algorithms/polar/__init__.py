"""POLAR-SGD: gradients obfuscated towards several servers that agree on a model in secret."""

from asyncdp_sim.learning.algorithms.polar.consensus import (
    MODULUS,
    RESOLUTION,
    Consensus,
    Words,
    draw_masks,
    secure_consensus,
)
from asyncdp_sim.learning.algorithms.polar.neighbours import (
    averaged,
    doubly_stochastic,
    gridded,
    matrices_of,
)
from asyncdp_sim.learning.algorithms.polar.perturbation import draw_additive, draw_weights
from asyncdp_sim.learning.algorithms.polar.spec import Polar
from asyncdp_sim.learning.algorithms.polar.steps import PolarState, PolarSteps

__all__ = [
    "MODULUS",
    "RESOLUTION",
    "Consensus",
    "Polar",
    "PolarState",
    "PolarSteps",
    "Words",
    "averaged",
    "doubly_stochastic",
    "draw_additive",
    "draw_masks",
    "draw_weights",
    "gridded",
    "matrices_of",
    "secure_consensus",
]
