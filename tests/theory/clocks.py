"""Poisson clocks of one rate, merged."""

from asyncdp_sim.theory.formulas.arguments import count, positive
from asyncdp_sim.theory.formulas.clocks import MergedClocks


def merged_equal(n_owners: int, rate: float) -> MergedClocks:
    """Return the superposition of N Poisson clocks of one rate: Λ = Nλ, π_i = 1/N.

    Raises
    ------
    SpecError
        If N < 1, or the rate is not positive and finite.
    """
    number = count("n_owners", n_owners)
    return MergedClocks(number * positive("rate", rate), (1 / number,) * number)
