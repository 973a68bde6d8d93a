"""The form of a CSV, labels and their spellings, and targets that are classes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import load
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.data.tables.encodings import ClassLabels, spellings_in
from asyncdp_sim.data.tables.read import public_last
from asyncdp_sim.learning.objectives import Squared
from asyncdp_sim.runs.scored import HeldOut, _together
from tests import tables
from tests.cli.command import Command
from tests.directories import manifest
from tests.together import together

# The form of a CSV is found in its header and its public rows, wherever these lie.

ROWS, PUBLIC = 300, 100


def lines(names, separator, comma, first="Nord"):
    """Return a table of a weight with two or three decimals, and what the numbers are."""
    draws = np.random.default_rng(8)
    weight = draws.normal(7.5, 0.4, ROWS).round(3)
    weight[::3] = weight[::3].round(2)
    days = (weight + draws.normal(0, 0.1, ROWS)).round(2)
    sites = [f"{first} {row % 3}" for row in range(ROWS)]
    cells = zip(sites, weight, days, strict=True)
    rows = [separator.join(map(str, row)) for row in cells]
    text = "\n".join([separator.join(names), *(r.replace(".", ",") if comma else r for r in rows)])
    return text + "\n", weight


TABLE = tables.table(__file__, "form_of_a_table.toml")
FORMS = TABLE["forms"]


@pytest.mark.parametrize("seed", [None, 1, 7])
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_the_same_form_is_found_with_and_without_a_seed(tmp_path, name, seed, stated):
    names, separator, comma, first, written, *declared = FORMS[name]
    charset = next(iter(declared), None)
    text, weight = lines(names.split(separator), separator, comma, first)
    path = tmp_path / "t.csv"
    path.write_bytes((f"sep={separator}\n" * stated + text).encode(written))
    owner = names.split(separator)[0]
    seen = look(str(path), target="days", owner=owner, public=PUBLIC, public_seed=seed,
                charset=charset)  # fmt: skip
    assert (seen.form.separator, seen.form.decimal) == (separator, "," if comma else ".")
    assert len(seen.owners) == 3
    data = TableData(
        path=str(path), target="days", split={"column": owner}, features=1,
        public_records=PUBLIC, preprocessing="none", public_seed=seed, charset=charset,
    )  # fmt: skip
    built = data.build(3, None, Streams(1))
    read = np.concatenate([x[:, 0] for x in built.features])
    places = np.concatenate(built.rows)
    order = public_last(ROWS, PUBLIC, seed)
    np.testing.assert_array_equal(read, weight[order][places])


def test_no_private_row_says_how_others_are_read(tmp_path):
    text, _ = lines(["site", "weight", "days"], ";", comma=True)
    head, *rows = text.splitlines()
    public = set(public_last(ROWS, PUBLIC, 1)[-PUBLIC:].tolist())
    mixed = [r if at in public else r.replace(",", ".") for at, r in enumerate(rows)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([head, *mixed]), encoding="utf-8")
    assert look(str(path), public=PUBLIC, public_seed=1).form.decimal == ","


# Labels: spellings of one class are one, and what has no label is in no score.

PATIENTS, KNOWN = 400, 150


def table(folder, labels, name="t.csv"):
    """Write rows of four sites in turn, whose label goes with x; return the file."""
    draws = np.random.default_rng(2)
    x = draws.normal(size=PATIENTS).round(3)
    shown = x + 0.4 * draws.normal(size=PATIENTS)  # a label that x alone decides would be a leak
    sites = ["Nord", "Mitte", "Bucht", "Tal"] * (PATIENTS // 4)
    made = [
        labels(site, value > 0, row)
        for row, (site, value) in enumerate(zip(sites, shown, strict=True))
    ]
    frame = pd.DataFrame({"site": sites, "x": x, "outcome": made})
    path = folder / name
    commas = {"sep": ";", "decimal": ","} if "," in made[0] else {}
    frame.to_csv(path, index=False, **commas)
    return path


def built(path):
    seen = look(str(path), target="outcome", owner="site", public=KNOWN)
    encoding = next(c.encoding for c in seen.columns if c.name == "outcome")
    data = TableData(
        path=str(path), target="outcome", split={"column": "site"}, features=1, held_out=0.2,
        public_records=KNOWN, preprocessing="pca", columns={"outcome": encoding},
    )  # fmt: skip
    return seen, data.build(4, None, Streams(1))


def usual(yes):
    return "yes" if yes else "no"


def of_tal(site, row):
    """Whether a row is a private one of the last site."""
    return site == "Tal" and row < PATIENTS - KNOWN


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
    "decimal commas": spelled(("0,0", "0"), ("1,0", "1,00")),
    "capitals among public ones": spelled(("No", "NO"), ("Yes", "YES")),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_a_class_are_one_class(tmp_path, name):
    seen, data = built(table(tmp_path, SPELLINGS[name]))
    assert len(seen.classes) == 2
    assert not any("unknown class" in note for note in data.notes)
    for x, y in zip(data.features, data.targets, strict=True):
        assert set(y.tolist()) == {-1.0, 1.0}
        assert ((x[:, 0] > x[:, 0].mean()) == (y > 0)).mean() > 0.8


@together
@pytest.mark.parametrize(("cells", "names"), TABLE["positive"])
def test_capitals_do_not_decide_which_class_is_the_positive_one(cells, names):
    assert list(spellings_in(pd.Series(cells, dtype=object))) == names


def test_names_that_differ_in_capitals_alone_stay_apart_where_they_are_declared():
    codes = ClassLabels(values=("a", "A")).learn(pd.Series([], dtype=object), "c", ".")
    read = codes.read(pd.Series(["a", "A", " a", "b"], dtype=object))
    np.testing.assert_array_equal(read.values[0], [-1, 1, -1, np.nan])


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


# From a table whose target is a class to a result beside guessing.

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
@pytest.mark.parametrize(("case", "target", "kind", "said"), TABLE["shared"])
def test_the_shared_cases(command, tmp_path, case, target, kind, said):
    file = tmp_path / f"{case}.csv"
    file.write_bytes((CASES / file.name).read_bytes())
    assert said in "\n".join(look(str(file), target=target, owner="site", public=300).lines())
    scenario = load(proposed(command, file, target, 300, 5.0))
    assert (scenario.model.kind, scenario.model.intercept) == (kind, True)
    found = summary(command, file.with_suffix(".toml"))
    assert found["held_out_balanced_accuracy"]["median"] > found["held_out_balanced_accuracy_guess"]


@pytest.mark.long
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
