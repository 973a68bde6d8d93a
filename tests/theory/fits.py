"""The free constants of the papers' bounds, fitted to measured cells."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from asyncdp_sim.theory.formulas.arguments import Array


@dataclass(frozen=True)
class Fit:
    """c_1 √B + c_2 B through measured cells.

    Attributes
    ----------
    first, second : float
        c_1 ≥ 0, c_2 ≥ 0.
    first_interval, second_interval : (float, float)
        Confidence intervals, for errors of measurement alone.
    misfit : float
        Mean squared residual in standard errors, per degree of freedom: near 1 where the form is
        true. Far above 1 the form is wrong, and the intervals do not say how wrong.
    """

    first: float
    second: float
    first_interval: tuple[float, float]
    second_interval: tuple[float, float]
    misfit: float


def fit(
    term: Array,
    measured: Array,
    error: Array,
    generator: np.random.Generator,
    *,
    level: float = 0.95,
    draws: int = 1000,
) -> Fit:
    """Fit c̄_1', c̄_2' ≥ 0 of (6) to cells, by least squares with weights 1/error².

    Intervals by the parametric bootstrap: cells are drawn again from normal laws about the fit,
    with their standard errors, and fitted. The interval of a constant that is 0 begins at 0.

    Parameters
    ----------
    term : array (cells,)
        (1/n²) Σ 1/ε_i² ≥ 0 (:func:`~tests.theory.async_as_printed.privacy_term`); at
        least two different ones above 0.
    measured, error : array (cells,)
        E ψ and its standard error > 0, independent between cells.
    generator : numpy Generator
        For the bootstrap.
    level : float
        Of confidence, in (0, 1).
    draws : int
        Of the bootstrap, ≥ 100.
    """
    cells = (np.size(term),)
    form = np.column_stack([np.sqrt(term), term]) / error[:, None]
    # columns of like size, as √B and B differ by orders of magnitude
    size = np.linalg.norm(form, axis=0)
    form /= size
    scaled, residual = nnls(form, measured / error)
    noise = generator.standard_normal((draws, *cells))
    again = np.array([nnls(form, form @ scaled + row)[0] for row in noise]) / size
    low, high = np.quantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Fit(
        first=float(scaled[0] / size[0]),
        second=float(scaled[1] / size[1]),
        first_interval=(float(low[0]), float(high[0])),
        second_interval=(float(low[1]), float(high[1])),
        misfit=float(residual**2 / (cells[0] - 2)),
    )
