"""Kinds of tables that other tools read wrong or refuse: what is printed of each; that it runs.

Each is written here as the kind that it stands for; a user types ``asyncdp data``, ``check``,
``forecast`` and ``run``.
"""

from collections.abc import Callable
from datetime import time, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim import load
from tests.directories import manifest
from tests.one_in import one_in
from tests.tables import table

ROWS, PUBLIC = 300, 100


def rows(count: int = ROWS, seed: int = 3) -> pd.DataFrame:
    """Return stays of four sites in turn: an age, a dose, a charge, and days that go with them."""
    draws = np.random.default_rng(seed)
    age = draws.integers(18, 95, count)
    dose = np.exp(draws.normal(3.5, 0.6, count)).round(1)
    days = (2 + age / 30 + dose / 40 + draws.normal(0, 0.8, count)).clip(0.5).round(1)
    charge = (900 + 700 * days + draws.normal(0, 500, count)).round().astype(int)
    sites = np.array(["Bucht", "Mitte", "Nord", "Tal"])[np.arange(count) % 4]
    return pd.DataFrame({"site": sites, "age": age, "dose": dose, "charge": charge, "days": days})


def labelled(words: Callable[[bool, str, int], object], count: int = ROWS) -> pd.DataFrame:
    """Return rows with a label that goes with x, spelled by site and row."""
    draws = np.random.default_rng(2)
    x = draws.normal(size=count).round(3)
    yes = x + draws.normal(size=count) > 0
    frame = pd.DataFrame({"site": rows(count)["site"], "x": x})
    spelled = [
        words(bool(y), s, r) for r, (y, s) in enumerate(zip(yes, frame["site"], strict=True))
    ]
    return frame.assign(outcome=spelled)


def as_csv(frame: pd.DataFrame, **how: object) -> str:
    return frame.to_csv(index=False, **how)


def after(frame: pd.DataFrame, column: str, words: dict[int, object]) -> pd.DataFrame:
    """Return rows with some cells of a column replaced, in a column of texts."""
    cells = frame[column].astype(str).astype(object)
    for place, word in words.items():
        cells.iloc[place] = word
    return frame.assign(**{column: cells})


def dates(form: str, most: int = 28) -> list[str]:
    """Return dates of a year, in turn; public ones, at the end, of days up to 12."""
    month = [1 + row * 5 % 12 for row in range(ROWS)]
    day = [1 + row * 7 % (12 if row >= ROWS - PUBLIC else most) for row in range(ROWS)]
    return [pd.Timestamp(2024, m, d).strftime(form) for m, d in zip(month, day, strict=True)]


def cyrillic() -> bytes:
    frame = rows().rename(columns={"site": "больница", "dose": "вес"})
    return as_csv(frame[["больница", "вес", "days"]]).encode("cp1251")


def korean() -> bytes:
    frame = rows().rename(columns={"site": "병원", "age": "나이"})
    return as_csv(frame[["병원", "나이", "days"]]).encode("cp949")


def amounts() -> str:
    frame = rows()
    money = frame["charge"] * np.where(np.arange(ROWS) % 3 == 0, -1, 1)
    return as_csv(
        frame.assign(
            parentheses=[f"({-m:,.2f})" if m < 0 else f"{m:,.2f}" for m in money],
            trailing=[f"{-m:.2f}-" if m < 0 else f"{m:.2f}" for m in money],
            DR_and_CR=[f"{abs(m)} {'DR' if m < 0 else 'CR'}" for m in money],
            grams=[f"{d * 100:.0f} g" if d < 30 else f"{d / 10:.2f} kg" for d in frame["dose"]],
            clock=[f"{a % 24:02d}.{a % 60:02d}.00" for a in frame["charge"]],
            address=[f"10.0.{a % 250}.{c % 250}" for a, c in zip(frame["age"], frame["charge"],
                                                                 strict=True)],
            phone=[f"+44 20 {c} {1000 + a}" for a, c in zip(frame["age"], frame["charge"],
                                                          strict=True)],
            at_least=["<4000" if c < 4000 else str(c) for c in frame["charge"]],
            sentinel=["-999" if c % 5 == 0 else str(c / 10) for c in frame["charge"]],
        ).drop(columns="charge")
    )  # fmt: skip


