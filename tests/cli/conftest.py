import pytest

from asyncdp_sim.forecasts.advice import tune


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the step and the length among a few: that they run is asked here, not how well."""
    monkeypatch.setattr(tune, "CHANGES", (((4.0,), 2),))
