"""A page stands on its own: whole, escaped, of one address, the same twice, and never mild."""

import difflib
import json
import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import spacetime
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, inline
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.reports import LARGEST, page, write_report
from asyncdp_sim.reports.answer import banner
from asyncdp_sim.reports.page import _first_events, account
from asyncdp_sim.results import Result, open_directory, read_manifest
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario.catalogue import catalogue
from asyncdp_sim.sentences.forecast import as_json
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.result import warnings_first
from tests.cli.pages import alike
from tests.fingerprints.fingerprint import cells, small
from tests.one_in import one_in
from tests.tables import table
from tests.unit.reports.pages import AS_PUBLISHED, BASE, EVIL, Seen, scenario, swept, written


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def result(place):
    return written(place / "result")


@pytest.fixture(scope="module")
def of_run(result):
    return Seen(page([result]))


@pytest.fixture(scope="module")
def of_sweep(place):
    return Seen(page([swept(place / "sweep")]))


@pytest.mark.long
def test_it_is_whole_and_asks_nobody_for_anything(of_run, of_sweep):
    for seen in (of_run, of_sweep):
        assert seen.faults == []
        assert seen.foreign == []
        assert len(seen.text.encode()) < LARGEST / 5
        named = [each["id"] for _, each in seen.elements if "id" in each]
        assert [name for name, count in Counter(named).items() if count > 1] == []
        used = [each["href"] for _, each in seen.elements if each.get("href", "").startswith("#")]
        used += [f"#{name}" for name in re.findall(r"url\(#([^)]*)\)", seen.text)]
        assert len(used) > 100
        assert {name.removeprefix("#") for name in used} <= set(named)


def test_what_would_be_fetched_is_seen():
    for text in (
        '<img src="https://a.example/x.png">',
        '<link rel="stylesheet" href="x.css">',
        "<style>@import 'x.css'</style>",
        '<svg><use xlink:href="x.svg#a"/></svg>',
        '<a href="other.html">there</a>',
    ):
        assert Seen(text).foreign != []
    assert Seen("<p><b>open</p>").faults != []


@pytest.mark.long
def test_the_first_screen_is_the_answer(of_run, of_sweep):
    for seen in (of_run, of_sweep):
        first = seen.text.partition('<section id="answer">')[2].partition("</section>")[0]
        for word in ('class="decision"', "<svg", "ψ at the end", "banner"):
            assert word in first
        assert "<h2>" not in first
        folded = [name for name, _ in seen.elements].index("details")
        assert [each for each in seen.elements[:folded] if each[0] == "svg"] != []
        assert all("open" not in each for each in seen.all("details"))


PARTS = table(__file__, "pages.toml")["parts"]
"""Pages that differ from the first one's, by what their scenarios have besides."""


@pytest.mark.long
@pytest.mark.parametrize("name", ["run", "sweep", "comparison", "forecast", *PARTS])
def test_a_page_reads_as_it_is_kept(name, of_run, of_sweep, result, place, file_regression):
    """Whole, or as far as it differs from the page of the run."""
    if name in ("run", "sweep"):
        seen = of_run if name == "run" else of_sweep
    elif name == "comparison":
        louder = written(place / "louder", privacy=BASE["privacy"] | {"epsilon": 1000.0})
        seen = Seen(page([result, louder]))
    elif name == "forecast":
        (place / "soon.json").write_text(as_json(forecast(scenario(), judged=None)))
        seen = Seen(page([place / "soon.json"]))
    else:
        seen = Seen(page([written(place / name, **_inner(PARTS[name]))]))
    assert seen.faults == seen.foreign == []
    lines = seen.answer
    if name in PARTS:
        lines = [*difflib.unified_diff(of_run.answer, lines, n=0, lineterm="")][2:]
    file = Path(__file__).parent / "printed" / f"{name}.txt"
    text = "\n".join([*lines, ""])
    file_regression.check(text, encoding="utf-8", fullpath=file, check_fn=alike)


