"""Collab's step c_1, which the paper does not state, chosen by one rule for all of its figures.

``python -m scenarios.papers.collab_step`` prints ψ at every candidate, and the choice.

The rule: of :data:`FACTORS` times 1/h the one with the least median ψ after the last round at
ε = 10, on a twin of another seed than the figures'. h is the curvature that is known before any
record is seen: 2/m of a squared error on features whose m public rows have second moments I/m
(lending), the regulariser's σ of a hinge (frauds). Longer steps than 1/h are no candidates. What
was published has no part in it.
"""

import sys
from collections.abc import Callable, Mapping
from math import inf, isnan

from asyncdp_sim.core.words import known
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import entry

FACTORS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
ANOTHER_SEED = 2
RULE = (
    "privacy.epsilon=10.0", f"run.seed={ANOTHER_SEED}", "run.replicates=20", "run.record_every=100",
)  # fmt: skip
CHOSEN_FOR: Mapping[str, tuple[str, ...]] = {
    "collab-02": ("collab-02", "collab-03", "collab-06"),
    "collab-07": ("collab-07", "collab-08", "collab-11"),
}
"""The entry that the rule is run on, and those that take its step: one model and one table each."""


LONGEST: Mapping[str, Callable[[Scenario], float]] = {
    "collab-02": lambda scenario: float(scenario.plain()["data"]["public_records"]) / 2,  # m/2
    "collab-07": lambda scenario: 1 / scenario.model.sigma,
}
"""1/h of an entry."""


def candidates(name: str, more: tuple[str, ...] = ()) -> dict[float, float]:
    """Return the median of ψ at the end by c_1, the longest first; infinite where it diverges.

    Parameters
    ----------
    name : str
        An entry of :data:`CHOSEN_FOR`.
    more : tuple of str
        Settings as on the command line, such as fewer records.
    """
    longest, found = LONGEST[name](entry(name).scenario()), {}
    for factor in FACTORS:
        step = float(f"{factor * longest:.6g}")
        scenario = entry(name).scenario((*RULE, f"algorithm.step={step!r}", *more)).base()
        psi = known(run(scenario).summary["psi_final"]["median"], inf)
        found[step] = inf if isnan(psi) else psi
    return found


def choice(psi: Mapping[float, float]) -> float:
    """Return the c_1 with the least ψ."""
    return min(psi, key=lambda step: psi[step])


def main() -> int:
    """Print the candidates of either table, and the choice."""
    for name, entries in CHOSEN_FOR.items():
        psi = candidates(name)
        for step, value in psi.items():
            sys.stdout.write(f"{name}: c_1 = {step:g}, median ψ {value:.4g} at ε = 10\n")
        sys.stdout.write(f"{', '.join(entries)}: c_1 = {choice(psi):g}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
