"""Times two pieces of work in turn, in one process, and gives the ratio of their best times."""

import gc
import time
from collections.abc import Callable


def best_times(*works: Callable[[], object], rounds: int = 9) -> list[float]:
    """Return the least wall time of each work over the rounds, taken in turn."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            gc.collect()
            began = time.perf_counter()
            work()
            best[index] = min(best[index], time.perf_counter() - began)
    return best
