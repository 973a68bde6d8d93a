"""Private rows of sums, headers and units are read as missing, and named to the owners alone."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from tests.together import together
from tests.unit.data.test_unlike_owners import PUBLIC, ROWS, stays

NAMED = "From private rows: rows of sums or names of columns, read as missing: "
AT = 5
DRAWS = np.random.default_rng(7)


def records(folder, *rows, change=None):
    """Return what is built of a table with further private rows, from its sixth on."""
    frame = stays(np.round(DRAWS.normal(97, 9, ROWS), 1)).round(3).astype(str)
    frame["ward"] = [f"ward {place % 3}" for place in range(ROWS)]
    frame = frame if change is None else change(frame)
    more = pd.DataFrame(rows, columns=frame.columns) if rows else frame.head(0)
    pd.concat([frame[:AT], more, frame[AT:]]).to_csv(folder / "t.csv", index=False)
    data = TableData(
        path=str(folder / "t.csv"), target="days", split={"kind": "in-order"}, features=2,
        public_records=PUBLIC, preprocessing="pca",
    )  # fmt: skip
    return data.build(1, (ROWS - PUBLIC + len(rows),), Streams(1))


KINDS = {
    "a total": (["Total", 38800.0, 1.5, 2000.0, None], "row 6 of t.csv ('Total')"),
    "a mean, in another column": ([None, 97.0, 0.0, 5.0, "Mittelwert:"],
                                  "row 6 of t.csv ('Mittelwert:')"),
    "a header": (["site", "x", "z", "days", "ward"], "row 6 of t.csv ('site')"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_private_row_that_is_no_record_is_missing_and_named(tmp_path, kind):
    row, where = KINDS[kind]
    found = records(tmp_path, row)
    assert found.unlike == (f"{NAMED}{where}.",)
    assert not any("rows of sums" in note for note in found.notes)
    assert np.isnan(found.targets[0][AT])
    assert not found.features[0][AT].any()
    assert np.isnan(found.targets[0]).sum() == 1


def test_a_row_of_units_has_no_target_and_is_counted(tmp_path):
    found = records(tmp_path, [None, "mg/dL", "1", "(days)", None])
    assert np.isnan(found.targets[0][AT])
    [note] = [str(note) for note in found.notes if "not numbers" in str(note)]
    assert note.endswith("so missing: 1 cell of the target 'days'.")


def total_is_a_ward(frame):
    frame.loc[ROWS - 1, "ward"] = "Total"  # a public row
    return frame


@together
@pytest.mark.parametrize(
    ("row", "change"),
    [
        (["Nord", 97.0, 0.0, 5.0, "Total"], None),
        ([None, 97.0, 0.0, 5.0, "Total"], total_is_a_ward),
        (["Total care", 97.0, 0.0, 5.0, None], None),
        (["site", 97.0, 0.0, 5.0, "ward 1"], None),
    ],
    ids=["another text beside it", "a word of public rows", "a longer text", "one name alone"],
)
def test_a_record_stays_one(tmp_path, row, change):
    found = records(tmp_path, row, change=change)
    assert found.unlike == ()
    assert np.isfinite(found.targets[0]).all()


def test_records_without_such_rows_are_read_as_ever(tmp_path):
    found = records(tmp_path)
    assert found.unlike == ()
    assert np.isfinite(found.targets[0]).all()
