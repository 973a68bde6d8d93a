"""Published values of the papers' figures, to hold ours against."""

from collections.abc import Mapping

FINAL_PSI: Mapping[str, Mapping[float, float]] = {
    # Async, figure 3: where the medians end, read off the plot. The law of figure 5, published
    # beside it, gives 3.4, 0.034 and 0.00034 at the same settings: the two disagree.
    "lending-convergence": {0.1: 0.4, 1.0: 0.04, 10.0: 0.008},
}
"""Per scenario: the published ψ(θ_L,T) for each value of the first swept path."""
ELSEWHERE: Mapping[str, str] = {
    "lending-convergence": (
        "read off the paper's figure 3, whose own law (figure 5) gives 3.4, 0.034 and 0.00034 "
        "here: the two disagree. The curves for ε = 0.1 and 1 end where the law is; for ε = 10 so "
        "many updates are too few"
    ),
}
"""Per scenario: why the published points lie elsewhere than our curves."""