def _inner(parts):
    """Return parts of a scenario; those that are said to be joined go into the usual ones."""
    joined = parts.get("joined", {})
    others = {key: value for key, value in parts.items() if key != "joined"}
    return others | {key: BASE[key] | value for key, value in joined.items()}


@pytest.mark.long
def test_pages_are_written_where_their_results_lie(result, place):
    other = written(place / "other", privacy=BASE["privacy"] | {"epsilon": 1000.0})
    own = write_report([result])
    assert write_report([result, other]) == result / "comparison.html"
    assert own.read_text(encoding="utf-8") == page([result])  # not replaced
    file, made = place / "old.json", json.loads(as_json(forecast(scenario(), judged=None)))
    file.write_text(json.dumps(made))
    assert write_report([file]) == place / "old.html"
    del made["decision"]
    file.write_text(json.dumps(made))
    with pytest.raises(ResultError, match="older version"):
        page([file])


@pytest.mark.long
def test_the_energy_that_is_forecast_is_what_is_measured(place):
    powered = PARTS["energy"]
    said = forecast(scenario(**powered), judged=None)
    summary = read_manifest(written(place / "powered", **powered))["summary"]
    assert said.energy is not None
    for name in ("joules", "bytes_sent", "bytes_received"):
        assert getattr(said.energy, name) == pytest.approx(summary[name], rel=0.1)


@one_in(2, "of", ["of_run", "of_sweep"])
def test_names_and_titles_are_text(of, request):
    seen: Seen = request.getfixturevalue(of)
    assert EVIL in seen.said
    assert len(seen.all("script")) == 1
    assert "alert('" not in seen.text
    assert f"Told {EVIL}" in seen.said
    assert "code" in seen.said
    if of == "of_run":
        assert "Ann & Sons" in seen.said
        assert "Ann &amp; Sons" in seen.text
        assert "`" not in seen.said


def test_columns_are_those_of_the_tables_that_are_there(of_run):
    assert "updates.parquet" in of_run.said
    assert "events.parquet" not in of_run.said


def test_no_script_but_its_own_may_run(of_run):
    [policy] = [each["content"] for each in of_run.all("meta") if "http-equiv" in each]
    [script] = re.findall(r"<script>(.*?)</script>", of_run.text, re.S)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in str(policy)
    assert "default-src 'none'" in str(policy)


def test_every_drawing_has_the_words_of_its_caption(of_run, result):
    drawings = [each for each in of_run.all("svg")]
    entries, _ = pictures(open_directory(result))
    told = [picture.text for picture, _ in entries]
    assert [each["aria-label"] for each in drawings[:-1]] == told
    assert "messages, " in str(drawings[-1]["aria-label"])
    assert ". Messages between learner and owners" in str(drawings[-1]["aria-label"])
    assert all(each["role"] == "img" for each in drawings)
    assert [each for each in of_run.all("img") if not each.get("alt")] == []
    assert len(drawings) > 4


@pytest.mark.long
def test_the_same_bytes_twice_and_by_the_command(of_run, result, tmp_path, command):
    out = tmp_path / "new" / "page.html"
    assert command.done("report", result, "-o", out).out == f"report in {out}\n"
    assert out.read_bytes() == of_run.text.encode()
    assert not re.search(r"20\d\d-\d\d-\d\d", of_run.text)
    assert str(result.parent) not in of_run.text


def test_a_banner_says_the_label_and_is_never_milder(result, place):
    good = read_manifest(result)
    bad = read_manifest(written(place / "bad", **AS_PUBLISHED))
    real, untimed = (
        {**good, "summary": {**good["summary"], key: value}}
        for key, value in (("not_for_release", True), ("timing_accounted", False))
    )
    silent = {**good, "summary": {**good["summary"], "private": None}}
    silent["warnings"] = ["not shown: nobody vouches for the mechanism"]
    assert label([silent]).private is None
    tones = {"kept": [good], "withheld": [real], "broken": [good, real, bad]}
    for tone, manifests in tones.items():
        assert banner(manifests).tone == tone
        assert banner(manifests).text == label(manifests).text
        assert banner(manifests).release is (real not in manifests)
    assert {banner([each]).tone for each in (bad, untimed, silent)} == {"broken"}
    assert any("one draw of noise" in why for why in banner([good, bad]).reasons)


