"""Whole users hidden in a published experiment: verdicts, and noise that is not what it was."""

from dataclasses import replace

import pytest

from asyncdp_sim.privacy.mechanisms.gaussian import GaussianMechanism
from asyncdp_sim.results import Sweep
from scenarios.beyond import hidden_users
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = hidden_users.RESULTS


@pytest.mark.long
def test_distances_agree_with_what_was_published(tmp_path):
    assert [each.verdict for each in verdicts(FIGURE, tmp_path)] == ["agrees"] * 6
    swept = Sweep.read(tmp_path / FIGURE.name / AS_PUBLISHED)
    [ran] = [cell.result for cell in swept.cells[:1]]
    assert ran.manifest["summary"]["private"]


@pytest.mark.nightly
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_noise_of_half_or_twice_the_size_fails(factor, tmp_path, monkeypatch):
    right = GaussianMechanism.noise

    def wrong(*asked):
        noise = right(*asked)
        return replace(noise, scale=factor * noise.scale)

    monkeypatch.setattr(GaussianMechanism, "noise", wrong)
    assert [each.verdict for each in verdicts(FIGURE, tmp_path)] == ["fails"] * 6
