"""Joules and bytes stand wherever a run is told, and before it where a formula gives them."""

import pytest

from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.reports import page
from asyncdp_sim.reports.answer import owners, shown
from asyncdp_sim.results import Result, read_manifest
from asyncdp_sim.sentences.forecast import figures
from asyncdp_sim.sentences.result import figures as on_screen
from tests.tables import table
from tests.unit.reports.pages import Seen, scenario, written

POWERED = table(__file__, "energy_is_told.toml")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return written(tmp_path_factory.mktemp("energy") / "result", **POWERED)


@pytest.mark.long
def test_what_is_forecast_is_what_is_measured(result):
    said, summary = forecast(scenario(**POWERED), judged=None), read_manifest(result)["summary"]
    assert said.energy is not None
    for name in ("joules", "bytes_sent", "bytes_received"):
        assert getattr(said.energy, name) == pytest.approx(summary[name], rel=0.1)
    told = dict(figures(said))["energy"]
    assert told.startswith(f"{said.energy.joules:.3g} ± ")
    assert f"{round(said.energy.bytes_sent or 0):,} bytes sent" in told


def test_a_run_tells_both(result):
    manifest = read_manifest(result)
    summary, rows = manifest["summary"], dict(on_screen(manifest))
    assert f"{summary['joules']:.3g} J per replicate" in rows["energy"]
    assert "(theory " in rows["energy"]
    assert f"{round(summary['bytes_sent']):,} sent" in rows["bytes"]


@pytest.mark.long
def test_the_page_tells_every_owner_both(result):
    told = Seen(page([result])).said
    found = Result.read(result)
    [table] = owners(found)
    for column, name in (
        ("joules", "joules"), ("bytes sent", "bytes_sent"), ("bytes received", "bytes_received")
    ):  # fmt: skip
        place = table.rows[0].index(column)
        means = list(map(shown, found.of_owners(name).astype(float).mean(axis=0)))
        assert [row[place] for row in table.rows[1:]] == means
        assert all(each in told for each in (column, *means))
