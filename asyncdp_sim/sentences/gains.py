"""Sentences on what owners gain by joining, the same on every screen, page and picture."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from asyncdp_sim.core.words import estimate, known, number
from asyncdp_sim.decision import Verdict

AVERAGE = "the average owner"
ONE: dict[str, str] = {
    Verdict.GAINS: "{} gains by joining",
    Verdict.WORSE: "{} does worse by joining",
    Verdict.NO_DIFFERENCE: "joining makes no material difference for {}",
    Verdict.UNDECIDED: "undecided for {}",
}
"""Verdicts on one owner, or on the average one, as sentences."""
MANY = {
    Verdict.GAINS: "gain",
    Verdict.WORSE: "do worse",
    Verdict.NO_DIFFERENCE: "no material difference",
    Verdict.UNDECIDED: "undecided",
}
"""Verdicts behind the number of owners that have them, in the order in which they are counted."""


def joining(
    gain: Mapping[str, Any], unit: str | None, where: str, who: str = AVERAGE, least: str = ""
) -> str:
    """Return the verdict on an owner or on the average one, with the gain and its interval.

    Parameters
    ----------
    gain : mapping
        ``verdict``, ``gain``, ``low``, ``high`` and ``own``, as the manifest of a run and the JSON
        of a forecast have them.
    unit : str or None
        Of the error.
    where : str
        At which ε.
    who : str
        The owner.
    least : str
        Stands before the gain where it is a lower bound.
    """
    verdict = str(gain["verdict"])
    sentence = f"{ONE.get(verdict, f'{verdict}: {{}}').format(who)} {where}"
    size, own = known(gain["gain"]), known(gain["own"])
    if not isfinite(size):
        return f"{sentence}: no rows to be judged on"
    percent = round(100 * size / own) if own > 0 else 0
    share = f", {percent}% of its own error" if percent != 0 else ""
    return f"{sentence}: gain {least}{with_ends(gain, unit)}{share}"


def errors(means: Mapping[str, float], score: str, unit: str | None) -> str:
    """Return mean errors of the models that are compared.

    Parameters
    ----------
    means : mapping
        ``own``, ``joint``, ``adapted`` and ``guessing``.
    score : str
        What the errors are.
    unit : str or None
    """
    names = {"own": "own model", "joint": "joint model", "adapted": "adapted"}
    names |= {"guessing": "guessing"}
    texts = ", ".join(f"{number(means[key])} {name}" for key, name in names.items())
    return f"{texts} ({score}{f', {unit}' if unit else ''})"


def with_ends(gain: Mapping[str, Any], unit: str | None) -> str:
    """Return a gain in its unit, and its 95 % interval."""
    return estimate(known(gain["gain"]), known(gain["low"]), known(gain["high"]), unit or "")


def counted(verdicts: Mapping[str, int], owners: str) -> str:
    """Return how many owners have each verdict.

    Parameters
    ----------
    verdicts : mapping
        The number of owners with each; a verdict that nobody has may be absent.
    owners : str
        How many owners it is of.
    """
    return f"{owners}: {', '.join(f'{verdicts.get(v, 0)} {text}' for v, text in MANY.items())}"
