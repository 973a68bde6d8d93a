import pytest

from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Broadcast
from asyncdp_sim.theory.predict.protocols import facts_of
from tests.together import together
from tests.unit.theory.spoken import HALF, PUSH, SLOW, network


@together
@pytest.mark.parametrize(
    ("parts", "per_update", "spent"),
    [
        ({"answers_allowed": (1000,) * 4}, 1.0, False),  # T of them: the run ends first
        ({"answers_allowed": (320,) * 4}, 1.0, True),
        ({"answers_allowed": (400,) * 4}, 1.0, False),  # 250 ± 16 expected
        ({"answers_allowed": (400, 400, 400, 10)}, 1.0, True),
        ({"answers_allowed": (1000,) * 4}, 3.0, False),  # 750 ± 47
        ({"answers_allowed": (1000,) * 4}, 4.0, True),
        ({"answers_allowed": (1000,) * 4}, float("inf"), True),
        ({"answers_allowed": (30,) * 4, "until": 5.0}, 1.0, False),  # 5 ± 2.2
        ({"answers_allowed": (30,) * 4, "until": 15.0}, float("inf"), True),
        ({"answers_allowed": (400,) * 4, "clock": PoissonClock(rate=(5.0, 1, 1, 1))}, 1.0, True),
        (
            {"answers_allowed": (700,) * 4, "clock": SaturatedClock(), "protocol": PUSH,
             "compute": (HALF, SLOW, Constant(value=0.1), HALF)}, 1.0, True,
        ),
        (
            {"answers_allowed": (6,) * 4, "until": 3.0,
             "protocol": Broadcast(interval=3.0, answer_at="after-delay")}, 9.0, True,
        ),
        (
            {"answers_allowed": (30,) * 4, "until": 3.0,
             "protocol": Broadcast(interval=3.0, answer_at="after-delay")}, 9.0, False,
        ),
    ],
)  # fmt: skip
def test_when_budgets_may_be_spent(parts, per_update, spent):
    found = facts_of(network(**parts)).spent(per_update)
    assert bool(found) == spent
    assert not spent or found.startswith("a budget of ")
