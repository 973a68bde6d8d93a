"""Times work against a baseline in one process, and says the two figures and their ratio.

All benchmarks report in one manner: a figure of ours and one of the baseline, in one unit of which
less is better, and the baseline's over ours. They stand in pytest's properties, from which
``python -m tests.benchmarks`` makes the table of docs, and on the screen with ``-s``.
"""

import gc
import resource
from collections.abc import Callable

import pytest

from tests.tables import table

TABLE = table(__file__, "reported.toml")


def best_times(*works: Callable[[], object], rounds: int = 9) -> list[float]:
    """Return the least CPU time (s) of each work over the rounds, taken in turn.

    That of processes which a work has started and waited for is part of it.
    """
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            gc.collect()
            began = cpu_time()
            work()
            best[index] = min(best[index], cpu_time() - began)
    return best


def cpu_time() -> float:
    """Return the CPU time (s) of this process, and of those that it has waited for."""
    spent = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def report(
    record_property: Callable[[str, object], None],
    what: str,
    *,
    ours: float,
    baseline: float,
    against: str,
    unit: str = "s",
    at_least: float,
) -> None:
    """Hand over a measurement, print it, and fail where the ratio is lower than asked.

    Parameters
    ----------
    record_property : callable
        Pytest's; called with ``what``, ``ours``, ``baseline`` and ``ratio``, in this order.
    what : str
        What was measured, with its size.
    ours, baseline : float
        Both in ``unit``; the ratio is ``baseline / ours``.
    against : str
        What the baseline is.
    unit : str
        Of which less is better.
    at_least : float
        The ratio asked for.
    """
    ratio = baseline / ours
    said = {
        "what": what,
        "ours": f"{figure(ours)} {unit}",
        "baseline": f"{figure(baseline)} {unit}, {against}",
        "ratio": f"{figure(ratio)} (asked: {at_least:.3g})",
    }
    for name, value in said.items():
        record_property(name, value)
    print("\n" + "; ".join(f"{name}: {value}" for name, value in said.items()))
    if ratio < at_least:
        pytest.fail(f"{what}: {ratio:.3g} of {against}; asked is {at_least:g}", pytrace=False)


def figure(value: float) -> str:
    """Return a number > 0 to three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def told(
    record_property: Callable[[str, object], None],
    name: str,
    ours: float,
    baseline: float,
    **sizes: object,
) -> None:
    """Report a measurement that the table of benchmarks describes; ``sizes`` go into its words."""
    said = dict(TABLE[name])
    words = {key: said.pop(key).format(**sizes) for key in ("what", "against")}
    report(record_property, **words, ours=ours, baseline=baseline, **said)
