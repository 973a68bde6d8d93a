"""Residues in floats, against whole numbers of Python, which never round."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.privacy.observers.knowledge import (
    PRIME,
    Known,
    applied,
    learn,
    reduce,
    residues,
    take,
)

LARGEST = PRIME // 2


def integers(rows: Any) -> Any:
    return np.array(rows).astype(np.int64).astype(object)


def test_the_largest_residues_multiply_without_rounding() -> None:
    """Of one sign, so that sums are large, and more of them than are summed at once."""
    rng = np.random.default_rng(1)
    for sign in (1, -1):
        held, reduced, rows = (
            rng.integers(LARGEST * 3 // 4, LARGEST, shape).astype(float)
            for shape in ((3, 1000), (1000, 5), (3, 5))
        )
        held *= sign
        exact = (integers(rows) - integers(held) @ integers(reduced)) % PRIME
        take(rows, held, reduced)
        assert np.abs(rows).max() <= 2**30
        assert np.array_equal(integers(rows) % PRIME, exact)


def test_averages_are_those_of_fractions() -> None:
    rng = np.random.default_rng(3)
    weights, rows = rng.integers(-5, 9, (7, 300)), rng.integers(0, PRIME, (300, 11))
    exact = weights.astype(object) @ rows.astype(object) * pow(13, -1, PRIME) % PRIME
    assert np.array_equal(integers(applied(weights, 13, residues(rows))) % PRIME, exact)


def slowly(rows: Any) -> tuple[Any, list[int]]:
    """Reduce rows from the first on, each at its first number that is left."""
    left, pivots = [[int(x) % PRIME for x in row] for row in rows], []
    for place, row in enumerate(left):
        pivot = next((at for at, x in enumerate(row) if x != 0), -1)
        pivots.append(pivot)
        if pivot < 0:
            continue
        inverse = pow(row[pivot], -1, PRIME)
        row[:] = [x * inverse % PRIME for x in row]
        for other in left[:place] + left[place + 1 :]:
            held = other[pivot]
            other[:] = [(x - held * y) % PRIME for x, y in zip(other, row, strict=True)]
    return np.array(left), pivots


def lots(seed: int) -> Any:
    """Three lots of 13 rows, of which several say nothing new."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(-3, 4, (3, 13, 8)).astype(object)
    parts[1, 4:9] = 0
    return parts @ rng.integers(0, PRIME, (3, 8, 20)).astype(object) % PRIME


def test_lots_are_reduced_as_each_is_in_whole_numbers() -> None:
    given = lots(1)
    found = residues(given.astype(np.int64))
    pivots = reduce(found)
    for lot, rows, places in zip(given, found, pivots.tolist(), strict=True):
        exact, where = slowly(lot)
        assert places == where
        assert np.array_equal(rows.astype(np.int64) % PRIME, exact)
        assert sum(place >= 0 for place in places) <= 8


@pytest.mark.parametrize("cut", [3, 7])
def test_what_is_learned_in_parts_is_learned_at_once(cut: int) -> None:
    """By pools of unlike numbers of nodes and rows, in one lot."""
    given = residues(lots(2).astype(np.int64))
    told = [given[0], given[1][:6, :12], given[2][:2]]
    pools = [Known(np.zeros(rows.shape[1], dtype=np.bool_)) for rows in told]
    new = [
        np.concatenate(parts)
        for parts in zip(
            learn(pools, [rows[:cut] for rows in told]),
            learn(pools, [rows[cut:] for rows in told]),
            strict=True,
        )
    ]
    for rows, flags in zip(told, new, strict=True):
        assert flags.tolist() == [place >= 0 for place in slowly(rows)[1]]
