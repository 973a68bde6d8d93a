"""A forecast's pictures: its numbers, its label, and files that are none."""

import json

import pandas as pd
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.draw import draw_forecast
from asyncdp_sim.figures.gains import pictures
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.reports import page
from asyncdp_sim.sentences import forecast as words
from tests.verification.test_exact_moments import scenario


def test_a_forecast_is_drawn_with_its_numbers_and_its_label(tmp_path):
    found = forecast(scenario(), target=0.05)
    (tmp_path / "f.json").write_text(words.as_json(found), encoding="utf-8")
    drawn = draw_forecast(tmp_path / "f.json")
    names = ["forecast-over-time", "forecast-owners", "forecast-by-epsilon"]
    assert [path.stem for path in drawn] == names
    exact = {"expected_psi": float, "gain": float}  # pandas 3.0 reads others off by a digit
    curve = pd.read_csv(tmp_path / "f" / "forecast-over-time.csv", converters=exact)
    assert curve["expected_psi"].iloc[-1] == found.curve[-1] == pytest.approx(found.psi)
    assert curve["time"].iloc[-1] == pytest.approx(found.time)
    owners = pd.read_csv(tmp_path / "f" / "forecast-owners.csv", converters=exact)
    gains = sorted((owner.gain.gain.value for owner in found.gains.owners), reverse=True)
    assert owners["gain"].tolist() == gains
    assert owners["release"].all()


def older(raw):
    """Return a forecast of private rows as versions before wrote it, without ``release``."""
    return {key: value for key, value in raw.items() if key != "release"} | {
        "not_for_release": True
    }


@pytest.mark.parametrize("written", [lambda raw: raw | {"release": False}, older])
def test_a_forecast_from_private_data_says_so(tmp_path, written):
    raw = json.loads(words.as_json(forecast(scenario())))
    assert raw["release"] is True
    (tmp_path / "f.json").write_text(json.dumps(written(raw)), encoding="utf-8")
    draw_forecast(tmp_path / "f.json")
    assert not pd.read_csv(tmp_path / "f" / "forecast-owners.csv")["release"].any()
    assert '<meta name="release" content="false">' in page([tmp_path / "f.json"])


def test_owners_have_colour_and_shape_by_verdict():
    raw = json.loads(words.as_json(forecast(scenario())))
    verdicts = ["gains", "does worse", "undecided"][: len(raw["owners"])]
    for owner, verdict in zip(raw["owners"], verdicts, strict=True):
        owner["verdict"] = verdict
    [_, picture, _] = pictures(raw)
    assert sorted(picture.table["verdict"].tolist()) == sorted(verdicts)
    said = "of 3 owners: 1 gain, 1 do worse, 0 no material difference, 1 undecided"
    assert picture.said.title.endswith(said)


@pytest.mark.parametrize("text", ["", "[]", "{}", "no JSON"])
def test_what_is_no_forecast_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "f.json").write_text(text, encoding="utf-8")
    with pytest.raises(ResultError, match=r"to write one: asyncdp forecast SCENARIO --json > "):
        draw_forecast(tmp_path / "f.json")
