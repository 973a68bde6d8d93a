"""Loops that do the least there is to do: what our times are held against."""

import heapq
from collections.abc import Iterator

import numpy as np
import simpy

Array = np.ndarray


def _gaps(owner: int) -> Iterator[float]:
    """Yield exponential gaps, drawn 4096 at a time."""
    generator = np.random.default_rng(owner)
    while True:
        yield from generator.exponential(size=4096).tolist()


def simpy_clocks(n_owners: int, ticks: int) -> None:
    """Let SimPy processes wait for exponential gaps, and nothing else, about ``ticks`` times."""

    def clock(owner):
        for gap in _gaps(owner):
            yield environment.timeout(gap)

    environment = simpy.Environment()
    for owner in range(n_owners):
        environment.process(clock(owner))
    environment.run(until=ticks / n_owners)


def heap_clocks(n_owners: int, ticks: int) -> None:
    """Do the same with a heap of (time, owner) and no simulator."""
    gaps = [_gaps(owner) for owner in range(n_owners)]
    queue = [(next(gap), owner) for owner, gap in enumerate(gaps)]
    heapq.heapify(queue)
    for _ in range(ticks):
        now, owner = queue[0]
        heapq.heapreplace(queue, (now + next(gaps[owner]), owner))


def gossip(gradient, scale, *, n_owners, p, updates, rate, sigma, bound=1e5) -> Array:
    """Learn one replicate by Algorithm 1 (Async), drawing owner and noise update by update.

    ``gradient(owner, point)`` says from what: from records, or from second moments.
    """
    generator = np.random.default_rng(1)
    central, copies = np.zeros(p), np.zeros((n_owners, p))
    for _ in range(updates):
        owner = generator.integers(n_owners)
        point = (central + copies[owner]) / 2
        answer = gradient(owner, point) + scale[owner] * generator.laplace(size=p)
        step = sigma * point / (2 * n_owners) + answer / n_owners
        copies[owner] = np.clip(point - n_owners * rate * step, -bound, bound)
        central = np.clip(point - rate / 2 * sigma * point, -bound, bound)
    return central


def from_records(features, targets):
    """Return what takes an owner's mean record gradient over its records, every time."""

    def gradient(owner, point):
        x, y = features[owner], targets[owner]
        return 2 * x.T @ (x @ point - y) / len(y)

    return gradient


def from_moments(objective):
    """Return what takes it from the owner's second moments."""

    def gradient(owner, point):
        return 2 * (objective.gram[owner] @ point - objective.moment[owner])

    return gradient
