"""Targets of classes, whatever these are called, and the column of ones of an intercept."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from of_frames import of_frame

from asyncdp_sim.core.errors import AsyncDPError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.data.tables.encodings import SeenClasses
from asyncdp_sim.learning.objectives.records import largest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.grid import grid
from tests import scenes, tables

ROWS, PUBLIC = 90, 30
PAIRS = [("0", "1"), ("-1", "1"), ("no", "yes"), ("bad", "good"), ("false", "true"), ("1", "2")]
OF_PARQUET = [(False, True), (0, 1), (-1.0, 1.0), (0.5, 2.0)]


def table(classes, seed=0):
    """Return a table of owners a, b and c, in which every class occurs."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=ROWS) + 5, rng.normal(size=ROWS)
    y = [classes[int(j)] for j in rng.integers(len(classes), size=ROWS)]
    return pd.DataFrame({"x": x, "z": z, "site": ["a", "b", "c"] * (ROWS // 3), "y": y})


def scenario(folder, frame, form="csv", model=None, **data):
    """Return a scenario of the table, with a logistic model if no other is said."""
    asked = tables.table(__file__, "classes_of_a_target.toml")
    path = of_frame(folder, frame, f"table.{form}", public_records=PUBLIC).path
    asked["data"] |= {"path": path, "public_records": PUBLIC} | data
    asked["model"] |= model or {}
    return scenes.scenario(owners={"records": None}, **asked)


def labels(classes, positive):
    """Return the labels of cells."""
    return np.where(classes == positive, 1.0, -1.0)


@pytest.mark.parametrize(
    ("pair", "form"), [*product(PAIRS, ("csv", "parquet")), *product(OF_PARQUET, ("parquet",))]
)
def test_two_classes_are_labels_whatever_they_are_called(tmp_path, pair, form):
    frame = table(pair)
    made = build_dataset(scenario(tmp_path, frame, form))
    expected = labels(frame["y"], pair[1])
    for rows, targets in zip(made.rows, made.targets, strict=True):
        np.testing.assert_array_equal(targets, expected[rows])
    np.testing.assert_array_equal(made.public_targets, expected[-PUBLIC:])


def test_the_file_names_the_classes_and_which_is_positive(tmp_path):
    frame = table(("dead", "alive"))
    columns = {"y": {"kind": "classes", "values": ["alive", "dead"]}}
    made = build_dataset(scenario(tmp_path, frame, columns=columns))
    np.testing.assert_array_equal(made.public_targets, labels(frame["y"], "dead")[-PUBLIC:])


@pytest.mark.parametrize("cell", ["maybe", "", "2", "n o"])
def test_a_private_cell_decides_no_type_and_an_unknown_one_has_no_label(tmp_path, cell):
    before, frame = table(("no", "yes")), table(("no", "yes"))
    frame.loc[3, "y"] = cell
    a, b = (build_dataset(scenario(tmp_path, each)) for each in (before, frame))
    assert a.records == b.records
    for x, z, y, t, rows in zip(a.features, b.features, a.targets, b.targets, a.rows, strict=True):
        others = rows != 3
        np.testing.assert_array_equal(x[others], z[others])
        np.testing.assert_array_equal(y[others], t[others])
        assert np.isnan(t[~others]).all()
        assert (z[~others] == 0).all()


def test_another_number_of_classes_is_refused_by_what_public_rows_hold(tmp_path):
    three = scenario(tmp_path, table("abc"))
    with pytest.raises(AsyncDPError, match=r"3 classes in public rows: 'a', 'b', 'c'.*are 2"):
        build_dataset(three)
    columns = {"y": {"kind": "classes", "values": ["a", "b", "c"]}}
    with pytest.raises(AsyncDPError, match="a target of 3 classes; allowed are 2 classes"):
        scenario(tmp_path, table("abc"), columns=columns)
    with pytest.raises(AsyncDPError, match=r'data\.columns\."my y" = \{ kind = "classes"'):
        SeenClasses(kind="classes", count=2).learn(pd.Series(["a", "b", "c"]), "my y", ".")


@pytest.mark.parametrize(("pair", "public"), [("01", 0), ("01", 1), ("-11", 0), ("-11", 1)])
def test_public_rows_may_show_one_of_two_known_classes(tmp_path, pair, public):
    classes = (pair[:-1], "1")
    frame = table(classes)
    frame.loc[ROWS - PUBLIC :, "y"] = classes[public]
    made = build_dataset(scenario(tmp_path, frame))
    for rows, targets in zip(made.rows, made.targets, strict=True):
        np.testing.assert_array_equal(targets, labels(frame["y"], "1")[rows])


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_an_intercept_is_the_last_of_the_features(tmp_path, kind):
    frame = table((0, 1))
    plain = build_dataset(scenario(tmp_path, frame, model={"kind": kind}))
    intercept = {"kind": kind, "intercept": True}
    told = scenario(tmp_path, frame, model=intercept, features=3, held_out=0.2)
    made = build_dataset(told)
    every = np.concatenate([*made.features, *made.held_out_features])
    np.testing.assert_array_equal(every[:, 2:], np.ones((len(every), 1)))
    before = np.zeros((ROWS, 2))
    before[np.concatenate(plain.rows)] = np.concatenate(plain.features)
    for features, rows in zip(made.features, made.rows, strict=True):
        np.testing.assert_array_equal(features[:, :2], before[rows])
    assert prepare(told, made).task.objective.n_features == told.numbers == 3


def test_an_intercept_counts_among_the_columns_as_they_are(tmp_path):
    asked = {"model": {"intercept": True}, "preprocessing": "none"}
    with pytest.raises(AsyncDPError, match=r"data.features: given 2; allowed is 3, the number of"):
        build_dataset(scenario(tmp_path, table((0, 1)), **asked))
    counted = scenario(tmp_path, table((0, 1)), features=3, **asked)
    assert build_dataset(counted).features[0].shape[1] == 3


def test_cells_of_models_that_read_a_target_otherwise_have_records_of_their_own(tmp_path):
    swept = {"model.kind": ["ridge", "logistic"], "model.intercept": [False, True]}
    one = scenario(tmp_path, table((0, 1)))
    cells = grid(parse(Scenario, {**one.plain(), "sweep": swept}))
    assert len({cell.data for cell in cells}) == len(cells) == 4


@pytest.mark.parametrize("kind", ["logistic", "ridge"])
def test_uncentred_features_of_classes_are_warned_of(tmp_path, kind):
    told = scenario(tmp_path, table((0, 1)), model={"kind": kind}, preprocessing="eigen-uncentred")
    said = [str(each) for each in run(told).warnings]
    assert any("eigen-uncentred neither centres" in each for each in said) == (kind == "logistic")


THREE = {"kind": "softmax", "classes": 3, "intercept": True}


def test_three_classes_learn_live_as_in_replay(tmp_path):
    told = scenario(tmp_path, table("abc"), model=THREE, features=3, held_out=0.2)
    made = build_dataset(told)
    assert set(np.concatenate(made.targets)) == {1.0, 2.0, 3.0}
    assert set(table("abc")["y"][-PUBLIC:]) == {"a", "b", "c"}
    one, two = run(told), run(told.replace(run={"learning": "live"}))
    assert one.learned.models.shape == (1, 6)
    assert one.learned.models.tobytes() == two.learned.models.tobytes()
    assert one.learned.curve.tobytes() == two.learned.curve.tobytes()
    assert np.isfinite(one.learned.models).all()


def test_a_domain_holds_every_label_and_bounds_every_gradient(tmp_path):
    told = scenario(tmp_path, table("abc"), model=THREE, features=3)
    domain = {"kind": "domain", "row_norm": 1.0, "target_max": 3.0}
    with pytest.raises(AsyncDPError, match=r"target_max: given 2; allowed is ≥ 3"):
        told.replace(privacy={"sensitivity": domain | {"target_max": 2.0}})
    bounded = told.replace(privacy={"sensitivity": domain})
    assert bounded.xi == 2.0
    problem = prepare(bounded, build_dataset(bounded))
    models = 50 * np.random.default_rng(1).normal(size=(200, 6))
    longest = [largest(problem.records, i, models) for i in range(len(problem.records.targets))]
    assert 1.0 < max(longest) <= 2.0
