"""From a table whose target is a class to a result beside guessing."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import load
from asyncdp_sim.data.table_profile import look
from tests.cli.command import Command
from tests.directories import manifest

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
SPECIES = {"setosa": (5.0, 3.4, 1.5), "versicolor": (5.9, 2.8, 4.3), "virginica": (6.6, 3.0, 5.6)}


def flowers(rows: int, seed: int = 1) -> pd.DataFrame:
    """Return measures of three species in four places, wider apart than the species."""
    rng = np.random.default_rng(seed)
    species = rng.choice(list(SPECIES), size=rows)
    x = np.array([SPECIES[name] for name in species]) + 0.6 * rng.normal(size=(rows, 3))
    frame = pd.DataFrame(x.round(1), columns=["sepal", "width", "petal"])
    frame["site"] = rng.choice(["Garden", "Meadow", "Park", "Ridge"], size=rows)
    return frame.assign(species=species)


def proposed(command: Command, file: Path, target: str, public: int, epsilon: float) -> Path:
    """Write what ``asyncdp data`` proposes of a table by site; return the scenario's file."""
    out = file.with_suffix(".toml")
    asked = ["--target", target, "--owner", "site", "--public", str(public)]
    command.done("data", file, *asked, "--epsilon", epsilon, "--write", out)
    command.done("check", out)
    return out


def summary(command: Command, file: Path, *more: object) -> dict[str, object]:
    """Run a scenario; return its summary."""
    out = file.with_suffix("")
    command.done("run", file, "--out", out, *more)
    return manifest(out)["summary"]


@pytest.mark.long
@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not beside this project")
@pytest.mark.parametrize(
    ("case", "target", "kind", "said"),
    [
        ("yes_no", "readmitted", "logistic", "2 classes: 'no', 'yes'; 'yes' is the positive one"),
        ("three_outcomes", "outcome", "softmax", "'transfer' is the reference"),
    ],
)
def test_the_shared_cases(command, tmp_path, case, target, kind, said):
    file = tmp_path / f"{case}.csv"
    file.write_bytes((CASES / file.name).read_bytes())
    assert said in "\n".join(look(str(file), target=target, owner="site", public=300).lines())
    scenario = load(proposed(command, file, target, 300, 5.0))
    assert (scenario.model.kind, scenario.model.intercept) == (kind, True)
    found = summary(command, file.with_suffix(".toml"))
    assert found["held_out_balanced_accuracy"]["median"] > found["held_out_balanced_accuracy_guess"]


VALUES: dict[str, tuple[list[object], str | None]] = {
    "0 and 1": ([0, 1], "logistic"),
    "signs": ([-1, 1], "logistic"),
    "words": (["yes", "no"], "logistic"),
    "truths": ([True, False], "logistic"),
    "three": (["a", "b", "c"], "softmax"),
    "a scale": (["low", "medium", "high"], "softmax"),
    "three numbers": ([1, 2, 3], "ridge"),
}


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", VALUES)
def test_the_model_is_that_of_the_targets_values(command, tmp_path, name):
    values, kind = VALUES[name]
    frame = flowers(300)
    places = pd.factorize(frame["species"], sort=True)[0] % len(values)
    frame["species"] = [values[place] for place in places]
    frame.to_csv(tmp_path / "t.csv", index=False)
    scenario = load(proposed(command, tmp_path / "t.csv", "species", 100, 50.0))
    assert scenario.model.kind == kind
    assert scenario.data.features == 4


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
def test_flowers_end_beside_guessing(command, tmp_path):
    flowers(400).to_csv(tmp_path / "iris-like.csv", index=False)
    file = proposed(command, tmp_path / "iris-like.csv", "species", 30, 5.0)
    done = command.done("run", file, "--out", tmp_path / "r")
    [line] = [each for each in done.out.splitlines() if each.startswith("held-out accuracy")]
    assert ", of guessing 0." in line
    assert len(pd.read_parquet(tmp_path / "r" / "models.parquet")) == 10 * 2 * 4


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_three_thousand_rows_at_epsilon_10_are_better_than_guessing(command, tmp_path, seed):
    """By three standard errors over replicates, and over the rows of each class."""
    flowers(3000, seed).to_csv(tmp_path / "t.csv", index=False)
    found = summary(command, proposed(command, tmp_path / "t.csv", "species", 300, 10.0))
    rows = pd.read_parquet(tmp_path / "t" / "owners.parquet")
    held_out = rows[rows["replicate"] == 1]["held_out_records"].sum()
    curve = pd.read_parquet(tmp_path / "t" / "curve.parquet")
    last = curve.groupby("replicate").tail(1)["held_out_balanced_accuracy"]
    error = np.hypot(last.std() / np.sqrt(len(last)), 0.5 / np.sqrt(held_out))
    assert last.mean() > found["held_out_balanced_accuracy_guess"] + 3 * error


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
def test_a_model_that_is_no_better_than_guessing_is_called_so(command, tmp_path):
    """Of a target that nothing leads to, at a budget that leaves noise alone."""
    frame = flowers(300)
    frame["species"] = np.random.default_rng(3).choice(["a", "b", "b", "b"], size=300)
    frame.to_csv(tmp_path / "t.csv", index=False)
    file = proposed(command, tmp_path / "t.csv", "species", 100, 0.01)
    done = command.done("run", file, "--out", tmp_path / "r")
    [line] = [each for each in done.out.splitlines() if each.startswith("no better than guessing")]
    assert "accuracy" in line or "by every score" in line


