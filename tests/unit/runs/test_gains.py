"""Gains of a run's owners: the table, the manifest, the screen, and the same again."""

import shutil

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import asyncdp_sim as ad
from asyncdp_sim.decision import Judging
from asyncdp_sim.reports.answer import of_result
from asyncdp_sim.results import open_directory
from asyncdp_sim.runs.gains import joint_scores, linear_models
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import finished_or_free, reproduce, run, write
from asyncdp_sim.sentences.result import result_lines
from tests.tables import table

TABLE = table(__file__, "gains.toml")
SCENARIO = TABLE["scenario"]
CLIP = '{ kind = "clip", bound = 1.0 }'


def table(rows: int = 300) -> pd.DataFrame:
    """Four clinics and public rows; patients come three times, later rows with larger numbers."""
    generator = np.random.default_rng(3)
    x = np.repeat(generator.standard_normal((rows // 3, 3)), 3, axis=0)
    noise = generator.standard_normal(rows // 3).repeat(3) + 0.2 * generator.standard_normal(rows)
    y = 5 + x @ [1.0, -2.0, 0.5] + noise
    patient = np.repeat(np.arange(rows // 3), 3)
    clinics = np.array(["a", "b", "c", "d"])[patient % 4]
    clinics = np.where(patient < rows // 3 - 20, clinics, "")
    return pd.DataFrame(
        {
            "clinic": clinics,
            "patient": [f"P{p}" for p in patient],
            "day": generator.permutation(rows) + 1,
            "x": x[:, 0].round(4),
            "z": (100 * x[:, 1]).round(2),
            "w": x[:, 2].round(4),
            "stay": y.round(3),
            "long": np.where(y > 5, "yes", "no"),
            "size": np.select([y < 4, y < 6], ["low", "middle"], "tall"),
        }
    )


def scenario_of(folder, model='kind = "ridge"', target="stay", more="", sensitivity=CLIP, owners=4):
    table().to_csv(folder / "table.csv", index=False)
    dropped = ["stay", "long", "size", "patient", "day"]
    dropped = [name for name in dropped if name != target and f'"{name}"' not in more]
    text = SCENARIO.format(
        model=model, target=target, more=f"drop = {dropped}\n{more}",
        sensitivity=sensitivity,
        initial=', initial = "uniform"' if "mlp" in model else "", owners=owners,
        features=4 if "intercept" in model else 3,
    )  # fmt: skip
    (folder / "gains.toml").write_text(text.replace("'", '"'))
    return ad.load(folder / "gains.toml")


NAMES = {"stay": (), "long": ("no", "yes"), "size": ("low", "middle", "tall")}


def classes(target):
    """Return how the classes of a target are named, if it has any."""
    values = str(list(NAMES[target])).replace("'", '"')
    named = f'columns = {{ {target} = {{ kind = "classes", values = {values} }} }}'
    return named if NAMES[target] else ""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gains")
    return ad.run(scenario_of(folder), out=folder / "result")


def test_the_table_has_a_row_for_each_owner(found):
    gains = found.gains
    assert gains["owner"].tolist() == [1, 2, 3, 4]
    assert gains["name"].tolist() == ["a", "b", "c", "d"]
    assert gains["records"].tolist() == found.owners["records"][:4].tolist()
    assert np.allclose(gains["gain"], gains["own"] - gains["adapted"])
    assert np.allclose(gains["joint_gain"], gains["own"] - gains["joint"])
    assert (gains["low"] <= gains["gain"]).all()
    assert (gains["gain"] <= gains["high"]).all()
    assert set(gains["own_best"]) <= {"linear", "constant"}  # fewer than 100 rows
    assert "days" not in gains.attrs["units"].values()


def test_manifest_and_screen_say_the_mean_with_its_interval(found):
    manifest = found.manifest
    together = manifest["consortium"]
    assert (manifest["score"], manifest["unit"]) == ("absolute error", "days")
    assert (manifest["reads"], manifest["release"]) == ("all", False)
    assert together["gain"] == pytest.approx(found.gains["gain"].mean())
    columns = ["owner", "name", "records", "gain", "low", "high", "verdict"]
    rows = [tuple(row[key] for key in columns) for row in manifest["owners"]]
    assert rows == [*found.gains[columns].itertuples(index=False, name=None)]
    assert {(row["break_even"], manifest["break_even"]) for row in manifest["owners"]} == {
        (None,) * 2
    }
    assert together["low"] < together["gain"] < together["high"]
    weights = found.gains["records"] / found.gains["records"].sum()
    by_records = float(weights @ found.gains["gain"])
    assert together["by_records"]["gain"] == pytest.approx(by_records)
    assert sum(together["verdicts"].values()) == together["owners"] == 4
    assert manifest["versions"]["scikit-learn"]
    lines = {line[:20].strip(): line[20:].strip() for line in result_lines(found.directory)}
    assert " days (95 % interval " in lines["mean gain"]
    answer = of_result(open_directory(found.directory)).decision
    assert answer.lower().startswith(lines["mean gain"].lower())  # the page states the same


def test_a_material_share_is_in_the_result_and_makes_another_one(found, tmp_path):
    scenario, strict = scenario_of(tmp_path), Judging(10.0, "linear")
    write(run(scenario, gains=strict), tmp_path / "strict")
    result = ad.open(tmp_path / "strict")
    assert result.manifest["judging"] == {"material": 10.0, "own_best": "linear"}
    assert set(result.gains["verdict"]) == {"no material difference"}
    assert "a gain counts from 1000 % of it on" in "\n".join(result_lines(tmp_path / "strict"))
    reproduce(tmp_path / "strict")
    there = {"events": False, "judging": Judging()}
    assert finished_or_free(scenario, found.directory, **there)
    with pytest.raises(ad.ResultError, match="judged with --material 10 --own-best linear"):
        finished_or_free(scenario, tmp_path / "strict", **there)


def test_gains_come_again_and_those_that_were_changed_are_told(found, tmp_path):
    """Within a tolerance."""
    reproduce(found.directory)
    assert "gains" not in " ".join(found.manifest["fingerprints"])
    other = tmp_path / "other"
    shutil.copytree(found.directory, other)
    shutil.copy(found.directory.parent / "table.csv", tmp_path / "table.csv")
    kept = pq.read_table(other / "gains.parquet")

    def multiply(factor):
        gain = kept["gain"].to_numpy() * factor
        at = kept.schema.get_field_index("gain")
        changed = kept.set_column(at, kept.schema.field("gain"), [gain])
        labelled = changed.replace_schema_metadata(kept.schema.metadata)
        pq.write_table(labelled, other / "gains.parquet")

    multiply(1 + 1e-9)
    reproduce(other)
    multiply(1.01)
    with pytest.raises(ad.ReplayError, match=r"gains\.parquet gain"):
        reproduce(other)


@pytest.mark.parametrize(("model", "target", "score"), TABLE["judged"])
def test_every_model_is_judged(tmp_path, model, target, score):
    found = ad.run(scenario_of(tmp_path, model, target, classes(target)))
    assert found.manifest["score"] == score
    assert np.isfinite(found.gains["gain"]).all()
    assert (found.gains["adapted"] < 2 * found.gains["guessing"]).all()


@pytest.mark.parametrize("intercept", ["", ", intercept = true"])
def test_a_joint_model_in_encoded_columns_predicts_what_it_predicts(tmp_path, intercept):
    scenario = scenario_of(tmp_path, f'kind = "ridge"{intercept}')
    dataset = build_dataset(scenario)
    models = np.random.default_rng(0).standard_normal((2, dataset.features[0].shape[1]))
    linear = linear_models(scenario.model, dataset.projection, models)
    for held_out, features in ((False, dataset.features), (True, dataset.held_out_features)):
        for owner in range(4):
            columns = dataset.encoded_of(owner, held_out=held_out)
            assert columns.shape == (len(features[owner]), 3)
            as_is = joint_scores(scenario.model, features[owner], models)
            np.testing.assert_allclose(linear.scores(columns), as_is, rtol=1e-9, atol=1e-9)


def test_drawn_records_are_judged_on_fresh_rows_where_owners_learn_alone():
    few = {"updates": 40, "replicates": 2, "alone": True}
    scenario = ad.load("vary-availability").replace(run=few, sweep={})
    found = ad.run(scenario)
    assert found.manifest["consortium"]["judged_on"] == "fresh rows"
    assert found.manifest["unit"] is None
    bare = ad.run(scenario.replace(run={"alone": False}))
    assert "consortium" not in bare.manifest
    [line] = [line for line in result_lines(bare.directory) if "mean gain" in line]
    assert "not judged" in line
    with pytest.raises(ad.ResultError, match=r"gains: given a result without gains; data\.held"):
        _ = bare.gains


def test_rows_of_a_person_are_held_out_together(tmp_path):
    dataset = build_dataset(scenario_of(tmp_path, more='person = "patient"'))
    patients = table()["patient"].to_numpy()
    for kept, apart in zip(dataset.rows, dataset.held_out_rows, strict=True):
        whose = [set(dataset.persons[rows].tolist()) for rows in (kept, apart)]
        assert whose[0].isdisjoint(whose[1])
        assert len(apart) % 3 == 0
        assert 0.25 < len(apart) / (len(kept) + len(apart)) < 0.4
    assert len(np.unique(dataset.persons)) == len(set(patients))
    assert any("a person has at most 3 rows of an owner" in note for note in dataset.notes)
    assert not any("patient" in name for name in dataset.columns)
    apart = build_dataset(scenario_of(tmp_path))
    pairs = zip(apart.rows, apart.held_out_rows, strict=True)
    assert not all(set(kept // 3).isdisjoint(out // 3) for kept, out in pairs)


def test_the_latest_rows_are_held_out(tmp_path):
    dataset = build_dataset(scenario_of(tmp_path, more='order = "day"'))
    day = table()["day"].to_numpy()
    for kept, apart in zip(dataset.rows, dataset.held_out_rows, strict=True):
        assert day[kept].max() < day[apart].min()
    both = build_dataset(scenario_of(tmp_path, more='order = "day"\nperson = "patient"'))
    for kept, apart in zip(both.rows, both.held_out_rows, strict=True):
        assert set(kept // 3).isdisjoint(apart // 3)
        assert day[apart].max() > day[kept].max()


@pytest.mark.parametrize(("more", "line"), TABLE["refused"])
def test_a_wrong_column_is_told_in_one_line(tmp_path, more, line):
    with pytest.raises(ad.InputError, match=line):
        build_dataset(scenario_of(tmp_path, more=more))


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ('kind = "ridge"', "stay"),
        ('kind = "logistic"', "long"),
        ('kind = "softmax", classes = 3', "size"),
    ],
)
def test_an_owner_adapts_the_joint_model_to_raw_rows(tmp_path, model, target):
    names, more = NAMES[target], f'person = "patient"\n{classes(target)}'
    found = ad.run(scenario_of(tmp_path, model, target, more), out=tmp_path / "r")
    own = table().query("clinic == 'a'")
    fitted = found.adapted(1, own)
    predicted = fitted.predict(own)
    if names:
        assert set(predicted) <= set(names)
        assert np.mean(predicted == own[target]) > 0.5
        assert fitted.predict_proba(own).shape == (len(own), len(names))
    else:
        away = np.abs(predicted - own[target]).mean()
        assert away < np.abs(own[target] - own[target].median()).mean()
    assert fitted["model"].strength_ >= 0
    with pytest.raises(ad.ResultError, match="owner: given 9; allowed is a number from 1 to 4"):
        found.adapted(9, own)
    for column in (target, "patient"):
        with pytest.raises(ad.SpecError, match=f"rows: given rows without {column}; allowed is a"):
            found.adapted(1, own.drop(columns=column))
