"""The PyTorch model of the docs: clipped as the package's own network is, and live as in replay."""

import numpy as np
import pytest

from asyncdp_sim.learning.longest_gradients import largest_of_all
from asyncdp_sim.learning.objectives import MLP
from asyncdp_sim.runs.run import run
from tests.documents.parts import ROOT

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("default")]
SCENARIO = ROOT / "docs" / "kinds" / "torch_model.toml"


def test_clipped_gradients_are_those_of_the_perceptron():
    import asyncdp_sim as ad

    model = ad.load(SCENARIO, allow_code=True).model
    ours = MLP(regularisation=0.01, hidden=model.hidden)
    draw = np.random.default_rng(1)
    features, targets = [draw.normal(size=(30, 3))], [draw.normal(size=30)]
    theta = draw.normal(size=(2, ours.numbers(3)))

    def as_torch(points: np.ndarray) -> np.ndarray:
        inner, outer = points[:, :16].reshape(-1, 4, 4), points[:, 16:]
        weights = inner[:, :, :3].reshape(len(points), -1)
        return np.concatenate([weights, inner[:, :, 3], outer], axis=1)

    for norm in ("l1", "l2"):
        for clip in (None, 0.5):
            expected = ours.records(ours.design(features), targets, clip, norm)
            found = model.records(model.design(features), targets, clip, norm)
            owners = np.zeros(2, dtype=np.int64)
            gradient = found.gradient(owners, as_torch(theta))
            assert gradient == pytest.approx(as_torch(expected.gradient(owners, theta)), rel=1e-12)
            rows, zero = np.arange(2), np.zeros(1)
            assert found.lengths_at(0, rows, as_torch(theta)) == pytest.approx(
                expected.lengths_at(0, rows, theta)
            )
            assert largest_of_all(found, as_torch(theta), zero) == pytest.approx(
                largest_of_all(expected, theta, zero)
            )


def test_it_learns_privately_live_as_in_replay():
    import asyncdp_sim as ad

    scenario = ad.load(SCENARIO, ["run.updates=12"], allow_code=True)
    live = ad.run(scenario.replace(run={"learning": "live"}))
    again = ad.run(scenario.replace(run={"learning": "replay"}))
    assert live.label.startswith("Private as claimed: ε = 10 per owner over the run, δ = 1e-06")
    assert live.models.theta_L.tolist() == again.models.theta_L.tolist()


def test_a_declared_bound_is_watched():
    """At every query, by nothing but what a model's records must tell."""
    import asyncdp_sim as ad

    settings = ["run.updates=12", 'privacy.sensitivity={kind="declared", bound=1e-3, norm="l2"}']
    found = run(ad.load(SCENARIO, settings, allow_code=True)).summary
    assert (found["bound_exceeded"], found["queries_unseen"]) == (True, 0)
