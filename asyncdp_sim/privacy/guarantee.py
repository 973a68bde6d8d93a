"""What a run guarantees, said precisely: the label that follows a result everywhere."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.sensitivity import Declared
from asyncdp_sim.privacy.spec import Privacy

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Guarantee:
    """The privacy of a run's answers under replacement of one record.

    Attributes
    ----------
    private : bool
        Whether every owner's answers are ε_i-differentially private as the scenario claims.
    epsilon_true : float
        The largest ε over owners that the noise really gives; ∞ where there is none.
    bound_exceeded : bool or None
        Whether a record gradient exceeded the declared bound; None where the bound is enforced.
    reasons : tuple of str
        Why it is not private, or what the claim rests on.
    """

    private: bool
    epsilon_true: float
    bound_exceeded: bool | None
    reasons: tuple[str, ...]


def guarantee(
    privacy: Privacy,
    epsilon: Array,
    xi: float,
    n_features: int,
    largest: Array | None,
    public_rows_of_owner: tuple[int, ...],
    *,
    obfuscated: bool = False,
) -> Guarantee:
    """Judge a run's privacy.

    Parameters
    ----------
    privacy : Privacy
        What the scenario asks for.
    epsilon : array (N,)
        ε_i; infinite where an owner adds no noise.
    xi : float
        Ξ, the bound that the noise was scaled for.
    n_features : int
        p.
    largest : array (N,) or None
        The largest record gradient met, per owner, in the norm of the declared bound; None where
        the bound is enforced.
    public_rows_of_owner : tuple of int
        How many of each owner's records the learner knows.
    obfuscated : bool
        Whether owners perturb their answers so that all perturbations cancel (POLAR).
    """
    breaks: list[str] = []
    true = epsilon.astype(float)
    exceeded: bool | None = None
    if privacy.mechanism == "none":
        exact = "mechanism none: the answers are exact"
        hidden = "obfuscated, no DP guarantee: perturbations that cancel have no finite ε"
        breaks.append(hidden if obfuscated else exact)
        true = np.full_like(true, inf)
    elif np.any(np.isinf(epsilon)):
        silent = np.flatnonzero(np.isinf(epsilon)) + 1
        breaks.append(f"ε = ∞ for {_owners(silent)}: their answers are exact")
    if privacy.mechanism == "laplace" and privacy.noise == "scalar-as-published":
        breaks.append(
            "noise scalar-as-published: one draw on all coordinates is not private for any ε, "
            "since differences between coordinates leak exactly"
        )
        true = np.full_like(true, inf)
    sensitivity = privacy.sensitivity
    if sensitivity is not None and privacy.mechanism == "laplace":
        factor = np.ones_like(true)
        if sensitivity.norm == "l2-as-published":
            breaks.append(
                "norm l2-as-published: Laplace noise scaled to an L2 bound gives up to "
                f"√p = {sqrt(n_features):.3g} times the claimed ε"
            )
            factor *= sqrt(n_features)
        if isinstance(sensitivity, Declared) and largest is not None:
            exceeded = bool(np.any(largest > xi))
            if exceeded:
                worst = int(np.argmax(largest)) + 1
                norm = sensitivity.norm[:2].upper()
                breaks.append(
                    f"the declared bound {xi:g} on a record gradient's {norm} norm is exceeded: "
                    f"{largest.max():.4g} at owner {worst}"
                )
            factor *= np.maximum(1, largest / xi)
        true = true * factor
    shared = np.flatnonzero(np.asarray(public_rows_of_owner) > 0)
    if len(shared) > 0:
        rows = sum(public_rows_of_owner)
        breaks.append(
            f"public overlap: {rows} public rows are records of {_owners(shared + 1)}, ε = ∞ there"
        )
        true[shared] = inf
    notes = list(breaks)
    if not breaks and isinstance(sensitivity, Declared):
        notes.append(
            f"the claim rests on the declared bound {xi:g}, which no record gradient exceeded "
            "where this run looked (start, optimum, final models)"
        )
    return Guarantee(not breaks, float(true.max()), exceeded, tuple(notes))


def _owners(numbers: npt.NDArray[np.int64]) -> str:
    listed = ", ".join(str(n) for n in numbers[:5])
    more = "" if len(numbers) <= 5 else f" and {len(numbers) - 5} more"
    return f"owner {listed}" if len(numbers) == 1 else f"owners {listed}{more}"
