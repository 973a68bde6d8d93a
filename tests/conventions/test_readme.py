"""Examples of the README work as they stand there, and so does what pages say in its place."""

import math
import random
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import asyncdp_sim
from asyncdp_sim.figures import break_even
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.catalogue import entry
from asyncdp_sim.sweeps.sweep import sweep
from scenarios import command as scenarios
from tests.cli.pages import commands, fenced, hold

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "README.md"
README = FILE.read_text(encoding="utf-8")
PROSE = " ".join(README.split())
HOME = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def one_line(name: str) -> str:
    """Return the words of a page, in one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def test_the_python_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    [(_, example)] = fenced(FILE, "python")
    assert sum(line != "" for line in example.splitlines()) <= 6
    exec(compile(example, "README.md", "exec", dont_inherit=True), {})
    label, psi = capsys.readouterr().out.splitlines()
    assert label.startswith("Private as claimed: ε = 10 per owner")
    assert 0 < float(psi) < 1
    assert Path("psi.png").stat().st_size > 1000


def test_the_scenario_for_a_table_of_ones_own_runs(tmp_path, command):
    scenario = fenced(ROOT / "docs" / "reference" / "scenario.md", "toml")[0][1]
    assert len(scenario.splitlines()) <= 25
    draw = random.Random(1)
    rows = ["site,age,dose,days"]
    for row in range(900):
        site = "" if row >= 600 else ("North", "South", "East")[row % 3]
        age, dose = draw.uniform(20, 80), draw.gauss(5, 1)
        rows.append(f"{site},{age:.1f},{dose:.2f},{0.1 * age + dose + draw.gauss(0, 1):.2f}")
    (tmp_path / tomllib.loads(scenario)["data"]["path"]).write_text("\n".join(rows) + "\n")
    (tmp_path / "stays.toml").write_text(scenario, encoding="utf-8")
    said = command.done("run", tmp_path / "stays.toml", "--out", tmp_path / "out")
    assert "private              yes (ε = 10 per owner)" in said.out
    [median] = re.findall(r"ψ at the end +median ([\d.]+)", said.out)
    assert float(median) < 0.05


@pytest.mark.documents
@pytest.mark.usefixtures("here")
def test_the_session_prints_what_it_shows(command):
    [(_, text)] = fenced(FILE, "console")
    assert len(text.splitlines()) <= 20
    told = [*commands(FILE.stem, False, text, {})]
    assert [each.arguments[0] for each in told] == ["forecast", "run", "replay", "audit"]
    for each in told:
        hold(command, each)


def test_it_is_short():
    assert len(README.split()) <= 700


def test_both_commands_are_where_the_ci_script_looks():
    for mark in ("main command", "test command"):
        [command] = re.findall(rf"<!-- {mark} -->\n```bash\n(.*)\n```", README)
        assert command.startswith("python3 -m venv .venv && ")
    assert command.endswith("-m pytest -n 2")


@pytest.mark.long
def test_the_main_command_draws_the_picture_and_its_sentence(
    tmp_path, monkeypatch, command, capsys
):
    [main] = re.findall(r"<!-- main command -->\n```bash\n(.*)\n```", README)
    asked = main.rpartition("bin/asyncdp ")[2].split()
    assert asked == ["sweep", "twenty-small-banks", "--plot"]
    monkeypatch.chdir(tmp_path)
    screen = command.done(*asked, "--out", "twenty").out
    assert screen.startswith("fit: ")  # above the table and the names of figures
    assert screen.index("result in twenty") < screen.index("figures/break-even.png")
    page = (tmp_path / "twenty" / "figures" / "captions.md").read_text(encoding="utf-8")
    [decided] = re.findall(r"^fit: (At ε = 0.1, .* half of them\.)$", screen, re.M)
    assert f" {decided} " in page
    assert scenarios.main(["twenty-small-banks", "--out", "twenty"]) == 0
    assert f"fit: {decided}\n" in capsys.readouterr().out
    [none, most] = re.findall(
        r"At ε = 0\.1 the joint model fits better than (\d+) of 20 own models, at ε = 10 than "
        r"(\d+) \(",
        PROSE,
    )[0]
    drawn = pd.read_csv(tmp_path / "twenty" / "figures" / "break-even.csv", comment="#")
    gains = drawn.groupby("epsilon").fits_better.sum()
    assert gains.to_dict() == {0.1: int(none), 0.3: 0, 1.0: 0, 3.0: 7, 10.0: int(most)}
    [best, middle] = re.findall(r"ψ is ([\d.]+) for the luckiest bank, and ([\d.]+)", HOME)[0]
    own = drawn[drawn.epsilon == 10].psi_alone
    assert (f"{own.min():.3f}", f"{own.median():.3f}") == (best, middle)
    at_most = drawn[drawn.epsilon == 10].iloc[0]
    mean, least, largest = (
        f"{at_most[f'psi_final_mean{end}']:.3f}" for end in ("", "_low", "_high")
    )
    assert f"at ε = 10 than {most} (ψ = {mean}, 95 % interval {least} to {largest})." in PROSE
    strict, loose = (drawn[drawn.epsilon == epsilon].iloc[0] for epsilon in (0.1, 10.0))
    assert strict.psi_final_mean_low > own.max()
    assert loose.psi_final_mean_high < own.median()


def test_the_first_screen_fits_one_and_shows_the_picture_of_the_docs():
    assert len(README.partition("\n## ")[0].splitlines()) <= 40
    assert (ROOT / "docs/pictures/twenty-small-banks.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.documents
def test_other_loans_give_the_same_answer(tmp_path):
    """The sentence on other seeds: no smaller ψ at ε = 0.1, for 15 to 20 banks at ε = 10."""
    home = one_line("docs/index.md")
    [low, high] = re.findall(r"seeds 2 to 8\), .* ψ for (\d+) to (\d+) of 20 banks", home)[0]
    gains = []
    for seed in range(2, 9):
        sweep(entry("twenty-small-banks").scenario((f"run.seed={seed}",)), tmp_path / str(seed))
        drawn = break_even.FIGURE.picture(Sweep.read(tmp_path / str(seed))).table
        at = [drawn["fits_better"][drawn["epsilon"] == epsilon].sum() for epsilon in (0.1, 10.0)]
        assert at[0] == 0
        gains.append(at[1])
    assert (min(gains), max(gains)) == (int(low), int(high))


@pytest.mark.documents
def test_the_lessons_are_those_of_the_runs(tmp_path, command):
    lessons = one_line("docs/catalogue.md")
    assert "ψ grows from 12 to 80" in lessons
    assert "ends at ψ = 0.023" in lessons
    one_step = ("run", "lending-sound", "--set", "privacy.epsilon=0.1", "--out")
    assert "median 79.9," in command.done(*one_step, tmp_path / "sound").out
    lesson = command.done("run", "lending-convergence", "--out", tmp_path / "published").out
    assert "median 0.0233," in lesson
    assert re.search(r"^private +NO", lesson, re.M), lesson
    assert "one draw of noise on all coordinates" in lesson


@pytest.mark.documents
def test_whether_joining_pays(command):
    said = command.done("forecast", "lending-three-budgets").out
    assert "joining makes no material difference for the average owner at ε = 0.1" in said


def test_commands_named_are_commands():
    from asyncdp_sim.cli import COMMANDS

    assert set(re.findall(r"`asyncdp\s(\w[\w-]*)", README)) == set(COMMANDS)


def test_rows_of_speed_are_those_that_were_measured():
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    text = (ROOT / "docs" / "how-long.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^\| what \| ours .*\n\| ---.*\n((?:\|.*\n)+)", text, re.M)
    rows = table.splitlines()
    assert len(rows) == 4
    assert [row for row in rows if row not in measured] == []
    [growth] = re.findall(r"^\| what grows \| by .*\n\|---.*\n((?:\|.*\n)+)", text, re.M)
    for line in growth.splitlines():
        what, sizes, times = (cell.strip() for cell in line.strip("|").split("|"))
        [row] = [each for each in measured if each.startswith(f"| {re.split(r'[ ,]', what)[0]} | ")]
        ends = [cell.split(", ")[:: len(cell.split(", ")) - 1] for cell in row.split(" | ")[1:3]]
        assert (sizes, times) == (" to ".join(ends[0]), " to ".join(ends[1]))
        if what == "replicates":
            least, most = (float(end.removesuffix(" s")) for end in ends[1])
            said = f"1,000 times as many replicates take {most / least:.0f} times as long"
            assert said in one_line("docs/how-long.md")


def test_what_epsilon_hides_is_as_the_page_says():
    page = (ROOT / "docs" / "is-it-enough.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) % \|$", page, re.M)
    assert [epsilon for epsilon, _ in rows] == ["0.1", "1", "3", "5", "10"]
    for epsilon, said in rows:
        most = min(0.01 * math.exp(float(epsilon)), 1 - 0.99 * math.exp(-float(epsilon)))
        assert float(said) == pytest.approx(100 * most, rel=0.025)


def test_extras_of_the_page_are_those_of_the_package():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"^\| `([\w-]+)` \| \d+ MB", page, re.M)
    assert {*named, "suite", "lint"} == set(project["optional-dependencies"])


def test_pages_that_are_linked_are_there():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_what_an_index_shows_has_no_link_and_its_example_runs(capsys):
    """It is shown without the repository, whose address nobody knows."""
    page = ROOT / "PACKAGE.md"
    assert "](" not in page.read_text(encoding="utf-8")
    [(_, example)] = fenced(page, "python")
    exec(compile(example, page.name, "exec", dont_inherit=True), {})
    assert capsys.readouterr().out.startswith("Private as claimed: ε = 10 per owner")


def test_one_cites_the_version_that_this_is():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {asyncdp_sim.__version__}\n" in citation


def test_figures_of_the_paper_are_those_of_the_verification_page():
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    section = text.partition("\n# Verification\n")[2].partition("\n# ")[0]
    figures = set(re.findall(r"\d[\d.]*\d", section.replace(",", "")))
    page = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
    assert len(figures) == 4
    assert figures <= set(re.findall(r"\d[\d.]*\d", page))


def test_the_decision_in_words_is_that_of_the_session():
    """The session's output is held by a test of documents; if it changes, so must the words."""
    verdict, gain, ends = re.findall(
        r"^Decision +(\w+) .*: gain (\S+) percentage points \(95 % interval (\S+ to \S+)\) …$",
        README, re.M,
    )[0]  # fmt: skip
    [(own, joint, adapted)] = re.findall(
        r"^Mean error +(\S+) own model, (\S+) joint model, (\S+) adapted,", README, re.M
    )
    assert f"that errs by {own} percentage points, the joint model by {joint}, and" in PROSE
    assert f"(*adapted*) by {adapted}." in PROSE
    assert f"The gain is {gain} ({ends}): {verdict}, which is no reason to join." in PROSE
    assert README.count(" 0 gain, 0 do worse,") == 1
    assert "No single bank certainly gains or does worse" in PROSE
    [most] = re.findall(r"^Break-even ε +none up to ε = (\S+), the largest tried$", README, re.M)
    assert f"at no ε up to {most} does the average bank gain." in PROSE
    home = one_line("docs/index.md")
    assert f"it is {verdict} whether the average bank gains" in home
    parts = f"is off by {own} percentage points, the joint one adapted to its loans by {adapted};"
    assert parts in home
    assert f"the gain is {gain} (95 % interval {ends})." in home


