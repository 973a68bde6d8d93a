"""Owners that write a column in another way are named with the factor, and so are rows of sums."""

import numpy as np
import pandas as pd
import pytest
from of_frames import of_frame

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.tables.encoded_columns import UnlikeOwners
from tests import scenes, tables
from tests.together import together

# Owners that write a column in other units, codes or notations are named with the factor.

ROWS, PUBLIC = 400, 150
SITES = ["Nord", "Mitte", "Bucht", "Tal"] * (ROWS // 4)
DRAWS = np.random.default_rng(4)
GLUCOSE = DRAWS.normal(97, 9, ROWS)
OF_TAL = (np.arange(ROWS) % 4 == 3) & (np.arange(ROWS) < ROWS - PUBLIC)
CASES = tables.table(__file__, "unlike_owners.toml")
ASKED = {"target": "days", "features": 2, "public_records": PUBLIC}


def stays(cells):
    """Return a table of four sites, of which Tal writes the cells of a column in its own way."""
    z, days = DRAWS.normal(size=ROWS), DRAWS.normal(5, 1, ROWS)
    return pd.DataFrame({"site": SITES, "x": cells, "z": z, "days": days})


def found(folder, cells):
    data = of_frame(folder, stays(cells), split={"column": "site"}, **ASKED)
    return data.build(4, None, Streams(1)).unlike


KINDS = {
    "mmol/L": np.where(OF_TAL, GLUCOSE / 18.02, GLUCOSE),
    "thousand": np.where(OF_TAL, GLUCOSE * 1000, GLUCOSE),
    "per cent": np.where(OF_TAL, GLUCOSE / 100, GLUCOSE),
    "Fahrenheit": np.where(OF_TAL, 0.72 * GLUCOSE + 32, GLUCOSE / 2.5),
    "Celsius": np.where(OF_TAL, GLUCOSE / 2.5, 0.72 * GLUCOSE + 32),
    "codes": np.arange(ROWS) % 3 % 2 + OF_TAL,
    "words": np.where(OF_TAL, "n/d", GLUCOSE.round(1).astype(str)),
}


@pytest.mark.parametrize(("name", "said"), CASES["said"].items(), ids=CASES["said"])
def test_an_owner_is_named_with_the_known_factor(tmp_path, name, said):
    [line] = found(tmp_path, KINDS[name])
    assert line.startswith("From private rows: x, as Tal writes it: ")
    assert said in line


def unlike(column):
    """Return what is said of the owners of a column."""
    beside = UnlikeOwners(pd.Series(SITES), ROWS - PUBLIC)
    beside.add("x", column, np.zeros(ROWS, dtype=bool))
    return beside.lines


@together
@pytest.mark.parametrize("factor", [1.0, 2.0, 5.0, 30.0])
def test_other_differences_are_the_owners_own(factor):
    assert unlike(np.where(OF_TAL, factor * GLUCOSE, GLUCOSE)) == []


def test_a_wide_column_may_have_medians_far_apart():
    """Ten times the median, but of values that public rows have too."""
    wide = np.exp(6 * ((np.arange(ROWS) // 4) * 0.618 % 1 - 0.5))  # spread alike in all rows
    own, public = wide[OF_TAL] * 10, wide[ROWS - PUBLIC :]
    assert np.median(own) / np.median(public) == pytest.approx(10, rel=0.14)
    assert unlike(np.where(OF_TAL, 10 * wide, wide)) == []


def test_check_and_a_private_forecast_say_it_and_a_run_does_not(tmp_path, command):
    stays(KINDS["mmol/L"]).to_csv(tmp_path / "t.csv", index=False)
    scenario = tables.table(__file__, "stays.toml")
    scenario["data"] |= ASKED
    text = scenes.text(owners={"count": 4, "records": None}, **scenario)
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    said = "x, as Tal writes it: the median is "
    checked = command.done("check", tmp_path / "s.toml").out
    assert said in " ".join(checked.split("NOT FOR RELEASE")[1].split())
    private = command.done("forecast", tmp_path / "s.toml", "--private")
    assert said in " ".join(private.err.split())
    for asked in (("forecast",), ("run", "--out", tmp_path / "r")):
        shown = command.done(asked[0], tmp_path / "s.toml", *asked[1:])
        assert said not in " ".join((shown.out + shown.err).split())


# Private rows of sums, headers and units are read as missing, and named to the owners alone.

NAMED = "From private rows: rows of sums or names of columns, read as missing: "
AT = 5
GENERATOR = np.random.default_rng(7)


def records(folder, *rows, ward=None):
    """Return what is built of a table with further private rows, from its sixth on."""
    frame = stays(np.round(GENERATOR.normal(97, 9, ROWS), 1)).round(3).astype(str)
    frame["ward"] = [f"ward {place % 3}" for place in range(ROWS)]
    if ward is not None:
        frame.loc[ROWS - 1, "ward"] = ward  # of a public row
    more = pd.DataFrame(rows, columns=frame.columns) if rows else frame.head(0)
    data = of_frame(folder, pd.concat([frame[:AT], more, frame[AT:]]), preprocessing="pca", **ASKED)
    return data.build(1, (ROWS - PUBLIC + len(rows),), Streams(1))


@pytest.mark.parametrize(("row", "where"), CASES["no_records"].values(), ids=CASES["no_records"])
def test_a_private_row_that_is_no_record_is_missing_and_named(tmp_path, row, where):
    found = records(tmp_path, row)
    assert found.unlike == (f"{NAMED}row 6 of t.csv ('{where}').",)
    assert not any("rows of sums" in note for note in found.notes)
    assert np.isnan(found.targets[0][AT])
    assert not found.features[0][AT].any()
    assert np.isnan(found.targets[0]).sum() == 1


def test_a_row_of_units_has_no_target_and_is_counted(tmp_path):
    found = records(tmp_path, [None, "mg/dL", "1", "(days)", None])
    assert np.isnan(found.targets[0][AT])
    [note] = [str(note) for note in found.notes if "not numbers" in str(note)]
    assert note.endswith("so missing: 1 cell of the target 'days'.")


@together
@pytest.mark.parametrize("case", CASES["records"].values(), ids=CASES["records"])
def test_a_record_stays_one(tmp_path, case):
    found = records(tmp_path, *case["rows"], ward=case.get("ward"))
    assert found.unlike == ()
    assert np.isfinite(found.targets[0]).all()
