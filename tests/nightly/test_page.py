"""The page of the nightly run is what was found, and says what was not run."""

import re
from pathlib import Path

import pytest

from tests.fresh import GIVEN, fresh_seed
from tests.nightly.__main__ import README, dated, faults
from tests.nightly.kept import FOLDER, keep, kept, prune, stamp
from tests.nightly.page import Score, newest, pages, rms
from tests.nightly.parts import FUZZ, PARTS, chosen_of
from tests.nightly.reports import ROOT, _placeless, reports
from tests.oracles import oracles

FILE = "verification/test_aloha.py"
TEST = f"{FILE}::test_answers_survive_as_often_as_they_should[two owners]"
FRESH = f"{FILE}::test_fresh_seeds[two owners]"
SCORES = [["begun", 101.0, 100.0, 0.5, 0.02], ["surviving", 49.0, 50.0, -2.25, 0.01]]
WHEN = {"date": "2026-01-02", "commit": "abc", "seed": 7, "seconds": 3600.0}


def page(folder: Path) -> str:
    """Return the two pages, one after the other."""
    return "\n".join(pages(folder).values())


def aloha(text: str) -> str:
    """Return the row of the oracle that the file holds."""
    [found] = [line for line in text.splitlines() if "G e^(−2G); " in line]
    return found


def test_it_is_made_whole_from_what_is_kept():
    """``python -m tests.nightly --only`` writes it anew."""
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text
    readme = README.read_text(encoding="utf-8")
    assert dated(readme, newest()) == readme
    with pytest.raises(ValueError, match="no link to verification"):
        dated("", "2026-01-02")


def test_it_has_a_row_for_each_oracle():
    lines = page(FOLDER).splitlines()
    for oracle in oracles():
        start = f"| {oracle.statistic} | {oracle.formula} |".replace("|z|", "\\|z\\|")
        assert any(line.startswith(f"| {oracle.statistic} | ") for line in lines), start


def test_what_never_ran_is_named(tmp_path):
    text = page(tmp_path)
    assert aloha(text).count("not run") == 1
    for name, part in PARTS.items():
        assert f"| {name} | 0 of {len(part.items())} | – | – | – | 0.00 |" in text
        assert f"- {name}, not run: {part.items()[0]}; " in text


def test_scores_are_told_by_the_worst(tmp_path):
    found = {"passed": [TEST, FRESH], "failed": {}, "scores": {TEST: SCORES[:1], FRESH: SCORES[1:]}}
    keep("oracles", FILE, WHEN | found, tmp_path)
    text = page(tmp_path)
    assert aloha(text).endswith("| 2 | 2 | -2.25 ± 1.00% |")
    spread = rms([Score(*each) for each in SCORES])
    assert spread == pytest.approx((0.5**2 / 2 + 2.25**2 / 2) ** 0.5)
    assert f"RMS z of all 2 scores: {spread:.3f}; the largest |z| is 2.25. 0 tests failed." in text
    assert newest(tmp_path) == "2026-01-02"
    assert "| oracles | 1 of " in text
    assert "| 2026-01-02 | abc | 7 | 1.00 |" in text


def test_tests_that_came_after_the_last_night_are_told(tmp_path):
    oracle = next(each for each in oracles() if len(each.tests) == 3)
    for file in {test.partition("::")[0] for test in oracle.tests}:
        keep("oracles", file, WHEN | {"passed": [], "failed": {}, "scores": {}}, tmp_path)
    first = oracle.tests[0]
    found = {"passed": [f"{first}[a]", f"{first}[b]"], "failed": {}, "scores": {}}
    keep("oracles", first.partition("::")[0], WHEN | found, tmp_path)
    [row] = [line for line in page(tmp_path).splitlines() if f"| {oracle.statistic} |" in line]
    assert " | 2, 2 not run | " in row