def without_labels(yes: bool, site: str, row: int) -> object:
    return "" if site == "Tal" and row < ROWS - PUBLIC else "yes" if yes else "no"


def in_capitals(yes: bool, site: str, row: int) -> object:
    word = "yes" if yes else "no"
    return word.upper() if site == "Tal" and row < ROWS - PUBLIC else word


def truths(yes: bool, _: str, row: int) -> object:
    return (("false", "FALSE", "False"), ("true", "TRUE", "True"))[yes][row % 3]


def leaking() -> str:
    frame = labelled(lambda yes, *_: "yes" if yes else "no")
    late = frame["outcome"] == "yes"
    when = pd.Series(dates("%Y-%m-%d")).where(late, "")
    return as_csv(frame.assign(defaulted=when, charged_off=np.where(late, frame["x"] + 9, 0)))


def listed() -> pd.DataFrame:
    return rows().assign(codes=[[row, row % 3] for row in range(ROWS)])


def durations() -> pd.DataFrame:
    frame = rows()
    return frame.assign(
        stay=[timedelta(hours=int(24 * d) + r % 5) for r, d in enumerate(frame["dose"])],
        admitted_at=[time(row * 7 % 24, row * 11 % 60) for row in range(ROWS)],
        since=pd.Timestamp("2020-01-01", tz="Asia/Kolkata")
        + pd.to_timedelta([timedelta(hours=12 * (row % 50)) for row in range(ROWS)]),
    )


def persons() -> str:
    return as_csv(rows().assign(patient_id=[f"P{row // 3:04d}" for row in range(ROWS)]))


CONTENTS: dict[str, Callable[[], object]] = {
    "a word among numbers": lambda: as_csv(after(rows(), "age", {ROWS - 3: "unknown"})),
    "sorted by owner": lambda: as_csv(rows().sort_values("site", kind="stable")),
    "owners that look alike": lambda: as_csv(
        rows().replace({"site": {"Mitte": "nord", "Tal": "Nord "}})
    ),
    "yes and no": lambda: as_csv(labelled(lambda yes, *_: "yes" if yes else "no")),
    "labels 0 and 1": lambda: as_csv(labelled(lambda yes, *_: int(yes))),
    "labels -1 and 1": lambda: as_csv(labelled(lambda yes, *_: 2 * yes - 1)),
    "three numbers": lambda: as_csv(labelled(lambda yes, _, row: 1 + yes + row % 2)),
    "a scale": lambda: as_csv(
        labelled(lambda yes, _, row: ("low", "medium", "high")[yes + row % 2])
    ),
    "three outcomes": lambda: as_csv(
        labelled(lambda yes, _, row: "rehab" if yes else ("home", "transfer")[row % 2])
    ),
    "two headers": lambda: as_csv(rows()).replace(
        "\n", "\nSITE,AGE_YEARS,DOSE_MG,CHARGE_USD,LOS\n", 1
    ),
    "a row of units": lambda: as_csv(rows()).replace("\n", "\n,years,mg,USD,days\n", 1),
    "lines that end in a return": lambda: as_csv(rows(), lineterminator="\r"),
    "lines that end in a return and a feed": lambda: as_csv(rows(), lineterminator="\r\n"),
    "sep= and decimal commas": lambda: "sep=;\n" + as_csv(rows(), sep=";", decimal=","),
    "signs, and dates in two forms": lambda: as_csv(
        after(
            rows().assign(
                charge=[f"${c:,}" for c in rows()["charge"]],
                admitted=[
                    ("2024-01-%02d", "%d/2/24")[row % 2] % (1 + row % 28) for row in range(ROWS)
                ],
            ),
            "days",
            {3: "<0.5"},
        )
    ),
    "durations and times of a Parquet": durations,
    "amounts": amounts,
    "a day or a month": lambda: as_csv(rows().assign(admitted=dates("%d/%m/%Y"))),
    "decimal commas of three places": lambda: as_csv(
        rows().assign(Größe=(rows()["dose"] / 7).round(3)), sep=";", decimal=","
    ).encode("cp1252"),
    "Cyrillic": cyrillic,
    "Korean": korean,
    "Cyrillic without its charset": cyrillic,
    "labels in capitals": lambda: as_csv(labelled(in_capitals)),
    "labels true and TRUE": lambda: as_csv(labelled(truths)),
    "an owner without labels": lambda: as_csv(labelled(without_labels)),
    "a third of the targets missing": lambda: as_csv(
        after(rows(), "days", dict.fromkeys(range(0, ROWS, 3), ""))
    ),
    "a rare class": lambda: as_csv(labelled(lambda _, __, row: "YES" if row % 19 == 0 else "NO")),
    "leaks by what is missing": leaking,
    "an owner in the index": lambda: rows().set_index("site"),
    "a list in a column": listed,
    "a list in a column that is dropped": listed,
    "columns of one name": lambda: as_csv(rows()).replace("site,age,dose", "site,dose,dose", 1),
    "a row of sums at the end": lambda: as_csv(rows()) + f"Total,,,{rows()['charge'].sum()},\n",
    "a note at the end": lambda: as_csv(rows()) + "Source: Ministry of Health\n",
    "gaps as SAS writes them": lambda: as_csv(
        after(rows(), "dose", {row: f".{'ABZ_'[row % 4]}" for row in range(1, ROWS, 5)})
    ),
    "errors of a spreadsheet": lambda: as_csv(
        after(rows(), "dose", dict.fromkeys(range(0, ROWS, 4), "#DIV/0!"))
    ),
    "ids that lost digits": lambda: as_csv(
        rows().assign(account=[f"{1 + row / 100:.2f}E+11" for row in range(ROWS)])
    ),
    "days of a spreadsheet": lambda: as_csv(
        rows().assign(admitted=[45292 + row * 7 % 366 for row in range(ROWS)])
    ),
    "persons": persons,
}
"""Of each kind: a text, bytes, or a frame that is written as Parquet."""
USUAL = {"target": "days", "owner": "site", "model": "ridge"} | dict.fromkeys(
    ("says", "at_the_end", "at_random", "options", "run_says"), ()
)
KINDS = {
    name: SimpleNamespace(**USUAL | words)
    for name, words in table(__file__, "kinds_of_tables.toml").items()
}


