"""Quantile tables and steps against NumPy's own, to the bit."""

import numpy as np
import pytest

from asyncdp_sim.data.declared.quantiles import FEW, Z_KNOTS, interpolated, steps


def latent():
    """Normals, every knot with its neighbours, and what lies beyond the ends."""
    drawn = np.random.default_rng(5).standard_normal(100_000)
    beside = [np.nextafter(Z_KNOTS, side) for side in (-np.inf, np.inf)]
    return np.concatenate([drawn, Z_KNOTS, *beside, [-40.0, 40.0, -4.6, 4.6, 0.0, -0.0]])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e7])
def test_interpolated(scale):
    values = np.sort(np.random.default_rng(6).lognormal(size=len(Z_KNOTS))) * scale
    expected = np.interp(latent(), Z_KNOTS, values)
    assert interpolated(latent(), values).tobytes() == expected.tobytes()


@pytest.mark.parametrize("count", [0, 1, 3, FEW, FEW + 1, 90])
def test_steps(count):
    cuts = np.sort(np.random.default_rng(7).standard_normal(count))
    z = np.concatenate([latent(), cuts, np.nextafter(cuts, -np.inf)])
    assert steps(z, cuts).tolist() == np.searchsorted(cuts, z, side="right").tolist()
