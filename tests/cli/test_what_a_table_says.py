"""A table of one's own is read as it says, and what is left out is named on the screen."""

from datetime import time, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.data.table_profile import TableLook, look
from asyncdp_sim.scenario import load
from tests.one_in import one_in

ROWS, PUBLIC = 240, 120


def table(**columns: object) -> pd.DataFrame:
    """Return rows of three sites in turn, with columns changed or added."""
    draws = np.random.default_rng(4)
    dose = draws.normal(40, 9, ROWS).round(1)
    made = {
        "site": ["West", "East", "North"] * (ROWS // 3),
        "age": draws.integers(20, 90, ROWS).astype(str),
        "dose": dose,
        "days": (dose / 9 + draws.normal(0, 1, ROWS)).round(1),
    }
    return pd.DataFrame(made | columns)


def seen(folder: Path, rows: pd.DataFrame, public: int = PUBLIC, **how: object) -> TableLook:
    rows.to_csv(folder / "t.csv", index=False)
    return look(str(folder / "t.csv"), target="days", owner="site", public=public, **how)


def proposed(command, folder, *more):
    """Run ``asyncdp data`` on the table, and write what it proposes."""
    asked = ("--target", "days", "--owner", "site", "--public", PUBLIC)
    return command("data", folder / "t.csv", *asked, "--write", folder / "s.toml", *more)


def placed(texts: list[str], others: list[str]) -> list[str]:
    """Return ``others`` in the first public rows, before and after them the texts in turn."""
    whole = [texts[row % len(texts)] for row in range(ROWS)]
    return [*whole[: ROWS - PUBLIC], *others, *whole[ROWS - PUBLIC + len(others) :]]


NUMBERS = [str(number) for number in range(20, 90)]
AMOUNTS = [f"${number:,}" for number in range(900, 1900, 7)]
COLUMNS = {
    "a word": (placed(NUMBERS, ["unknown"]), "number",
               "99 % of the cells are numbers; the others (1) count as missing: 'unknown'"),
    "points": (placed(NUMBERS, ["."] * 4), "number", "'.'"),
    "bounds": (placed(AMOUNTS, ["<$0.5"]), "money", "a column names them"),
    "a word among amounts": (placed(AMOUNTS, ["ask us"]), "money", "'ask us'"),
    "two forms of dates": (
        placed(["2024-01-01", "2/2/24", "3/4/23", "4/5/23"], []), None, "several forms",
    ),
    "times of the day": (placed([f"{h:02d}:30" for h in range(24)], []), "number", ""),
    "times that all differ": (placed([f"{m // 60:02d}:{m % 60:02d}" for m in range(0, 1440, 7)],
                              []), "number", "times of day are read as parts of a day: 12:00 is"),
    "whole dollars": ([str(int(1000 * 1.04**row)) for row in range(ROWS)], "number",
                      "if these are ids"),
    "ids": ([str(5000 + row) for row in range(ROWS)], "drop", "consecutive"),
    "dates without marks": (
        placed([f"2019{1 + n % 12:02}{1 + n % 28:02}" for n in range(84)], ["99991231"] * 20),
        "date", "add --missing x=99991231 "),
    "times with seconds": (placed([f"{h:02d}:30:00" for h in range(24)], []), "number",
                           "12:00 is 0.5"),
    "uncertainties": (placed([f"{n / 10}±0.{n % 7}" for n in range(90)], []), "drop",
                      "pairs of numbers in this form are not read"),
    "pressures": (placed([f"{n}/{n - 40}" for n in range(90, 170)], []), "drop",
                  "write them in two columns"),
    "two decimal marks": (placed([f"{n},5" if n % 3 else f"{n}.5" for n in range(30, 60)], []),
                          "drop", "have different decimal marks"),
    "pounds and kilograms": (placed([f"{n} {'kg' if n % 3 else 'lb'}" for n in range(30, 60)], []),
                             "money", "units are converted to kg"),
    "zero dates": (placed([f"2019-03-{1 + n % 28:02}" for n in range(84)], ["0000-00-00"] * 20),
                   "date", "'0000-00-00'"),
    "the first of all days": (
        placed([f"2019-03-{1 + n % 28:02}" for n in range(84)], ["0001-01-01"] * 20), "date",
        "add --missing x=0001-01-01 "),
    "months": (placed([f"20{n // 12:02}{1 + n % 12:02}" for n in range(84)], []), "date", "%Y%m"),
    "minutes": (placed([f"201903{1 + n % 28:02}1{n % 10}30" for n in range(84)], []), "date", "%M"),
    "short years": (placed([f"19-03-{1 + n % 28:02}" for n in range(84)], []), "drop", "%y-%m-%d"),
    "points between": (placed([f"2019.3.{1 + n % 28}" for n in range(84)], []), "date", "%Y.%m.%d"),
    "a date among numbers": (placed(NUMBERS, ["2021-03-01"] * 2), "number",
                             "the others (2) count as missing: '2021-03-01'"),
    "a truth among decimals": (placed([f"{n}.5" for n in range(20, 90)], ["TRUE"]), "number",
                               "the others (1) count as missing: 'TRUE'"),
    "a time among numbers": (placed(NUMBERS, ["1:30"]), "number", "missing: '1:30'"),
    "years with 9999": (placed([str(2015 + n % 5) for n in range(80)], ["9999"] * 9), "number",
                        "add --missing x=9999 "),
    "padded ids": ([f"{97 * row:06d}" for row in range(ROWS)], "drop", "an id"),
}  # fmt: skip


DAYS = [18_262 + row * row % 900 + row % 48 / 48 for row in range(ROWS)]
"""From 2020-01-01 on, in days since 1970."""
CALENDAR = [pd.Timestamp("1970-01-01") + pd.Timedelta(days=int(day)) for day in DAYS]
COUNTED = {
    "whole days": ("days as Excel", "date", [f"{25_569 + day:.0f}" for day in DAYS]),
    "days": ("days as Excel", "visit_date", [f"{25_569 + day:.5f}" for day in DAYS]),
    "days, with a comma": (
        "days as Excel", "Datum", [f"{25_569 + day:.2f}".replace(".", ",") for day in DAYS],
    ),
    "seconds": ("seconds", "time", [f"{86_400 * day:.0f}" for day in DAYS]),
    "seconds with a point": ("seconds", "timestamp", [f"{86_400 * day:.1f}" for day in DAYS]),
    "milliseconds": ("milliseconds", "created_at", [f"{8.64e7 * day:.0f}" for day in DAYS]),
    "milliseconds, shortened": ("milliseconds", "ts", [f"{8.64e7 * day:.8E}" for day in DAYS]),
    "microseconds": ("microseconds", "event_time", [f"{8.64e10 * day:.0f}" for day in DAYS]),
    "short years": ("dates as %y%m%d?", "visit_date", [f"{day:%y%m%d}" for day in CALENDAR]),
    "days of a year": ("dates as %Y%j?", "Datum", [f"{day:%Y%j}" for day in CALENDAR]),
    "nanoseconds": ("nanoseconds", "epoch", [f"{8.64e13 * day:.0f}" for day in DAYS]),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_numbers_that_count_a_date_are_named(tmp_path, name):
    told, called, cells = COUNTED[name]
    found = next(c for c in seen(tmp_path, table(**{called: cells})).columns if c.name == called)
    assert found.suspicious[0 if found.type == "number" else 1].startswith(told)
    assert "would be 202" in "; ".join(found.suspicious)
    assert found.dropped == ""


DRAWS = np.random.default_rng(61)
PHONES = [f"{prefix}{digits}" for prefix, digits in zip(
    ["1", "49", "44", "91", "33"] * (ROWS // 5), DRAWS.integers(10**9, 10**10, ROWS), strict=True,
)]  # fmt: skip


@pytest.mark.parametrize(
    ("called", "cells"),
    [
        ("phone", PHONES),
        ("daytime_phone", PHONES),
        ("income", DRAWS.integers(20_000, 60_000, ROWS).astype(str)),
        ("day", DRAWS.integers(1, 32, ROWS).astype(str)),
        ("time_to_event", DRAWS.exponential(30_000, ROWS).round(1).astype(str)),
        ("ts_id", DRAWS.integers(10**12, 2 * 10**12, ROWS).astype(str)),
    ],
)
def test_ordinary_numbers_are_no_dates(tmp_path, called, cells):
    found = next(c for c in seen(tmp_path, table(**{called: cells})).columns if c.name == called)
    assert not any("would be" in remark for remark in found.suspicious)


@one_in(3, "name", COLUMNS)
def test_a_column_is_what_its_public_cells_say(tmp_path, name):
    cells, encoding, told = COLUMNS[name]
    found = next(c for c in seen(tmp_path, table(x=cells)).columns if c.name == "x")
    assert encoding is None or found.encoding.kind == encoding
    assert told in "; ".join(found.suspicious)


@pytest.mark.long
@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_proposed_is_accepted(tmp_path, command, name):
    cells, _, _ = COLUMNS[name]
    table(x=cells).to_csv(tmp_path / "t.csv", index=False)
    assert proposed(command, tmp_path, "--epsilon", 5).code == 0
    command.done("check", tmp_path / "s.toml")


def test_who_is_left_out_is_named(tmp_path):
    by_site = table().sort_values("site", kind="stable")
    lines = "\n".join(seen(tmp_path, by_site, 100).lines())
    assert "more than half of their records public" not in lines
    chosen = seen(tmp_path, by_site, 100, public_seed=1)
    assert sorted(chosen.owners) == ["East", "North", "West"]
    assert sum(chosen.owners.values()) == ROWS - 100
    assert not any("--public-seed" in line for line in chosen.lines())
    few = table(site=["A", "B", "C"] * 75 + ["D"] * 15)
    assert "owners too small for the proposal (1 with fewer than 20 records): D (15)" in "\n".join(
        seen(tmp_path, few.iloc[::-1], 60).lines()
    )


def test_the_line_merges_names_that_look_alike(tmp_path, monkeypatch):
    sites = ["Clinic A", "clinic a", "Clinic A "] * (ROWS // 3)
    lines = seen(tmp_path, table(site=sites)).lines()
    [line] = [each for each in lines if each.startswith("to merge them: ")]
    monkeypatch.chdir(tmp_path)
    exec(line.partition('python -c "')[2].removesuffix('"'))
    merged = look("merged.csv", target="days", owner="site", public=PUBLIC)
    assert merged.owners == {"Clinic A": ROWS - PUBLIC}


@pytest.mark.long
def test_rows_chosen_at_random_are_those_of_the_scenario(tmp_path, command):
    table().sort_values("site").to_csv(tmp_path / "t.csv", index=False)
    assert proposed(command, tmp_path, "--public-seed", 3, "--epsilon", 5).code == 0
    assert load(tmp_path / "s.toml")[0].owners.count == 3
    found = look(str(tmp_path / "t.csv"), target="days", owner="site", public=PUBLIC, public_seed=3)
    assert f"{PUBLIC} rows, chosen at random," in found.lines()[1]
    said = command.done("check", tmp_path / "s.toml")
    assert sum(found.owners.values()) == ROWS - PUBLIC
    assert "chosen at random" in said.err + said.out


def test_a_header_that_stands_again_is_refused(tmp_path):
    table().to_csv(tmp_path / "own.csv", index=False)
    head, *rows = (tmp_path / "own.csv").read_text(encoding="utf-8").splitlines()
    again = "\n".join([head, *rows[:-5], head, *rows[-5:]])
    (tmp_path / "t.csv").write_text(again, encoding="utf-8")
    asked = {"target": "days", "owner": "site"}
    with pytest.raises(DataError, match=r"data\.path: .*t\.csv', whose header stands again"):
        look(str(tmp_path / "t.csv"), **asked, public=PUBLIC)
    with pytest.raises(DataError, match=r"data\.public_path: .*t\.csv', whose header stands"):
        look(str(tmp_path / "own.csv"), **asked, public_path=str(tmp_path / "t.csv"))


def test_durations_and_times_of_a_parquet_are_in_days(tmp_path):
    stays = [timedelta(hours=12 * (row % 50)) for row in range(ROWS)]
    times = [time(row % 24, 30) for row in range(ROWS)]
    since = pd.Timestamp("2020-01-01", tz="Asia/Kolkata") + pd.to_timedelta(stays)
    frame = table(stay=stays, at=times, since=since)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    found = look(str(tmp_path / "t.parquet"), target="days", owner="site", public=PUBLIC)
    kinds = {each.name: each.encoding.kind for each in found.columns}
    assert (kinds["stay"], kinds["at"], kinds["since"]) == ("number", "number", "number")
    assert "stay: durations are read in days" in found.lines()
    assert "since: times are read in days since 1970" in found.lines()


@one_in(2, "target", ["days", "classes"])
def test_private_targets_that_cannot_be_read_are_counted_apart(tmp_path, command, target):
    """Beside the empty cells, which are none; of public rows nothing is said there."""
    frame = table()
    if target == "classes":
        frame["days"] = ["yes", "no"] * (ROWS // 2)
    cells = frame["days"].astype(object).tolist()
    cells[3], cells[5], cells[8] = "<0.5", "unknown", ""
    frame.assign(days=cells).to_csv(tmp_path / "t.csv", index=False)
    assert proposed(command, tmp_path, "--epsilon", 5).code == 0
    said = " ".join(command.done("check", tmp_path / "s.toml").out.split())
    texts = {"days": "not numbers", "classes": "unknown class '<0.5' (1), 'unknown' (1)"}[target]
    assert f"{texts}, so missing: 2 cells of the target 'days' (" in said
    assert "Records without a target: 3." in said
