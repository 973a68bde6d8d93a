"""Claims of audits against observers, beside what these state: two ways to one number."""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.audits import claims
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.derived import stated_anew
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.trace import Trace
from tests.one_in import one_in

pytestmark = pytest.mark.no_evidence

SCENES = Path(__file__).parent / "scenes"
SOME = 'availability={kind="bernoulli",probability=0.5}'


def simulated(scene: str, *settings: str) -> tuple[Scenario, Trace]:
    scenario, _ = load(SCENES / scene, settings)
    return scenario, simulate(scenario.network, Streams(1).within("replicate", 1))


@pytest.mark.parametrize(
    "settings",
    [
        (),
        (SOME,),
        (SOME, "privacy.observer.sees=all"),
        ("privacy.epsilon=[1.0,2.0,4.0]", SOME, "model.regularisation=0.05", "run.updates=200"),
        ("algorithm.step=1.0",),
        ("model.theta_max=0.05", "privacy.sensitivity.target_max=2.0", "run.updates=200"),
    ],
)  # fmt: skip
def test_what_models_tell_is_the_same_by_an_isotonic_regression(settings: tuple[str, ...]) -> None:
    scenario, trace = simulated("last-model.toml", *settings)
    listener = scenario.privacy.listener.listening(scenario)
    stated = listener.learned(scenario.accountant, [trace]).zcdp
    assert stated is not None
    anew = claims.of_models(scenario, trace, owed(scenario))
    assert anew == pytest.approx(2 * stated[0], rel=1e-4)


@one_in(
    4,
    "settings",
    [
        (),
        ("privacy.observer={kind='node'}", "run.updates=40"),
        ("channel={kind='ideal', loss=0.3}", "run.updates=40"),
        ("privacy.epsilon=[1.0,2.0,4.0,8.0,16.0,32.0]", "run.updates=60"),
    ],
)
def test_what_a_node_is_told_is_the_same_in_fractions(settings: tuple[str, ...]) -> None:
    scenario, trace = simulated("six-averaging.toml", *settings)
    observer, multiplier = scenario.privacy.listener, scenario.accountant.multiplier
    assert isinstance(observer, NodeObserver)
    assert multiplier is not None
    squared = observer.squared(multiplier, trace)
    for owner, node in np.argwhere(~np.isnan(squared)).tolist():
        pool = {node + 1, *(observer.colluding or ())} - {owner + 1}
        anew = claims.of_view(trace, owed(scenario), pool, owner + 1)
        assert anew == pytest.approx(squared[owner, node], rel=1e-4, abs=1e-12)


def test_where_fractions_take_too_long_the_audit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario, trace = simulated("six-averaging.toml")
    monkeypatch.setattr(claims, "_MEETINGS", 3)
    assert claims.of_view(trace, owed(scenario), {1}, 2) is None
    fact = stated_anew("a view", 1.0, None)
    assert fact.describe() == (
        "a view: ε = 1 stated; a second way to work it out takes too long here: not refuted"
    )
    assert stated_anew("a view", 1.0, 1.01).exceeded
    assert not stated_anew("a view", 1.0, 0.5).exceeded
