"""A run's model in scikit-learn predicts on raw held-out rows as the run does."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

import asyncdp_sim as ad
from asyncdp_sim.learning.objectives.softmax import probabilities
from asyncdp_sim.runs.problem import build_dataset, prepare
from tests import tables
from tests.one_in import one_in

ROWS, PUBLIC = 240, 60
CLIP = '{ kind = "clip", bound = 1.0 }'
TABLE = tables.table(__file__, "sklearn_pipeline.toml")
CLASSES = TABLE["classes"]
SCENARIO = TABLE["scenario"]


def table() -> pd.DataFrame:
    """Texts, gaps, amounts, dates and numbers of three owners and public rows, as written."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=ROWS)
    frame = pd.DataFrame(
        {
            "bank": rng.choice(["a", "b", "c"], ROWS),
            "colour": rng.choice(["", "NA", "red", " green", "blue", "unknown"], ROWS),
            "amount": [f"${v:,.2f}" if v < 1400 else "?" for v in 1000 * rng.random(ROWS) ** -0.3],
            "since": rng.choice(["2020-01-05", "2021-07-19", ""], ROWS),
            "x": np.where(rng.random(ROWS) < 0.2, "", np.round(x, 4).astype(str)),
            "id": np.arange(ROWS).astype(str),
            "number": np.round(3 + x + x**2, 3).astype(str),
            "answer": np.where(x > 0, "yes", "no"),
            "bit": (x > 0).astype(int).astype(str),
            "sign": np.where(x > 0, "1", "-1"),
            "three": np.select([x < -0.5, x < 0.5], ["low", "middle"], "tall"),
        }
    )
    frame.loc[3, "colour"] = "mauve"  # of no public row
    frame.loc[::17, ["number", "answer", "bit", "sign", "three"]] = ""
    return frame


def result(folder, model, target, sensitivity=CLIP, **data):
    table().to_csv(folder / "table.csv", index=False)
    dropped = ["id", *({"number", *CLASSES} - {target})]
    fields = {
        "public": PUBLIC,
        "initial": "zeros",
        "preprocessing": "pca",
        "features": 5,
        "values": "",
        **data,
    }
    text = SCENARIO.format(
        model=model, target=target, sensitivity=sensitivity, dropped=dropped, **fields
    )
    (folder / "scenario.toml").write_text(text.replace("'", '"'))
    return ad.run(folder / "scenario.toml", out=folder / "result")


def held_out(found: ad.Result) -> tuple[pd.DataFrame, np.ndarray]:
    """Return raw held-out rows with a target, owner by owner, and what the run predicts there."""
    scenario = found.scenario
    dataset = build_dataset(scenario)
    private = table().iloc[: ROWS - scenario.data.public_records]
    trained = np.concatenate(dataset.rows)
    unseen = private.drop(index=trained)
    owners = [unseen[unseen["bank"] == bank] for bank in dataset.owner_names]
    rows = pd.concat(owners)
    models = found.models.query("replicate == 2")["theta_L"].to_numpy()
    judge = prepare(scenario, dataset).task.held_out
    return rows[rows[scenario.data.target] != ""], judge.predictions(models[None])[0]


CASES = TABLE["cases"]


@one_in(4, ("model", "target", "options"), CASES)
def test_it_predicts_raw_held_out_rows_as_the_run(tmp_path, model, target, options):
    found = result(tmp_path, model, target, **options)
    rows, expected = held_out(found)
    made = pickle.loads(pickle.dumps(found.to_sklearn(replicate=2)))
    for raw in (rows, pd.read_csv(tmp_path / "table.csv").loc[rows.index, ::-1]):
        if target == "number":
            shift = made["model"].intercept_
            np.testing.assert_allclose(made.predict(raw) - shift, expected, rtol=1e-12, atol=1e-12)
            continue
        assert made.classes_.tolist() == CLASSES[target]
        scores = made.decision_function(raw)
        if target == "three":
            shares = probabilities(expected)
            chosen = np.argmax(shares, axis=1)
            scores = scores[:, :-1] - scores[:, -1:]
            np.testing.assert_allclose(made.predict_proba(raw), shares, rtol=1e-12)
        else:
            expected_score = -expected[:, 0] if "softmax" in model else expected
            np.testing.assert_allclose(scores, expected_score, rtol=1e-12, atol=1e-12)
            chosen = (expected_score > 0).astype(int)
        np.testing.assert_array_equal(made.predict(raw), made.classes_[chosen])


