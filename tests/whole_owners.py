"""A small scenario that hides whole owners, in plain tables, and the noise that it takes."""

from types import SimpleNamespace

from asyncdp_sim.privacy.pairs import delta_of
from tests.scenes import fields

RECORDS, EPSILON, DELTA = [10, 20, 40], 2.0, 1e-6
WHOLE_OWNERS = fields(
    id="whole-owners",
    run={"seed": 4, "updates": 8, "replicates": 3, "record_every": 2},
    owners={"records": RECORDS},
    protocol={"kind": "rounds"},
    algorithm={"kind": "parameter-server", "step": 0.2},
    privacy={
        "epsilon": EPSILON, "delta": DELTA, "mechanism": "gaussian", "unit": "owner",
        "sensitivity": {"kind": "clip", "bound": 0.5}, "budget": "horizon",
    },
)  # fmt: skip
OF_GRADIENTS = SimpleNamespace(answer_size=2, local=None, answers_once=False, several_servers=False)
"""An algorithm that owners answer with gradients of two numbers, as far as answers ask."""


def multiplier(answers: int) -> float:
    """Return the least z of so many answers, by a search that knows the exact curve alone."""
    low, high = 1e-3, 1e3
    for _ in range(200):
        middle = (low * high) ** 0.5
        enough = delta_of(EPSILON, answers**0.5 / middle) <= DELTA
        low, high = (low, middle) if enough else (middle, high)
    return high
