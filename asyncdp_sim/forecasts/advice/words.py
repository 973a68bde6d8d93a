"""Sentences that all pieces of advice share: comparisons, gains, and whose records they are of."""

from collections.abc import Sequence
from math import isfinite

from asyncdp_sim.forecasts.advice.contest import Played
from asyncdp_sim.forecasts.population import RELEASE


def gained(gain: tuple[float, float], other: str, this: str) -> str:
    """Return in words how many times as large another choice's ψ is.

    Parameters
    ----------
    gain : tuple of float
        The ratio of simulated means in the same runs, and the half width of its 95 % interval.
    other, this : str
        Whose ψ is divided, and by whose.
    """
    ratio, half = gain
    if not isfinite(ratio):
        return f"not a number: ψ {other} is not finite"
    said = f"{ratio:.3g} ± {half:.2g} times (ψ {other} over ψ {this}, in the same runs)"
    return said if ratio - half > 1 else f"{said}: not shown to pay"


def following(others: Sequence[tuple[object, Played]], best: Played) -> list[str]:
    """Return the next best choices, and how many times as large the ψ of each is."""
    told = []
    for each, simulated in others:
        ratio, half = simulated.over(best)
        times = f"{ratio:.3g} ± {half:.2g} times" if isfinite(ratio) else "not comparable with"
        told.append(f"next best {each}; {times} ψ of the best")
    return told


def compared(best: Played, choices: int, of: str) -> str:
    """Return how choices were compared."""
    return (
        f"{len(best.final)} of each choice with a ± (longer half of a 95 % interval), networks and "
        f"noise being the same for all; other runs chose the best of {choices} {of}"
    )


def source(words: str, *, private: bool, unchecked: bool, command: str) -> list[str]:
    """Return of which records all this is, and how it is checked where it is of a twin.

    Parameters
    ----------
    words : str
        Whose records.
    private : bool
        Whether they are private ones of a table.
    unchecked : bool
        Whether they are a twin's, the table not having been looked at.
    command : str
        What to type, without ``--private``.
    """
    told = [f"data      {words}" + (f": {RELEASE}" if private else "")]
    if unchecked:
        told.append(
            "unchecked on the table itself, whose records were not read; to simulate on them: "
            f"asyncdp forecast {command} --private (what that says is not for release)"
        )
    return told
