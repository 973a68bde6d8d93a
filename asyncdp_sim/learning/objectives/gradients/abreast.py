"""Models that go through the records together, each with the bits that it has alone.

A matrix product of more models is faster, for the records are read once for all of them; but BLAS
takes another way for another number of models, and rounds otherwise. So every product has
:data:`ABREAST` of them, the last ones filled up with zeros: its shape is that of the records, and
a model's bits depend neither on its place nor on how many others there are.
"""

import numpy as np

from asyncdp_sim.learning.objectives.losses import Array

ABREAST = 4
"""Models to a product: more are hardly faster, and a model alone would pay for them."""


def stacked(points: Array) -> Array:
    """Return models (r, p) in stacks, shape (⌈r/4⌉, 4, p), with zeros behind the last."""
    stacks = np.zeros((-(-len(points) // ABREAST), ABREAST, points.shape[1]))
    unstacked(stacks, len(points))[:] = points
    return stacks


def unstacked(stacks: Array, count: int) -> Array:
    """Return the first so many rows of stacks (s, 4, m), shape (count, m): a view of them."""
    return stacks.reshape(-1, stacks.shape[2])[:count]
