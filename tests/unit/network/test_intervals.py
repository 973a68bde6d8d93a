"""Files of intervals and of measured durations: exact times, and what is refused."""

from io import StringIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Priority
from asyncdp_sim.network.availability import Intervals
from asyncdp_sim.network.laws import Empirical
from tests.tables import table
from tests.unit.network.stand_ins import UNIT, Notes

# Owners online in the intervals of a file: exact times, and what is said of a wrong file.

HEADER = "owner,start,end\n"
TIME = "allowed is a number from 0 to 1e9 (time units)"
LONGER = "allowed is an end after its start, by 1e-9 or more"
KIND = "allowed is a CSV (UTF-8) or .parquet with the columns owner,start,end"


@pytest.fixture
def written(tmp_path):
    def write(text, name="online.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return Intervals(path=str(tmp_path / name))

    return write


def followed(spec, n_owners):
    notes = Notes(n_owners)
    spec.start_processes(notes.owners, notes, None)
    notes.kernel.run_before()
    return notes.told


def said(spec, n_owners=3):
    return [str(fault) for fault in spec.faults(n_owners)]


@pytest.mark.oracle("times at which owners go online and offline, if a file lists them")
def test_owners_come_and_go_at_the_times_of_the_file(written):
    spec = written(HEADER + "1,0,1.5\n2,1,2\n1,3,4\n")
    assert said(spec) == []
    assert followed(spec, 3) == list(map(tuple, TABLE["comings"]))


def test_what_touches_is_one_period_whatever_the_order_of_rows(written):
    spec = written(HEADER + "1,2,3\n1,0,1\n1,1,2\n")
    assert said(spec) == []
    assert spec.periods(1) == ((0, 3 * UNIT),)
    assert followed(spec, 1) == [(3.0, 1, "off"), (3.0, 1, "leaves")]


def test_presence_changes_before_clocks_tick_and_after_arrivals(written):
    spec, notes = written(HEADER + "1,1,2\n"), Notes(1)

    def other(name, priority):
        yield notes.kernel.at(UNIT, priority)
        notes.note(name, 0)

    notes.kernel.start(other("tick", Priority.CLOCK_TICK))
    spec.start_processes(notes.owners, notes, None)
    notes.kernel.start(other("arrival", Priority.REQUEST_ARRIVES))
    notes.kernel.run_before(UNIT + 1)
    assert [what for _, _, what in notes.told] == ["off", "arrival", "on", "tick"]


def test_columns_in_any_order_blank_lines_a_byte_order_mark_and_other_columns(written):
    spec = written("\ufeffend, note ,owner,start\r\n\r\n 2.0 ,a night,1, 1e-1\r\n,,,\r\n")
    assert said(spec) == []
    assert spec.periods(1) == ((UNIT // 10, 2 * UNIT),)
    assert spec.periods(2) == ()


def test_a_long_cell_is_cut(written):
    [_, line] = said(written(HEADER + "1,0,1\n" + "9" * 5000 + ",0,1\n"), 0)
    assert line.startswith(f"availability.path: given owner '{'9' * 56}... (online.csv, line 3); ")


def test_a_file_that_is_no_text(written):
    spec, reason = written(b"owner,start,end\n1,0,\xff\n"), "the file is not UTF-8 text"
    assert said(spec) == [f"availability.path: given '{spec.path}'; {reason}; {KIND}"]
    with pytest.raises(SpecError, match=reason):
        spec.content_digest()


def test_no_such_file_and_a_directory(tmp_path):
    nowhere = str(tmp_path / "nowhere.csv")
    assert said(Intervals(path=nowhere)) == [
        f"availability.path: given '{nowhere}'; there is no such file; {KIND}"
    ]
    assert said(Intervals(path=str(tmp_path))) == [
        f"availability.path: given '{tmp_path}'; this is a directory; {KIND}"
    ]


def test_a_period_comes_again_for_ever_and_touches_itself(written):
    spec = written(HEADER + "1,0,1\n1,3,4\n2,1,2\n3,0,4\n").model_copy(update={"period": 4.0})
    notes = Notes(3)
    spec.start_processes(notes.owners, notes, None)
    notes.kernel.run_before(9 * UNIT + 1)
    assert [each for each in notes.told if each[1] == 1] == [
        (1.0, 1, "off"), (3.0, 1, "on"), (5.0, 1, "off"), (7.0, 1, "on"), (9.0, 1, "off"),
    ]  # fmt: skip
    assert [each for each in notes.told if each[1] == 2] == [
        (0.0, 2, "off"), (1.0, 2, "on"), (2.0, 2, "off"), (5.0, 2, "on"), (6.0, 2, "off"),
        (9.0, 2, "on"),
    ]  # fmt: skip
    assert [each for each in notes.told if each[1] == 3] == []  # online for ever


TABLE = table(__file__, "intervals.toml")
DATED = TABLE["dated"]


def test_iso_times_and_names_of_devices(written):
    spec = written(DATED)
    assert said(spec, 2) == []
    assert spec.periods(1) == ((30 * UNIT, 60 * UNIT),)  # b stands first; time 0 is a's start
    assert spec.periods(2) == ((0, 45 * UNIT),)
    named = {"names": ("a", "b", "a"), "unit": 0.5, "origin": "2026-02-28T22:59:00Z"}
    spec = written(DATED).model_copy(update=named)
    assert said(spec, 3) == []
    assert spec.periods(1) == spec.periods(3) == ((30 * UNIT, 105 * UNIT // 2),)
    assert spec.periods(2) == ((45 * UNIT, 60 * UNIT),)


def test_parquet_says_the_same_as_csv(written, tmp_path):
    text = HEADER + "1,0,1.5\n2,1,2\n1,3,4\n"
    frame = pd.read_csv(StringIO(text))
    frame.to_parquet(tmp_path / "online.parquet")
    spec = Intervals(path=str(tmp_path / "online.parquet"))
    assert said(spec, 2) == []
    assert [spec.periods(n) for n in (1, 2)] == [written(text).periods(n) for n in (1, 2)]
    frame.assign(end=[1.0, 0.5, np.nan]).to_parquet(tmp_path / "online.parquet")
    assert said(Intervals(path=str(tmp_path / "online.parquet")), 2) == [
        f"availability.path: given [1, 0.5) (online.parquet, row 2); {LONGER}",
        f"availability.path: given end 'nan' (online.parquet, row 3); {TIME}",
    ]
    dated = pd.read_csv(StringIO(DATED))
    dated[["start", "end"]] = (
        dated[["start", "end"]].map(pd.Timestamp).map(lambda moment: moment.tz_convert("UTC"))
    )
    dated.to_parquet(tmp_path / "online.parquet")
    spec = Intervals(path=str(tmp_path / "online.parquet"))
    assert [spec.periods(n) for n in (1, 2)] == [written(DATED).periods(n) for n in (1, 2)]
    stored = pa.table(dated)
    unknown = [stored[name].cast(pa.timestamp("us", "Mars/Olympus")) for name in ("start", "end")]
    elsewhere = pa.table({"owner": stored["owner"], "start": unknown[0], "end": unknown[1]})
    pq.write_table(elsewhere, tmp_path / "mars.parquet")
    zoned = Intervals(path=str(tmp_path / "mars.parquet"))
    assert [zoned.periods(n) for n in (1, 2)] == [spec.periods(n) for n in (1, 2)]
    dated["start"] += pd.Timedelta(1, "ns")  # finer than the clock
    dated.to_parquet(tmp_path / "online.parquet")
    finer = Intervals(path=str(tmp_path / "online.parquet"))
    assert [finer.periods(n) for n in (1, 2)] == [spec.periods(n) for n in (1, 2)]
    frame["owner"] = pd.array([1, 2, None], dtype="Int64")
    frame.to_parquet(tmp_path / "online.parquet")
    assert said(Intervals(path=str(tmp_path / "online.parquet")), 2) == [
        "availability.path: given owner '' (online.parquet, row 3); allowed are owner numbers "
        "1 to 2"
    ]
    (tmp_path / "online.parquet").write_bytes(b"owner,start,end")
    [line] = said(Intervals(path=str(tmp_path / "online.parquet")), 2)
    assert "; the file is not Parquet; allowed is " in line


# A law of measured durations: read from a column of a file, and what is said of a wrong one.

PINGS = "host,ms\ncity,12.5\nrural,80\n\ncity,\nrural,110\n"


@pytest.fixture
def pings(tmp_path):
    def write(text, name="pings.csv"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_a_column_in_its_unit_is_the_list_of_its_values(pings):
    law = Empirical(path=pings(PINGS), column="ms", unit=0.001)
    listed = Empirical(values=(0.0125, 0.08, 0.11))
    assert law.durations_measured == pytest.approx(listed.values)
    for moment in ("mean", "variance", "least"):
        assert getattr(law, moment) == pytest.approx(getattr(listed, moment), rel=1e-12)


def test_durations_in_parquet_are_those_in_csv(pings, tmp_path):
    pd.read_csv(pings(PINGS)).to_parquet(tmp_path / "pings.parquet")
    law = Empirical(path=str(tmp_path / "pings.parquet"), column="ms")
    assert law.durations_measured == (12.5, 80.0, 110.0)


@pytest.mark.parametrize(("text", "column", "expected"), TABLE["wrong"])
def test_a_wrong_file_is_told_in_a_line(pings, text, column, expected):
    path = pings(text)
    with pytest.raises(SpecError) as refused:
        Empirical(path=path, column=column, unit=0.001)
    fault = refused.value.faults[0]
    assert fault.key == "path"
    assert expected in str(fault)
