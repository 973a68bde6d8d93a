"""Faults of the privacy part of a scenario, where choices do not fit together."""

from math import inf

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Declared, Domain, Privacy
from asyncdp_sim.privacy.budgets import PerOwnerCap, UntilSpent
from tests.together import together

DECLARED = Declared(bound=5.0)
GAUSSIAN = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian"}
NORMAL = {**GAUSSIAN, "sensitivity": DECLARED}
DISCRETE = {"epsilon": 1.0, "mechanism": "discrete-laplace", "sensitivity": DECLARED}
NORM, PRICE = "privacy.sensitivity.norm", "privacy.budget.per_answer"


@together
@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"epsilon": 1.0, "sensitivity": DECLARED}, []),
        ({"mechanism": "none"}, []),
        ({}, ["privacy.epsilon", "privacy.sensitivity"]),
        ({"epsilon": 1.0}, ["privacy.sensitivity"]),
        ({"epsilon": [1.0, 2.0], "sensitivity": DECLARED}, ["privacy.epsilon"]),
        (
            {
                "epsilon": 1.0,
                "sensitivity": DECLARED,
                "budget": PerOwnerCap(answers=[1, 2]),
            },
            ["privacy.budget.answers"],
        ),
        (
            {"epsilon": 1.0, "sensitivity": Domain(row_norm=1.0, target_max=1.0)},
            ["model.theta_max"],
        ),
        ({"epsilon": [1.0, inf, 1.0], "sensitivity": DECLARED}, []),
        ({"epsilon": inf, "sensitivity": DECLARED}, []),
        ({"epsilon": [inf, inf, 1.0], "sensitivity": DECLARED}, ["privacy.epsilon"]),
        ({"epsilon": 1.0, "sensitivity": DECLARED, "overlap": 3}, []),
        ({"epsilon": 1.0, "sensitivity": DECLARED, "overlap": 4}, ["privacy.overlap"]),
        ({"epsilon": 1.0, "sensitivity": DECLARED, "mechanism": "gaussian"}, ["privacy.delta"]),
        (
            {"mechanism": "gaussian"},
            ["privacy.epsilon", "privacy.sensitivity", "privacy.delta"],
        ),
        ({**GAUSSIAN, "sensitivity": Declared(bound=5.0, norm="l2")}, []),
        ({**GAUSSIAN, "sensitivity": Declared(bound=5.0, norm="l1")}, [NORM]),
        ({**GAUSSIAN, "sensitivity": Declared(bound=5.0, norm="l2-as-published")}, [NORM]),
        ({"epsilon": 1.0, "sensitivity": Declared(bound=5.0, norm="l2")}, [NORM]),
        ({"mechanism": "none", "sensitivity": Declared(bound=5.0, norm="l2")}, []),
        ({**NORMAL, "noise": "scalar-as-published"}, ["privacy.noise"]),
        ({"mechanism": "none", "noise": "scalar-as-published"}, []),
        ({**DISCRETE, "grid": 2.0**-60}, []),
        ({**DISCRETE, "grid": 0.1}, ["privacy.grid"]),
        ({"epsilon": 1.0, "sensitivity": DECLARED, "grid": 0.25}, ["privacy.grid"]),
        ({**DISCRETE, "budget": UntilSpent(per_answer=1.0)}, []),
        ({**DISCRETE, "budget": UntilSpent(per_answer=[1.0, 1.1, 0.1])}, [PRICE]),
        ({**DISCRETE, "budget": UntilSpent(per_answer=[1.0, 1.0])}, [PRICE]),
        ({**DISCRETE, "budget": UntilSpent(answers=[1, 1])}, ["privacy.budget.answers"]),
        ({**DISCRETE, "epsilon": inf, "budget": UntilSpent(per_answer=1.0)}, [PRICE]),
        ({**DISCRETE, "epsilon": inf, "budget": UntilSpent(answers=1)}, []),
        ({**DISCRETE, "budget": UntilSpent(per_answer=4e-10)}, [PRICE]),  # over 2³¹ answers
        ({**DISCRETE, "epsilon": 1e6, "budget": UntilSpent(per_answer=1e-300)}, [PRICE]),
        (
            {**NORMAL, "epsilon": [1.0, 9e-6, 2e6]},
            ["privacy.epsilon"] * 2,
        ),
        ({**NORMAL, "epsilon": [1e-5, 1e6, inf]}, []),
        ({**NORMAL, "budget": UntilSpent(per_answer=1e-6)}, [PRICE]),
        ({**NORMAL, "budget": UntilSpent(per_answer=1e-3)}, []),
        ({"mechanism": "none", "budget": UntilSpent(per_answer=1.0)}, [PRICE]),
    ],
)
def test_what_does_not_fit_three_owners_is_named(fields: dict, keys: list[str]) -> None:
    assert [fault.key for fault in Privacy(**fields).faults(3, Ridge(regularisation=1.0))] == keys


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), [1.0, 0.0], []])
def test_epsilon_must_be_positive(epsilon: object) -> None:
    with pytest.raises(SpecError) as caught:
        Privacy(epsilon=epsilon, sensitivity=DECLARED)
    assert all(fault.key.startswith("epsilon") for fault in caught.value.faults)
