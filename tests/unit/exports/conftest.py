"""Clients without OpenDP, which the default tests do not have."""

import sys
from types import SimpleNamespace

import pytest

from asyncdp_sim.exports.private_learning import owner
from tests.unit.exports.banks import north


@pytest.fixture(autouse=True)
def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients answer with exact gradients."""
    exact = SimpleNamespace(OwnerNoise=lambda *_: SimpleNamespace(answer=list))
    monkeypatch.setitem(sys.modules, f"{owner.__package__}.noise", exact)


@pytest.fixture
def settings(tmp_path, monkeypatch):
    return north(tmp_path, monkeypatch)
