"""Labels: spellings of one class are one, and what has no label is in no score."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.data.tables.encodings import ClassLabels, names_in
from asyncdp_sim.learning.objectives import Squared
from asyncdp_sim.runs.scored import HeldOut, _together
from tests.directories import manifest
from tests.together import together

ROWS, PUBLIC = 400, 150


def table(folder, labels, name="t.csv"):
    """Write rows of four sites in turn, whose label goes with x; return the file."""
    draws = np.random.default_rng(2)
    x = draws.normal(size=ROWS).round(3)
    shown = x + 0.4 * draws.normal(size=ROWS)  # a label that x alone decides would be a leak
    sites = ["Nord", "Mitte", "Bucht", "Tal"] * (ROWS // 4)
    made = [
        labels(site, value > 0, row)
        for row, (site, value) in enumerate(zip(sites, shown, strict=True))
    ]
    frame = pd.DataFrame({"site": sites, "x": x, "outcome": made})
    path = folder / name
    frame.to_csv(path, index=False)
    return path


def built(path):
    seen = look(str(path), target="outcome", owner="site", public=PUBLIC)
    encoding = next(c.encoding for c in seen.columns if c.name == "outcome")
    data = TableData(
        path=str(path), target="outcome", split={"column": "site"}, features=1, held_out=0.2,
        public_records=PUBLIC, preprocessing="pca", columns={"outcome": encoding},
    )  # fmt: skip
    return seen, data.build(4, None, Streams(1))


def usual(yes):
    return "yes" if yes else "no"


def of_tal(site, row):
    """Whether a row is a private one of the last site."""
    return site == "Tal" and row < ROWS - PUBLIC


def spelled(no, yes):
    """Return labels that are spelled in turn."""
    return lambda _site, label, row: (yes if label else no)[row % len(no)]


SPELLINGS = {
    "capitals of one owner": lambda site, yes, row: (
        usual(yes).upper() if of_tal(site, row) else usual(yes)
    ),
    "blanks": lambda _site, yes, row: usual(yes) + " " * (row % 3),
    "truths of several programs": spelled(
        ("false", "FALSE", "False", "0"), ("true", "TRUE", "True", "1.0")
    ),
    "numbers of several programs": spelled(("0", "0.0"), ("1", "1.00")),
    "capitals among public ones": spelled(("No", "NO"), ("Yes", "YES")),
}


def without_labels(site, yes, row):
    return "" if of_tal(site, row) else usual(yes)


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_a_class_are_one_class(tmp_path, name):
    seen, data = built(table(tmp_path, SPELLINGS[name]))
    assert len(seen.classes) == 2
    assert not any("unknown class" in note for note in data.notes)
    for x, y in zip(data.features, data.targets, strict=True):
        assert set(y.tolist()) == {-1.0, 1.0}
        assert ((x[:, 0] > x[:, 0].mean()) == (y > 0)).mean() > 0.8


def test_spellings_are_named():
    def said(name):
        frame = pd.Series([SPELLINGS[name]("Nord", bool(row % 2), row // 2) for row in range(80)])
        from asyncdp_sim.data.column_profile import target_looked_at
        from asyncdp_sim.data.tables.column_type import Beside

        return target_looked_at(frame, "outcome", Beside()).suspicious

    assert said("capitals among public ones")[1] == "one class each: 'No' as 'NO'; 'Yes' as 'YES'"


@together
@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["True", "true", "False", "false", "false"], ("false", "True")),
        (["Yes", "no"], ("no", "Yes")),
        (["b", "A"], ("A", "b")),
    ],
)
def test_capitals_do_not_decide_which_class_is_the_positive_one(cells, names):
    assert names_in(pd.Series(cells, dtype=object)) == names


def test_texts_without_public_rows_are_refused_by_the_line_that_names_their_classes(tmp_path):
    path = table(tmp_path, lambda _, yes, __: usual(yes))
    with pytest.raises(DataError, match=r'data.columns.outcome = { kind = "classes", values = \['):
        TableData(
            path=str(path), target="outcome", split={"column": "site"}, features=1,
            public_records=0, preprocessing="none",
        ).build(4, None, Streams(1))  # fmt: skip


def test_names_that_differ_in_capitals_alone_stay_apart_where_they_are_declared():
    codes = ClassLabels(values=("a", "A")).learn(pd.Series([], dtype=object), "c", ".")
    read = codes.read(pd.Series(["a", "A", " a", "b"], dtype=object))
    np.testing.assert_array_equal(read.values[0], [-1, 1, -1, np.nan])


def test_an_owner_without_a_label_is_named_with_the_line_that_leaves_it_out(tmp_path):
    _, data = built(table(tmp_path, without_labels))
    [note] = [note for note in data.notes if "has a target" in note]
    assert "no record of owner 4 has a target: its answers spend ε on nothing" in note
    assert "--without Tal leaves" in note


def test_unknown_classes_are_counted_as_such(tmp_path):
    _, data = built(table(tmp_path, lambda _, yes, row: "?" if row in (3, 7) else usual(yes)))
    assert (
        "From private rows: unknown class '?' (2), so missing: 2 cells of the target 'outcome' "
        "(Tal 2)." in data.notes
    )


@together
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_rows_without_a_target_are_in_no_loss(share):
    """The mean over those that have one, by hand; null where none has."""
    draws = np.random.default_rng(5)
    x, y = np.asfortranarray(draws.normal(size=(40, 2))), draws.normal(size=40)
    none = np.arange(40) < 40 * share
    zeroed = np.where(none[:, None], 0.0, x)
    judge = HeldOut.from_rows(
        np.asfortranarray(zeroed), np.where(none, 0, y), Squared(), nothing=none
    )
    model = np.array([[0.3, -0.2]])
    expected = np.mean((y - x @ model[0])[~none] ** 2) if share < 1 else np.nan
    expected *= float(Squared().value(np.array([0.0]), np.array([1.0]))[0])
    np.testing.assert_allclose(judge.mean_loss(model), [expected])
    assert judge.records == int((~none).sum())
    whole = HeldOut.from_rows(x, y, Squared())
    assert _together([judge, whole]).records == judge.records + 40


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
def test_an_owner_without_labels_has_null_scores(command, tmp_path):
    path = table(tmp_path, without_labels)
    out = tmp_path / "s.toml"
    command.done("data", path, "--target", "outcome", "--owner", "site", "--public", PUBLIC,
                 "--epsilon", 5, "--write", out)  # fmt: skip
    said = command.done("check", out)
    assert "no record of owner 4 has a target" in " ".join(said.out.split())
    command.done("run", out, "--out", tmp_path / "r")
    owners = pd.read_parquet(tmp_path / "r" / "owners.parquet")
    tal = owners[owners["owner"] == 4]
    assert (tal["held_out_records"] == 0).all()
    assert tal[["held_out_loss", "held_out_optimum", "held_out_alone"]].isna().all().all()
    assert manifest(tmp_path / "r")["summary"]["held_out_final"]["median"] > 0
