"""Sound variants of lending, hospital and fraud, attacked end to end: nothing is refuted."""

import pytest

from asyncdp_sim.audit import audit
from scenarios.catalogue import entry

LOSSY = (
    'channel={kind="ideal", loss=0.3, retransmissions=2, resend="fresh"}',
    "run.replicates=1",
    "run.until=50.0",
    "privacy.epsilon=1.0",
    'privacy.budget={kind="until-spent", answers=2}',
)
"""Answers are lost and computed again; budgets of two answers bind."""
SOUND = {
    "lending-sound": (
        "owners.records=40",
        "run.updates=4",
        "data.features=2",
        "data.public_records=100",
    ),
    "hospital-sound": (
        "owners.count=3",
        "data.split=in-order",
        "owners.records=40",
        "run.updates=4",
        "data.features=2",
        "data.public_records=400",
    ),
    "fraud-svm": (
        "owners.records=40",
        "run.updates=2",
        "data.features=2",
        "data.public_records=400",
        "data.preprocessing=pca",
    ),
}
"""Encoded, projected on public rows, clipped or confined; small, so that many runs are quick."""


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_scenario_is_not_refuted(name: str) -> None:
    found = audit(
        entry(name).scenario((*LOSSY, *SOUND[name])), answers=2000, runs=200, confidence=0.999
    )
    assert not found.exceeded, found.lines()


@pytest.mark.nightly
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_scenario_is_not_refuted_by_many_runs(name: str) -> None:
    scenario = entry(name).scenario((*LOSSY, *SOUND[name]))
    found = audit(scenario, answers=10**6, runs=10**5, confidence=0.999, workers=2)
    print("\n".join(found.lines()))
    assert not found.exceeded
    assert found.checks[1].finding.epsilon > 0.05  # the attack does see something