def test_the_errors_are_those_of_the_result(tmp_path):
    found = result(tmp_path, 'kind = "ridge", intercept = true', "number")
    rows, _ = held_out(found)
    errors = found.to_sklearn(replicate=2).predict(rows) - rows["number"].astype(float)
    rmse = found.curve.query("replicate == 2")["held_out_rmse"].iloc[-1]
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rmse, rel=1e-12)


def test_it_holds_nothing_of_private_rows(tmp_path):
    made = result(tmp_path, 'kind = "ridge"', "number").to_sklearn()
    encoder = made["encoder"].func.features
    assert len(encoder.public) == PUBLIC
    kept = pickle.dumps(made)
    amounts = table()["amount"]
    private = set(amounts[:-PUBLIC]) - set(amounts[-PUBLIC:])
    assert not any(text.encode() in kept for text in ("mauve", *private))


@pytest.mark.long
def test_what_it_cannot_do_is_one_line(tmp_path):
    found = result(tmp_path, 'kind = "mlp", hidden = 2', "number", initial="uniform")
    with pytest.raises(ad.SpecError, match=r"model\.kind: .*'mlp'; allowed is ridge, log"):
        found.to_sklearn()
    with pytest.raises(ad.ResultError, match="replicate: given 3; allowed is one of 1, 2"):
        found.to_sklearn(replicate=3)
    drawn = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1}, sweep={})
    with pytest.raises(ad.SpecError, match=r"data\.kind: given '.*'; allowed is 'table'"):
        ad.run(drawn).to_sklearn()
    ridge = tmp_path / "ridge"
    ridge.mkdir()
    found = result(ridge, 'kind = "ridge"', "number")
    with pytest.raises(ad.SpecError, match="X: given rows without colour, amount, since; allowed"):
        found.to_sklearn().predict(table()[["x"]])


def test_an_array_of_the_right_width_is_read_and_any_other_refused_in_words(tmp_path):
    """Found by attack: an array ended in a traceback of pandas."""
    found = result(tmp_path, 'kind = "ridge"', "number")
    rows, _ = held_out(found)
    made = found.to_sklearn(replicate=2)
    names = list(made["encoder"].func.features.public)
    array = rows[names].to_numpy()
    assert made.predict(array).tolist() == made.predict(rows).tolist()
    assert made.predict(array.tolist()).tolist() == made.predict(rows).tolist()
    rule = f"allowed is a DataFrame, or rows of {len(names)} columns: {', '.join(names)}"
    adapted = found.adapted(1, rows)
    assert adapted.predict(array).tolist() == adapted.predict(rows).tolist()
    for wrong in (array[:, :-1], np.hstack([array, array]), array[0], 3):
        for each in (made, adapted):
            with pytest.raises(ad.SpecError, match=re.escape(rule)):
                each.predict(wrong)
    for wrong in (array, None, {"x": 1}, rows.drop(columns="number")):
        with pytest.raises(ad.SpecError, match=r"rows: given .*; allowed is a DataFrame, or rows"):
            found.adapted(1, wrong)
    for call in (found.to_sklearn, lambda number: found.adapted(number, rows)):
        with pytest.raises(ad.SpecError, match=r": given \[1\]; allowed is a whole number ≥ 1"):
            call([1])


@one_in(3, ("model", "target", "spell"), [
    ('kind = "logistic"', "answer", str.upper),
    ('kind = "logistic", intercept = true', "bit", "{},0".format),
    ('kind = "ridge"', "number", " {} ".format),
])  # fmt: skip
def test_an_owner_s_own_targets_are_read_in_every_spelling_that_a_run_reads(
    tmp_path, model, target, spell
):
    found = result(tmp_path, model, target)
    rows = table().query("bank == 'a'")
    other = rows.assign(**{target: [text and spell(text) for text in rows[target]]})
    made, expected = (found.adapted(1, given)["model"] for given in (other, rows))
    np.testing.assert_array_equal(made.coef_, expected.coef_)
