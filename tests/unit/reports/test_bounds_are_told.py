"""Bounds that theory has in the place of one value are told to whoever asks, with the reason."""

import re

import pytest

from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.reports import page
from asyncdp_sim.results import read_manifest
from asyncdp_sim.sentences.forecast import as_json, figures
from asyncdp_sim.sentences.result import figures as on_screen
from asyncdp_sim.sentences.scenario import describe
from tests.tables import table
from tests.unit.reports.pages import scenario, written

QUEUED = table(__file__, "bounds_are_told.toml")
"""1/D = 2 and μ/p = 4."""
WHY = "owners' times of work, with their answers' way, are not exponential"


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return written(tmp_path_factory.mktemp("bounds") / "result", **QUEUED)


def test_before_a_run():
    made = scenario(**QUEUED)
    said = "\n".join(describe(made))
    assert (
        "throughput: between 2 and 4 updates per unit, whatever the laws of the times; no single "
        f"value, because {WHY}" in said
    )
    assert "T updates take between 6.25 and 12.5 units" in said
    found = forecast(made, judged=None)
    assert (
        f"2 to 4, whatever the laws of the times; no single value, because {WHY}"
        in dict(figures(found)).values()
    )
    assert '"low": 2' in as_json(found)


@pytest.mark.long
def test_after_a_run(result):
    manifest = read_manifest(result)
    assert "(theory 2 to 4)" in dict(on_screen(manifest))["throughput"]
    row = re.search(r"<tr>(?:(?!</tr>).)*<code>throughput</code>.*?</tr>", page([result]), re.S)
    assert row is not None
    assert "2 to 4" in row.group()