def test_what_went_wrong_is_told(tmp_path):
    failed = {"passed": [], "failed": {TEST: "off theory"}, "scores": {}}
    keep("oracles", FILE, WHEN | failed, tmp_path)
    survived = {"noticed_by": None}
    keep("mutants", PARTS["mutants"].items()[0], WHEN | survived, tmp_path)
    escaped = {"test_x": {"outcome": "failed", "tried": 10, "escapes": 2, "why": "two"}}
    keep("fuzz", FUZZ[0], WHEN | {"tests": escaped}, tmp_path)
    absent = {"passed": None, "said": "not run: there is no Python 3.13", "packages": {}}
    keep("versions", "Python 3.13, newest packages", WHEN | absent, tmp_path)
    text = page(tmp_path)
    assert "1 of 1 FAILED" in text
    assert f"- failed: `{TEST}`" in text
    assert f"- survived: {PARTS['mutants'].items()[0]}" in text
    assert "Of 10 inputs, 2 crashed or was wrongly accepted." in text
    assert "- Python 3.13, newest packages: not run: there is no Python 3.13" in text
    said = [list(faults(each)) for each in (failed, survived, {"tests": escaped}, absent)]
    assert said == [[f"  FAILED {TEST}: off theory"], ["  SURVIVED"], ["  FAILED test_x: two"], []]


def test_a_part_that_runs_again_replaces_its_item_alone(tmp_path):
    for item, value in (("b", 1), ("a", 2), ("b", 3)):
        keep("oracles", item, {"value": value}, tmp_path)
    assert kept("oracles", tmp_path) == {"a": {"value": 2}, "b": {"value": 3}}
    found = stamp(5, 0.0)
    assert list(found) == list(WHEN)
    assert found["seed"] == 5


def test_every_file_that_is_named_is_there():
    files = [*PARTS["oracles"].items(), *PARTS["fuzz"].items()]
    assert [file for file in files if not (ROOT / "tests" / file).exists()] == []
    assert set(files) >= {f"verification/{p.name}" for p in
                          (ROOT / "tests" / "verification").glob("test_*.py")}  # fmt: skip
    assert chosen_of("conformance/test_observers.py") == [
        "conformance/test_observers.py::test_nobody_learns_more_than_who_hears_all"
    ]


def test_what_is_kept_of_items_that_are_gone_is_dropped(tmp_path):
    """Of mutants too whose noticing test has another name by now: they are planted again."""
    test = "tests/nightly/test_page.py::test_what_never_ran_is_named"
    first, second = PARTS["mutants"].items()[:2]
    for item, noticed in ((first, test), (second, f"{test}_gone"), ("x.py: y", test)):
        keep("mutants", item, {"noticed_by": noticed}, tmp_path)
    prune("mutants", PARTS["mutants"].items(), tmp_path)
    assert list(kept("mutants", tmp_path)) == [first]
    prune("oracles", PARTS["oracles"].items(), tmp_path)
    for name, part in PARTS.items():
        assert set(kept(name)) <= set(part.items()), "python -m tests.nightly --only"


def test_one_number_gives_every_test_a_seed_of_its_own(monkeypatch):
    def seed(number: str, test: str) -> int:
        monkeypatch.setenv(GIVEN, number)
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{test} (call)")
        return fresh_seed()

    assert seed("1", "a") == seed("1", "a")
    assert len({seed(number, test) for number in "12" for test in "ab"}) == 4
    monkeypatch.delenv(GIVEN)
    assert fresh_seed() != fresh_seed()


@pytest.mark.long
def test_scores_come_back_from_a_run(tmp_path):
    """Of one small file, through pytest and back."""
    [(item, found)] = PARTS["oracles"].run(["verification/test_gossip_views.py"], 1)
    assert (item, found["failed"]) == ("verification/test_gossip_views.py", {})
    assert len(found["passed"]) >= 3
    test = "verification/test_fedasync.py::test_the_mean_model_is_that_of_gradient_descent"
    [report] = reports([test], 1)
    assert (report.test, report.outcome, report.why) == (test, "passed", "")
    assert [len(each) for each in report.recorded("score")] == [5, 5]
    assert not tmp_path.joinpath("reports.jsonl").exists()


def test_nothing_that_is_kept_names_a_place_of_a_machine():
    """Neither in ids of tests, whose parameters may be paths, nor in why one failed."""
    place = re.compile(r"(?<![\w.:/])/(?:tmp|home|root|work|Users|var|opt)/")
    kept_files = [*FOLDER.glob("*.json"), FOLDER.parents[2] / "docs" / "verification.md"]
    assert len(kept_files) > 1
    assert [file.name for file in kept_files if place.search(file.read_text("utf-8"))] == []
    assert _placeless(f"[path={ROOT}/a.csv]: {ROOT}/tests/b.py:3") == "[path=a.csv]: tests/b.py:3"
    assert place.search("path=/tmp/a.csv") is not None
