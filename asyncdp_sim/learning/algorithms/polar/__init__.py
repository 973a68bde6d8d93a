"""POLAR-SGD: gradients obfuscated towards several servers that agree on a model in secret."""

from asyncdp_sim.learning.algorithms.polar.consensus import (
    MODULUS,
    RESOLUTION,
    Consensus,
    Words,
    averaged,
    draw_masks,
    gridded,
    secure_consensus,
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
    "draw_additive",
    "draw_masks",
    "draw_weights",
    "gridded",
    "secure_consensus",
]
