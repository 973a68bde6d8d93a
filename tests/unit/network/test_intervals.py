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

TABLE = table(__file__, "intervals.toml")
HEADER = "owner,start,end\n"
THREE = HEADER + "1,0,1.5\n2,1,2\n1,3,4\n"
DATED = TABLE["dated"]
TIME = "allowed is a number from 0 to 1e9 (time units)"
LONGER = "allowed is an end after its start, by 1e-9 or more"
KIND = "allowed is a CSV (UTF-8) or .parquet with the columns owner,start,end"


@pytest.fixture
def written(tmp_path):
    """Return the path of a file of bytes, of text or of a table."""

    def write(content, name="online.csv"):
        path = tmp_path / name
        if isinstance(content, pd.DataFrame):
            content.to_parquet(path)
        elif isinstance(content, pa.Table):
            pq.write_table(content, path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def followed(spec, n_owners, until=None):
    notes = Notes(n_owners)
    spec.start_processes(notes.owners, notes, None)
    notes.kernel.run_before(*() if until is None else (until,))
    return notes.told


def said(spec, n_owners=3):
    return [str(fault) for fault in spec.faults(n_owners)]


# Owners online in the intervals of a file: exact times, and what is said of a wrong file.


@pytest.mark.oracle("times at which owners go online and offline, if a file lists them")
def test_owners_come_and_go_at_the_times_of_the_file(written):
    spec = Intervals(path=written(THREE))
    assert said(spec) == []
    assert followed(spec, 3) == list(map(tuple, TABLE["comings"]))


def test_what_touches_is_one_period_whatever_the_order_of_rows(written):
    spec = Intervals(path=written(HEADER + "1,2,3\n1,0,1\n1,1,2\n"))
    assert said(spec) == []
    assert spec.periods(1) == ((0, 3 * UNIT),)
    assert followed(spec, 1) == [(3.0, 1, "off"), (3.0, 1, "leaves")]


def test_presence_changes_before_clocks_tick_and_after_arrivals(written):
    notes = Notes(1)

    def other(name, priority):
        yield notes.kernel.at(UNIT, priority)
        notes.note(name, 0)

    notes.kernel.start(other("tick", Priority.CLOCK_TICK))
    Intervals(path=written(HEADER + "1,1,2\n")).start_processes(notes.owners, notes, None)
    notes.kernel.start(other("arrival", Priority.REQUEST_ARRIVES))
    notes.kernel.run_before(UNIT + 1)
    assert [what for _, _, what in notes.told] == ["off", "arrival", "on", "tick"]


def test_columns_in_any_order_blank_lines_a_byte_order_mark_and_other_columns(written):
    text = "\ufeffend, note ,owner,start\r\n\r\n 2.0 ,a night,1, 1e-1\r\n,,,\r\n"
    spec = Intervals(path=written(text))
    assert said(spec) == []
    assert (spec.periods(1), spec.periods(2)) == (((UNIT // 10, 2 * UNIT),), ())


def test_files_that_cannot_be_read_are_told_in_a_line(written, tmp_path):
    [_, line] = said(Intervals(path=written(HEADER + "1,0,1\n" + "9" * 5000 + ",0,1\n")), 0)
    assert line.startswith(f"availability.path: given owner '{'9' * 56}... (online.csv, line 3); ")
    no_text = written(b"owner,start,end\n1,0,\xff\n")
    for path, reason in (
        (no_text, "the file is not UTF-8 text"),
        (str(tmp_path / "nowhere.csv"), "there is no such file"),
        (str(tmp_path), "this is a directory"),
    ):
        spec = Intervals(path=path)
        assert said(spec) == [f"availability.path: given '{path}'; {reason}; {KIND}"]
    with pytest.raises(SpecError, match="the file is not UTF-8 text"):
        Intervals(path=no_text).content_digest()


def test_a_period_comes_again_for_ever_and_touches_itself(written):
    spec = Intervals(path=written(HEADER + "1,0,1\n1,3,4\n2,1,2\n3,0,4\n"), period=4.0)
    told = followed(spec, 3, 9 * UNIT + 1)
    for owner, expected in enumerate(TABLE["again"], start=1):
        assert [[time, what] for time, who, what in told if who == owner] == expected


def test_iso_times_and_names_of_devices(written):
    spec = Intervals(path=written(DATED))
    assert said(spec, 2) == []
    assert spec.periods(1) == ((30 * UNIT, 60 * UNIT),)  # b stands first; time 0 is a's start
    assert spec.periods(2) == ((0, 45 * UNIT),)
    named = {"names": ("a", "b", "a"), "unit": 0.5, "origin": "2026-02-28T22:59:00Z"}
    spec = spec.model_copy(update=named)
    assert said(spec, 3) == []
    assert spec.periods(1) == spec.periods(3) == ((30 * UNIT, 105 * UNIT // 2),)
    assert spec.periods(2) == ((45 * UNIT, 60 * UNIT),)


def test_parquet_says_the_same_as_csv(written):
    def of(content):
        return Intervals(path=written(content, "online.parquet"))

    frame = pd.read_csv(StringIO(THREE))
    plain, expected = of(frame), Intervals(path=written(THREE))
    assert said(plain, 2) == []
    assert [plain.periods(n) for n in (1, 2)] == [expected.periods(n) for n in (1, 2)]
    assert said(of(frame.assign(end=[1.0, 0.5, np.nan])), 2) == [
        f"availability.path: given [1, 0.5) (online.parquet, row 2); {LONGER}",
        f"availability.path: given end 'nan' (online.parquet, row 3); {TIME}",
    ]
    assert said(of(frame.assign(owner=pd.array([1, 2, None], dtype="Int64"))), 2) == [
        "availability.path: given owner '' (online.parquet, row 3); allowed are owner numbers "
        "1 to 2"
    ]
    [line] = said(of(b"owner,start,end"), 2)
    assert "; the file is not Parquet; allowed is " in line


def test_times_in_parquet_are_read_in_any_zone_and_precision(written):
    dated = pd.read_csv(StringIO(DATED))
    times = dated[["start", "end"]].map(pd.Timestamp).map(lambda moment: moment.tz_convert("UTC"))
    dated[["start", "end"]] = times
    stored = pa.table(dated)
    unknown = [stored[name].cast(pa.timestamp("us", "Mars/Olympus")) for name in ("start", "end")]
    elsewhere = pa.table({"owner": stored["owner"], "start": unknown[0], "end": unknown[1]})
    finer = dated.assign(start=dated["start"] + pd.Timedelta(1, "ns"))  # than the clock
    expected = Intervals(path=written(DATED))
    for content in (dated, elsewhere, finer):
        spec = Intervals(path=written(content, "online.parquet"))
        assert [spec.periods(n) for n in (1, 2)] == [expected.periods(n) for n in (1, 2)]


# A law of measured durations: read from a column of a file, and what is said of a wrong one.

PINGS = "host,ms\ncity,12.5\nrural,80\n\ncity,\nrural,110\n"


def test_a_column_in_its_unit_is_the_list_of_its_values(written):
    law = Empirical(path=written(PINGS), column="ms", unit=0.001)
    listed = Empirical(values=(0.0125, 0.08, 0.11))
    assert law.durations_measured == pytest.approx(listed.values)
    for moment in ("mean", "variance", "least"):
        assert getattr(law, moment) == pytest.approx(getattr(listed, moment), rel=1e-12)
    stored = written(pd.read_csv(StringIO(PINGS)), "pings.parquet")
    assert Empirical(path=stored, column="ms").durations_measured == (12.5, 80.0, 110.0)


@pytest.mark.parametrize(("text", "column", "expected"), TABLE["wrong"])
def test_a_wrong_file_is_told_in_a_line(written, text, column, expected):
    with pytest.raises(SpecError) as refused:
        Empirical(path=written(text, "pings.csv"), column=column, unit=0.001)
    fault = refused.value.faults[0]
    assert fault.key == "path"
    assert expected in str(fault)
