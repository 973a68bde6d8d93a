import math

import numpy as np
import pytest

from asyncdp_sim.theory.formulas.channels import (
    RandomAccess,
    aloha,
    aloha_capture,
    aloha_infinite,
    aloha_infinite_capture,
    csma,
    csma_detecting,
    csma_detecting_infinite,
    csma_infinite,
    csma_one_persistent_infinite,
    slotted_aloha_infinite,
    tdma,
)


def test_aloha_infinite_peaks_at_half():
    assert aloha_infinite(0.5) == pytest.approx(1 / (2 * math.e))
    assert slotted_aloha_infinite(1.0) == pytest.approx(1 / math.e)
    assert aloha_infinite(0.0) == slotted_aloha_infinite(0.0) == 0


def test_aloha_formula_and_limits():
    by_hand = (math.exp(-0.2) / 1.2) ** 4
    assert aloha(5, 0.4, 0.5).success_probability == pytest.approx(by_hand, rel=1e-14)
    assert aloha(5, 0.4, 0.5).success_rate == pytest.approx(5 * 0.4 / 1.2 * by_hand, rel=1e-14)
    assert aloha(1, 0.4, 0.5) == RandomAccess(1, 0.4 / 1.2, 0.4 / 1.2)
    assert aloha(3, 2.0, 0.0) == RandomAccess(1, 6, 6)
    many = aloha(10**6, 0.5e-6, 1.0)
    assert many.success_rate == pytest.approx(aloha_infinite(0.5), rel=1e-5)
    capture = aloha_capture(10**6, 0.5e-6, 1.0, 3.0)
    assert capture.success_rate == pytest.approx(aloha_infinite_capture(0.5, 3.0), rel=1e-5)
    assert aloha_capture(5, 0.4, 0.5, 0.0).success_probability == pytest.approx(1, rel=1e-14)
    strict = aloha_capture(5, 0.4, 0.5, 1e12).success_probability
    assert strict == pytest.approx(by_hand, rel=1e-10)


def test_tdma_saturated():
    assert tdma(5, 0.2, 0.1) == tdma(5, 0.2, 0.1, 1e9) == 5
    assert tdma(5, 0.2, 0.2, 1e-9) == pytest.approx(5e-9, rel=1e-8)


def test_published_shapes_of_csma():
    assert csma_infinite(2.0, 0.0) == pytest.approx(2 / 3)
    g = 1.7
    perfect = g * (1 + g) * math.exp(-g) / (g + math.exp(-g))
    assert csma_one_persistent_infinite(g, 0.0) == pytest.approx(perfect, rel=1e-14)
    for a in (0.01, 0.3, 0.5):
        e = math.exp(-a * g)
        tobagi_hunt = g * e / (g * e + 2 * a * g * (1 - e) + 2 - e)
        assert csma_detecting_infinite(g, a) == pytest.approx(tobagi_hunt, rel=1e-13)
    for formula in (csma_infinite, csma_one_persistent_infinite, csma_detecting_infinite):
        assert formula(0.0, 0.3) == 0
        assert formula(1e-6, 0.3) == pytest.approx(1e-6, rel=1e-5)
    peak = max(csma_infinite(g, 0.01) for g in np.geomspace(0.1, 100, 400))
    assert peak == pytest.approx(0.815, abs=0.001)
    peak = max(csma_one_persistent_infinite(g, 0.01) for g in np.geomspace(0.1, 10, 400))
    assert peak == pytest.approx(0.529, abs=0.001)


@pytest.mark.parametrize("delay", [0.0, 0.2, 0.9])
def test_csma_owners_and_limits(delay):
    alone = csma(1, 2.0, 0.5, delay * 0.5)
    assert alone.success_probability == 1
    assert alone.success_rate == pytest.approx(1 / (0.5 + 0.5 * (1 + delay)), rel=1e-13)
    assert csma_detecting(1, 2.0, 0.5, delay * 0.5).success_rate == pytest.approx(
        alone.success_rate, rel=1e-13
    )
    for finite, infinite in (
        (csma, csma_infinite),
        (csma_detecting, csma_detecting_infinite),
    ):
        many = finite(10**6, 0.8e-6, 2.0, 2 * delay)
        assert 2 * many.success_rate == pytest.approx(infinite(1.6, delay), rel=1e-5)
        assert many.success_rate == many.success_probability * many.attempt_rate


def test_csma_two_owners_by_hand():
    """E last start of one other owner: ∫₀^a (e^{−λy} − e^{−λa}) dy."""
    rate, a = 0.7, 0.3
    late = math.exp(-rate * a)
    last = (1 - late) / rate - a * late
    exact = late / (1 + a + last + 1 / (2 * rate))
    assert csma(2, rate, 1.0, a).success_rate == pytest.approx(exact, rel=1e-13)
    assert csma(2, rate, 1.0, a).success_probability == pytest.approx(late / (2 - late), rel=1e-14)
