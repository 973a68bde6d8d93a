"""Whole users hidden in a published experiment: verdicts, and noise that is not what it was."""

import pytest

from asyncdp_sim.results import Sweep
from scenarios.beyond import hidden_users
from scenarios.papers.figure import AS_PUBLISHED
from tests.catalogue.verdicts import verdicts

[FIGURE] = hidden_users.RESULTS
pytestmark = pytest.mark.nightly


def test_distances_agree_with_what_was_published(tmp_path):
    found = verdicts(FIGURE, tmp_path)
    assert [each.verdict for each in found] == ["agrees"] * 6
    swept = Sweep.read(tmp_path / FIGURE.name / AS_PUBLISHED)
    [ran] = [cell.result for cell in swept.cells[:1]]
    assert ran.manifest["summary"]["private"]


def test_noise_for_records_and_not_users_fails(tmp_path):
    """Noise of one of ten records is a tenth of it."""
    found = verdicts(FIGURE, tmp_path, "privacy.unit=record", "run.replicates=4")
    assert [each.verdict for each in found if "local noise" in each.quantity] == ["fails"] * 3
