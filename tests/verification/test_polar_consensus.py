"""A server of POLAR learns of another no more than the mean, with three servers or more.

Models are fixed, so that the mean is given; each coordinate is a consensus of its own. What is
left of the others' messages when a server takes its own masks off must be uniform on [0, 2⁶³),
jointly for all but one of them, whichever of several models with one mean the others hold. The
rule as printed is wrong wherever the models' sum reaches 2|X|: with probability 1 − 1/S! for
models uniform in the box.
"""

from math import factorial

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest

from asyncdp_sim.learning.algorithms.obfuscation import (
    MODULUS,
    RESOLUTION,
    draw_masks,
    secure_consensus,
)
from tests.tables import table

from .zscores import CELL, Score, counts, require, score, shared

pytestmark = pytest.mark.oracle(
    "mean path, convergence, Lemma 3, information that servers gain about each other"
)

COORDINATES, BINS = 20_000, 32
TABLE = table(__file__, "polar_consensus.toml")
SETTINGS = TABLE["settings"]
SIZES = (2, 3, 5)


def sound_masks(n_servers):
    return draw_masks([np.random.default_rng([7, n_servers])], n_servers, COORDINATES)[0]


def residuals(values, masks):
    """Return what server 1 is left with of every other's messages, (S − 1, coordinates)."""
    models = np.repeat(np.array(values)[:, None], COORDINATES, axis=1)
    found = secure_consensus(models, 1.0, masks)
    assert np.max(np.abs(found.mean - np.mean(values))) <= 0.5 / RESOLUTION
    return found.unmasked(viewer=0)[1:]


def uniformity(name, left):
    """Return scores of the first and last five bits, their KS distance, and pairs of others."""
    flat = np.full(BINS, 1 / BINS)
    made = []
    for other, words in enumerate(left[:-1]):  # the mean gives the last one away
        label = f"{name}, server {other + 2}"
        first = np.bincount((words >> np.uint64(58)).astype(int), minlength=BINS)
        last = np.bincount((words & np.uint64(31)).astype(int), minlength=BINS)
        made += [counts(f"{label}, first bits", first, flat)]
        made += [counts(f"{label}, last bits", last, flat)]
        tail = max(kstest(words / MODULUS, "uniform").pvalue, 1e-300)
        made += [Score(f"{label}, KS", float(tail), 0.5, float(-ndtri(tail)), 0.0)]
        if other > 0:
            both = (left[other - 1] >> np.uint64(60)) * np.uint64(8) + (words >> np.uint64(60))
            pairs = np.bincount(both.astype(int), minlength=64)
            made += [counts(f"{label} and the one before", pairs, np.full(64, 1 / 64))]
    return made


@shared
def sound():
    scores = []
    for name, values in SETTINGS.items():
        scores += uniformity(name, residuals(values, sound_masks(len(values))))
    return scores


def wrong_share(n_servers):
    """Return, for each of many models, whether the printed rule misses their mean."""
    generator = np.random.default_rng([8, n_servers])
    models = generator.uniform(-1, 1, (n_servers, COORDINATES))
    masks = generator.uniform(0, 2, (n_servers, n_servers, COORDINATES))
    announced = (models + 1 + masks.sum(axis=0) - masks.sum(axis=1)) % 2
    found = announced.sum(axis=0) % 2 / n_servers - 1
    return np.abs(found - models.mean(axis=0)) > 1e-9


@shared
def printed():
    return [
        score(f"wrong at S = {size}", wrong_share(size), 1 - 1 / factorial(size)) for size in SIZES
    ]


def scores():
    """Return every score of a sound simulator that is independent of the others."""
    five = uniformity("five", residuals(SETTINGS["five"], sound_masks(5)))
    return [each for each in five if "KS" not in each.name] + printed()


def test_what_is_left_is_uniform_given_the_mean():
    require(sound(), error=CELL)


def test_every_view_fits_other_models_as_well():
    """Servers 2 and 3 swap 1 and −1; another mask between them, as likely, shows server 1 the same.

    So nothing that server 1 sees tells more of them than their mean does.
    """
    masks = sound_masks(3)
    other = masks.copy()
    other[1, 2] = (masks[1, 2] - np.uint64(2 * RESOLUTION)) % np.uint64(MODULUS)
    seen_by_one = []
    for name, each in (("opposed", masks), ("the same mean", other)):
        models = np.repeat(np.array(SETTINGS[name])[:, None], COORDINATES, axis=1)
        found = secure_consensus(models, 1.0, each)
        seen_by_one.append([found.messages, found.masks[0], found.masks[:, 0], found.mean])
    for first, second in zip(*seen_by_one, strict=True):
        assert np.array_equal(first, second)


@pytest.mark.no_evidence
def test_the_printed_modulus_is_wrong_as_often_as_sums_wrap():
    require(printed(), error=0.01)
