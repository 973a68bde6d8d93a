"""Dates: a form that cells show is read, two that fit are a question, another is no date."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data.column_profile import looked_at
from asyncdp_sim.data.tables.column_type import Beside, forms_of, other_times
from asyncdp_sim.data.tables.quantities import Date, Number
from tests.together import together

ROWS = 200
DAYS = [date(2021, 1, 1) + timedelta(days=7 * row % 700) for row in range(ROWS)]
EARLY = [day for day in DAYS if day.day <= 12]


def column(texts):
    made = [texts[row % len(texts)] for row in range(ROWS)]
    target = np.random.default_rng(1).normal(size=ROWS)
    return looked_at(pd.Series(made, dtype=object), "admitted", Beside(target=target))


SHOWN = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d-%b-%Y", "%d %B %Y",
         "%b %d, %Y", "%Y%m%d", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p"]  # fmt: skip


@together
@pytest.mark.parametrize("form", SHOWN)
def test_a_form_that_cells_show_is_read_back_to_the_day(form):
    texts = [f"{day:{form}}" for day in DAYS]
    found = column(texts)
    assert (found.type, found.encoding.format) == ("date", form)
    since = date.fromisoformat(found.encoding.since)
    read = found.encoding.quantities(pd.Series(texts, dtype=object)).values[0]
    assert np.floor(read).tolist() == [(day - since).days for day in DAYS]
    assert found.span == (str(min(DAYS)), str(sorted(DAYS)[(ROWS - 1) // 2]), str(max(DAYS)))


@together
@pytest.mark.parametrize(("one", "two"), [("%m/%d/%Y", "%d/%m/%Y"), ("%d-%m-%Y", "%m-%d-%Y")])
def test_days_up_to_12_fit_two_forms_and_are_asked(one, two):
    found = column([f"{day:{one}}" for day in EARLY])
    assert (found.type, found.dropped, found.encoding.kind) == ("question", "question", "drop")
    [line] = found.suspicious
    for form in (one, two):
        assert f"""--column 'admitted = {{ kind = "date", format = "{form}" }}'""" in line
    assert line.count(" may be ") == 1
    one_day = f"{date(2021, 5, 30):{one}}"
    assert column([*(f"{day:{one}}" for day in EARLY), one_day]).encoding.format == one


def test_the_same_day_and_month_is_no_question():
    texts = {f"{month:02}/{month:02}/2021": 1 for month in range(1, 13)}
    assert len(forms_of(texts)) == 1


def test_two_digits_for_the_year_are_asked():
    found = column([f"{day:%d.%m.%y}" for day in DAYS])
    assert found.dropped == "question"
    assert 'format = "%d.%m.%y"' in found.suspicious[0]


def test_a_cell_outside_the_form_is_counted_as_such():
    dates = Date(format="%d/%m/%Y", since="2021-01-01")
    codes = dates.learn(pd.Series(["03/01/2021", "05/01/2021"]), "admitted", ".")
    read = codes.read(pd.Series(["13/13/2021", None, "04/01/2021"], dtype=object))
    assert read.misfits.tolist() == [True, False, False]
    said = codes.said(2, 1)
    assert (
        "2 missing values became the public mean 3, 1 cell that cannot be read as %d/%m/%Y" in said
    )
    few = column([*(f"{day:%d.%m.%Y}" for day in DAYS[:60]), "unknown"])
    assert few.type == "date"
    assert "of the cells are dates; the others (3) count as missing: 'unknown'" in few.suspicious[1]


def test_dates_in_two_forms_are_refused_by_name():
    found = column(["2024-01-01", "2/2/24", "3/13/23", "5/1/2022"])
    assert "dates in several forms cannot be read" in found.suspicious[0]


@together
@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["06.06.00", "03.26.00", "15.58.00"], "time of day"),
        (["1:30 PM", "11:05 am", "9:10 p.m."], "time of day"),
        (["2 days, 3:00:00", "1 day, 12:30:00"], "duration"),
        (["PT5H", "P2DT3H"], "duration"),
        (["26:10:00", "101:00:30"], "duration"),
        (["2024-Q1", "2023 Q4"], "quarter"),
        (["2024-W05", "2024W52"], "week"),
    ],
)
def test_other_times_are_texts_and_named(texts, kind):
    assert other_times(dict.fromkeys(texts, 1))[0] == kind
    assert column(texts).type == kind
    assert "are not read: write them as" in column(texts).suspicious[0]


def test_a_date_or_a_time_among_numbers_is_none_of_them():
    codes = Number().learn(pd.Series(["3", "5"]), "x", ".")
    read = codes.read(pd.Series(["2024-05-17", "12:30", "true", "7"], dtype=object))
    np.testing.assert_array_equal(read.values[0], [np.nan, np.nan, np.nan, 7])
    assert read.misfits.tolist() == [True, True, True, False]
    codes = Number().learn(pd.Series(["12:00", "18:00"]), "x", ".")
    np.testing.assert_array_equal(codes.read(pd.Series(["06:00", "7"])).values[0], [0.25, np.nan])