def written(folder: Path, name: str) -> Path:
    """Write the table of a kind."""
    content = CONTENTS[name]()
    if isinstance(content, pd.DataFrame):
        content.to_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    path = folder / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else str(content).encode())
    return path


def asked(kind: SimpleNamespace, path: Path, seed: int | None) -> list[object]:
    """Return what a user types."""
    drawn = [] if seed is None else ["--public-seed", seed]
    target = ["--target", kind.target, "--owner", kind.owner]
    return ["data", path, *target, "--public", PUBLIC, *drawn, *kind.options]


@pytest.mark.parametrize("seed", [None, 1])
@one_in(2, "name", KINDS)
def test_what_is_printed(tmp_path, monkeypatch, command, name, seed):
    monkeypatch.setenv("COLUMNS", "400")
    kind = KINDS[name]
    said = command(*asked(kind, written(tmp_path, name), seed))
    assert said.code == (0 if kind.model != "" else 2), said.err
    shown = " ".join((said.out + said.err).split())
    for text in (*kind.says, *(kind.at_the_end if seed is None else kind.at_random)):
        assert text in shown
    if kind.model != "":
        assert f'kind = "{kind.model}"' in said.out
        assert "trained on, " in said.out
    else:
        assert len(said.lines) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.model != ""])
def test_what_is_proposed_of_it_runs(tmp_path, monkeypatch, command, name):
    """The forecast reads no private row; a result has scores in each replicate."""
    monkeypatch.setenv("COLUMNS", "400")
    kind, out = KINDS[name], tmp_path / "s.toml"
    command.done(*asked(kind, written(tmp_path, name), None), "--epsilon", 5, "--write", out)
    said = " ".join(command.done("check", out).out.split())
    for text in kind.run_says:
        assert text in said
    command.done("forecast", out, "--set", "run.replicates=2")
    command.done("run", out, "--replicates", 2, "--out", tmp_path / "r")
    held_out = manifest(tmp_path / "r")["summary"]["held_out_final"]
    assert held_out["median"] > 0
    assert load(out).model.kind == kind.model
