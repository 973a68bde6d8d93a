"""Every entry of the catalogue has a page, whatever it is made of."""

import pytest

from asyncdp_sim.reports import LARGEST, page
from asyncdp_sim.results import Result
from asyncdp_sim.runs.directory import write
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario.catalogue import catalogue
from tests.fingerprints.fingerprint import cells, small
from tests.unit.reports.pages import Seen

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", [entry.name for entry in catalogue()])
def test_a_cell_has_a_page(name, tmp_path):
    [*_, cell] = cells(name)
    scenario = small(name, cell)
    write(run(scenario), tmp_path / "result")
    seen = Seen(page([tmp_path / "result"]))
    assert seen.faults == []
    assert seen.foreign == []
    assert len(seen.text.encode()) < LARGEST / 2
    takes_time = Result.read(tmp_path / "result").summary["simulated_time"] > 0
    leads = takes_time and scenario.run.updates > 1  # a line, from one update to the next
    assert len(seen.all("svg")) >= (3 if leads else 1)
    assert ("Not drawn: nothing takes time." in " ".join(seen.words)) == (not takes_time)