def test_a_sentence_on_an_interval_has_the_ends_that_are_shown_above_it():
    text = one_line("docs/one-hospital.md")
    (low, high), *_ = re.findall(r"undecided for North .*? interval (-\S+) to (\S+)\)", text)
    loss, gain = f"a loss of {-float(low):.2f} days", f"a gain of {float(high) + 1e-9:.2f} days"
    assert f"from {loss} to {gain}, so the verdict is" in text


# Blocks of Python on pages of ``docs`` work as they stand there, one after the other.

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("recipes.md", "kinds/README.md")


@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs(name, monkeypatch):
    page = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) > 0
    monkeypatch.chdir(DOCS.parent)
    monkeypatch.setitem(sys.modules, "page", ModuleType("page"))
    known = vars(sys.modules["page"])
    for block in blocks:
        exec(compile(block, name, "exec", dont_inherit=True), known)


def test_a_recipe_is_short():
    """Its prose, tables among it; code counts apart."""
    page = (DOCS / "recipes.md").read_text(encoding="utf-8")
    recipes = re.split(r"^## ", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S), flags=re.M)[
        1:
    ]
    assert len(recipes) == 8
    assert {
        each.partition("\n")[0]: len(each.split()) for each in recipes if len(each.split()) > 150
    } == {}


def test_the_docs_are_short():
    """Words have a letter or a digit; proofs of privacy count apart."""
    generated = [*DOCS.glob("reference/**/*.md"), *DOCS.glob("verification/*.md")]
    generated += [DOCS / "verification.md", DOCS / "benchmarks.md"]
    texts = [page for page in DOCS.rglob("*.md") if page.parent != DOCS / "privacy"]
    assert words_in(generated) <= 20_000
    assert words_in([DOCS.parent / "README.md", *texts]) <= 50_000
    assert words_in([DOCS / "semantics.md"]) <= 2_500


def words_in(pages: list[Path]) -> int:
    words = (word for page in pages for word in page.read_text("utf-8").split())
    return sum(any(map(str.isalnum, word)) for word in words)