def test_warnings_that_limit_a_result_stand_apart_from_notes(place):
    directory = written(place / "warned", **AS_PUBLISHED)
    limits, others = warnings_first(directory)
    assert sorted(limits + others) == sorted(read_manifest(directory)["warnings"])
    assert any(text.startswith("not private: ") for text in limits)
    text = page([directory])
    assert ("<h2>Warnings</h2>" in text, "<h2>Notes</h2>" in text) == (True, len(others) > 0)
    assert '<meta name="release" content="true">' in text


def test_commands_name_the_directory_from_wherever_it_is_called(tmp_path, monkeypatch):
    inside = written(tmp_path / "one") / "figures"
    inside.mkdir(exist_ok=True)
    monkeypatch.chdir(inside)
    assert "asyncdp replay one" in page([Path("..")])


def test_events_simulated_again_are_those_of_the_run(result, tmp_path):
    kept = written(tmp_path / "kept", events=True)
    again = _first_events(Result.read(result))
    assert isinstance(again, np.ndarray)
    assert np.array_equal(again, spacetime.events_of(Result.read(kept), 1))


@pytest.mark.long
def test_a_drawing_that_is_too_large_becomes_pixels_within_its_axes(result):
    points = np.random.default_rng(1).normal(size=(2, 2500))
    dots = Layer("line", *points, look={"marker": "o", "linestyle": "none"})
    said = Declaration([Panel([dots], Side("said in letters"), Side())])
    manifest = label([read_manifest(result)])
    picture = Picture("many", said, {"x": points[0]}, "Many points.", manifest)
    large, _ = inline(picture, "a", 10**7)
    small, size = inline(picture, "a", 50_000)
    assert "data:image/png;base64," in small
    assert len(small) < len(large) / 2
    assert size == (468.0, 259.2)
    assert Seen(f"<svg>{small}</svg>").foreign == []


def test_a_table_goes_by_its_name(tmp_path):
    """Where a file lies is no part of a page that is sent about."""
    rows = [f"{n % 7},{n % 5 + n % 7 / 9}" for n in range(60)]
    (tmp_path / "mine.csv").write_text("\n".join(["x,y", *rows, ""]))
    data = {"kind": "table", "path": str(tmp_path / "mine.csv"), "target": "y", "features": 1}
    data |= {"public_records": 20, "preprocessing": "pca"}
    owners = {"count": 2, "records": 15}
    found = Result.read(written(tmp_path / "of-table", data=data, owners=owners))
    told = account(found, found.scenario)
    words = " ".join(f"{name} {text}" for name, text in told["lines"])
    assert "mine.csv" in words
    assert str(tmp_path) not in words
    assert told["note"] == ""
    (tmp_path / "mine.csv").unlink()
    gone = account(found, found.scenario)
    assert (len(gone["lines"]) > 0) != (gone["note"] != "")


# Every entry of the catalogue has a page, whatever it is made of.


@pytest.mark.nightly
@pytest.mark.parametrize("name", [entry.name for entry in catalogue()])
def test_a_cell_has_a_page(name, tmp_path):
    [*_, cell] = cells(name)
    scenario = small(name, cell)
    write(run(scenario), tmp_path / "result")
    seen = Seen(page([tmp_path / "result"]))
    assert seen.faults == []
    assert seen.foreign == []
    assert len(seen.text.encode()) < LARGEST / 2
    takes_time = Result.read(tmp_path / "result").summary["simulated_time"] > 0
    leads = takes_time and scenario.run.updates > 1  # a line, from one update to the next
    assert len(seen.all("svg")) >= (3 if leads else 1)
    assert ("Not drawn: nothing takes time." in " ".join(seen.words)) == (not takes_time)