def _few_rows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(site=[f"site {row % 25}" for row in range(len(frame))])


def _by_site(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(species=frame["site"].isin(["Garden", "Park"]).map({True: "a", False: "b"}))


def _one_class(frame: pd.DataFrame) -> pd.DataFrame:
    private = np.arange(len(frame)) < len(frame) - 100
    return frame.assign(species=frame["species"].where(~private, "setosa"))


SPARSE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "every owner has one class": _by_site,
    "all private rows have one class": _one_class,
    "two classes, one of them public alone": lambda frame: _one_class(
        frame[frame["species"] != "virginica"]
    ),
    "owners of eight rows": _few_rows,
    "owners of eight rows and one class": lambda frame: _one_class(_few_rows(frame)),
    "a third of the owner's cells are empty": lambda frame: frame.assign(
        site=frame["site"].where(np.arange(len(frame)) % 3 > 0)
    ),
    "a third of the target's cells are empty": lambda frame: frame.assign(
        species=frame["species"].where(np.arange(len(frame)) % 3 > 0)
    ),
    "a number, the same in all private rows": lambda frame: _one_class(frame).assign(
        species=lambda one: 5.0 * (one["species"] == "setosa") + one["sepal"] * (
            np.arange(len(one)) >= len(one) - 100
        )
    ),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("name", SPARSE)
def test_what_is_proposed_runs_and_is_reported(command, tmp_path, name):
    """Some scores have no meaning then, such as AUC where held-out rows have one label alone."""
    SPARSE[name](flowers(300)).to_csv(tmp_path / "t.csv", index=False)
    found = summary(command, proposed(command, tmp_path / "t.csv", "species", 100, 50.0))
    command.done("report", tmp_path / "t")
    absent = {score for score, value in found.items() if value is None}
    if name == "two classes, one of them public alone":
        assert "held_out_auc" in absent
    if name == "a number, the same in all private rows":
        assert "held_out_r_squared" in absent


@pytest.mark.long
@pytest.mark.usefixtures("coarse")
def test_owners_of_fewer_records_are_kept_where_others_are_lacking(command, tmp_path):
    sizes = {20: 2, 12: 3, 9: 1, 3: 1}
    names = [f"{n} rows, {k}" for n, count in sizes.items() for k in range(count) for _ in range(n)]
    frame = flowers(len(names) + 100)
    frame["site"] = [*names, *["public"] * 100]

    def split(rows: pd.DataFrame) -> tuple[int, object]:
        rows.to_csv(tmp_path / "t.csv", index=False)
        (tmp_path / "t.toml").unlink(missing_ok=True)
        scenario = load(proposed(command, tmp_path / "t.csv", "species", 100, 50.0))
        return scenario.owners.count, scenario.model_dump()["data"]["split"]["least"]

    assert split(frame) == (2, 20)
    assert split(frame.iloc[20:]) == (4, 10)
    assert split(frame[~frame["site"].str.startswith(("20", "12 rows, 0", "12 rows, 1"))]) == (2, 5)
