"""The sentences of `wifi-contention`, and its picture."""

from pathlib import Path

import numpy as np
import pytest

from analysis.studies.fixed_point import FIGURE
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.theory.formulas import dcf
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.channels import approximation
from scenarios import entry

ENTRY = "wifi-contention"
FEW = ("run.replicates=20", 'sweep."owners.count"=[2, 5]', 'sweep.variant=[{ name = "small" }]')


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    folder = tmp_path_factory.mktemp("wifi") / "result"
    sweep(entry(ENTRY).scenario(FEW), folder, workers=1)
    return Sweep.read(folder)


@pytest.mark.long
def test_two_are_off_as_the_chain_says_and_five_by_less(drawn):
    table = FIGURE.picture(drawn).table
    (two, five), (about, other) = table["off"], table["off_high"] - table["off"]
    assert table["exact"][0] == pytest.approx(3.2, abs=0.01)
    assert abs(two - table["exact"][0]) < 2 * about
    assert about < 0.8
    assert np.isnan(table["exact"][1])
    channel = entry(ENTRY).scenario().base().channel
    assert isinstance(channel, Dcf)
    times = (channel.slot, channel.airtime, channel.after_success, channel.after_collision)
    found = dcf.exact(5, channel.window, channel.doublings).access(*times)
    off = 100 * (approximation(channel, 5, 1.0).success_rate / found.success_rate - 1)
    assert abs(five - off) < 2 * other
    assert off < 1  # the goal for five owners and more
    assert f"{off:.2f} % for five" in " ".join(entry(ENTRY).scenario().description.split())
    assert f"{off:.2f} % for five" in Path("docs/catalogue.md").read_text(encoding="utf-8")
    assert f"| {off:.2f} |" in Path("docs/parts/channels.md").read_text(encoding="utf-8")


def test_what_the_file_says_is_in_the_figures():
    said = " ".join(entry(ENTRY).scenario().description.split())
    chain = entry(ENTRY).scenario(('sweep."owners.count"=[2]',)).base()
    exact = predicted(chain.network, "throughput")
    assert isinstance(chain.channel, Dcf)
    off = 100 * (approximation(chain.channel, 2, 1.0).success_rate / exact - 1)
    assert f"is {off:.1f} % too high for two, exactly" in said


@pytest.mark.long
def test_a_sweep_of_something_else_is_no_picture(tmp_path):
    other = ("run.replicates=2", "run.until=20.0", 'sweep={"run.seed"=[1, 2]}')
    sweep(entry(ENTRY).scenario(other), tmp_path / "other", workers=1)
    with pytest.raises(ResultError, match=r"something else than variants and owners\.count"):
        FIGURE.picture(Sweep.read(tmp_path / "other"))
