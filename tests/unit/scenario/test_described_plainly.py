"""Descriptions of scenarios by ``asyncdp check``, in words that need no other page."""

import re

import pytest

from asyncdp_sim.network.channels import label_of
from asyncdp_sim.results.columns import summary
from asyncdp_sim.sentences.scenario import describe
from scenarios import entry


def lines(name: str, *settings: str) -> list[str]:
    return describe(entry(name).scenario(settings))


def test_owners_of_a_column_are_said_to_be_those_that_it_names():
    column = entry("hospital-sound").scenario().data.split_column
    [owners] = [line for line in lines("hospital-sound") if line.startswith("owners: ")]
    assert f"each with the rows that name it in the column {column}, " in owners


def test_one_draw_of_noise_is_not_said_to_be_one_on_each_coordinate():
    for manner, end in (("vector", "of an answer"), ("scalar-as-published", ", one draw for all")):
        said = lines("lending-timing", f'privacy.noise="{manner}"')
        [noise] = [line for line in said if line.startswith("noise: ")]
        assert " on each coordinate of an answer" in noise
        assert end in noise
        assert (", one draw for all of them" in noise) is (manner != "vector")


@pytest.mark.parametrize("name", ["lending-sound", "async-08", "lossy-rural-links"])
def test_a_description_fits_a_screen(name):
    """One line for a formula, and one for all quantities to which none applies."""
    said = lines(name)
    assert len(said) < 20
    assert sum(line.startswith("theory predicts no") for line in said) == 1
    formulas = [line.rpartition(" (")[2] for line in said if line.startswith("predicted ")]
    assert len(set(formulas)) == len(formulas)


@pytest.mark.parametrize("name", ["lending-sound", "wifi-contention", "joules-against-accuracy"])
def test_predictions_have_names_and_units_and_no_columns(name):
    predicted = [
        line for line in lines(name) if line.startswith(("predicted ", "theory predicts no"))
    ]
    assert len(predicted) > 1
    columns = [column for column in summary() if "_" in column]
    assert [column for column in columns if column in " ".join(predicted)] == []
    [staleness] = [line for line in predicted if line.startswith("predicted staleness: ")]
    assert re.match(r"predicted staleness: (1 update|0 updates) on average \(", staleness)


def test_the_load_is_said_in_exchanges():
    [load] = [line for line in lines("channel-load") if line.startswith("offered load: ")]
    assert load.endswith(" exchanges at a time, if every online tick starts one")
    instant = lines("lending-timing")  # where exchanges take no time, a line would say 0
    assert not any(line.startswith("offered load") for line in instant)


def test_channels_are_named_as_in_pictures():
    said = "\n".join(lines("channel-load"))
    kind = entry("channel-load").scenario().channel.kind
    assert label_of(kind) != kind
    assert f"{label_of(kind)}, " in said or f"({label_of(kind)})" in said
    assert f"({kind})" not in said


def test_owners_chosen_unequally_often_bias_the_step_unless_it_is_divided():
    rates = "clock.rate=[1.0, 2.0, 4.0]"
    [said] = [line for line in lines("lending-timing", rates) if line.startswith("i_k is not")]
    assert said.endswith('(algorithm.selection = "inverse-rate" removes the bias)')
    divided = lines("lending-timing", rates, "algorithm.selection=inverse-rate")
    [said] = [line for line in divided if line.startswith("i_k is not")]
    assert said.endswith("and each step is divided by N times its owner's share")
    assert [line for line in lines("lending-timing") if line.startswith("i_k is not")] == []


def test_numbers_of_wifi_have_names_and_small_windows_are_named():
    said = lines("wifi-contention", "owners.count=10", "channel.counting=frozen", "sweep={}")
    [about] = [line for line in said if line.startswith("approximated by")]
    assert about == (
        "approximated by Bianchi's fixed point (owners independent of each other): throughput: "
        "0.213 updates per unit, channel load: 1.81 transmissions at a time"
    )
    assert (
        "transmissions that collide: 88.3 %; answers collided counts answers whose last "
        "transmission does" in said
    )
    assert (
        "small windows for 10 owners: most transmissions collide; a larger channel.window lets "
        "more answers through" in said
    )
    two = lines("wifi-contention", "owners.count=2", "sweep={}")
    assert any(line.startswith("transmissions that collide: 35 %") for line in two)
    assert not any(line.startswith(("small windows", "approximated")) for line in two)
    assert not any("collide" in line for line in lines("async-08"))
