"""``import asyncdp_sim as ad``: every public name, what it costs, and what it leaves behind."""

import doctest
import gc
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from matplotlib.axes import Axes

import asyncdp_sim as ad
from asyncdp_sim.api import pictures
from asyncdp_sim.cli.terminal import load_scenario
from asyncdp_sim.figures import style, traces
from asyncdp_sim.figures.networks import NetworkFigure
from asyncdp_sim.results.columns import flat
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from scenarios import first_steps
from tests.unit.api.page import page

SMALL = {"updates": 12, "replicates": 2}
NASTY = ("<script>alert(1)</script>", "A & B", '"><img src=x onerror=y>')


def small(**parts: object) -> Scenario:
    return ad.load("vary-availability").replace(run=SMALL, sweep={}, **parts)


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw with few pixels, which is quicker."""
    monkeypatch.setattr(style, "DPI", 20)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files that only this test uses, and its working directory."""
    folder, work = tmp_path / "temporary", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(work)
    return folder


def test_importing_it_loads_next_to_nothing():
    code = (  # an editable installation has loaded typing and importlib by itself
        "import sys, typing, importlib; before = set(sys.modules); import asyncdp_sim as ad; "
        "dir(ad); found = set(sys.modules) - before; "
        "heavy = found & {'numpy', 'pandas', 'pydantic'}; "
        "sys.exit(f'{len(found)} {heavy}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    count, heavy = done.stderr.split(maxsplit=1)
    assert heavy.strip() == "set()"
    assert int(count) < 10


@pytest.mark.long
def test_every_name_has_an_example_that_runs(temporary, monkeypatch):
    """With every module and package of the house imported, whose names are never public ones."""
    drawing = importlib.import_module("asyncdp_sim.figures.draw")
    sound = drawing.pictures

    def few(*of: object, **how: object) -> tuple[list[object], list[str]]:
        entries, notes = sound(*of, **how)
        return entries[:2], notes

    monkeypatch.setattr(drawing, "pictures", few)  # two are enough
    for module in pkgutil.iter_modules(ad.__path__, "asyncdp_sim."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    finder = doctest.DocTestFinder(recurse=False)
    said = []
    for name in ad.__all__:
        each = getattr(ad, name)
        assert inspect.isclass(each) or inspect.isfunction(each), name
        (found,) = finder.find(each, name, globs={"ad": ad})
        assert len(found.examples) > 0, name
        doctest.DocTestRunner().run(found, out=said.append, clear_globs=True)
    assert said == []
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_the_page_has_every_name():
    file = Path(__file__).parents[3] / "docs" / "reference" / "python.md"
    written = file.read_text(encoding="utf-8")
    assert written == page(), "python -m tests.regenerate writes it anew"
    assert all(f"### `ad.{name}`" in written for name in ad.__all__)
    assert set(ad.__all__) <= set(dir(ad))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        ad.runn  # noqa: B018


def test_every_argument_and_what_is_given_back_is_typed():
    """Of functions, of what they return, and of pictures; mypy holds the rest of the house."""
    shown = [*(getattr(ad, name) for name in ad.__all__), *pictured()]
    found = 0
    for each in shown:
        members = [each] if inspect.isfunction(each) else list(vars(each).values())
        for member in members:
            given = member.fget if isinstance(member, property) else member
            if not inspect.isfunction(given) or given.__name__.startswith("_"):
                continue
            found += 1
            types = given.__annotations__
            wanted = set(inspect.signature(given).parameters) - {"self", "cls"}
            assert wanted <= set(types), f"{each.__name__}: {given.__name__}"
            assert "return" in types, f"{each.__name__}: {given.__name__}"
    assert found > 60


def pictured() -> list[type]:
    """Return the classes of what ``.plot`` gives, each of which the page has too."""
    found = [each for name, each in vars(pictures).items() if name.endswith("Plots")]
    written = page()
    assert all(f"### `{each.__name__}`" in written for each in found)
    return found


def test_every_picture_of_a_network_has_a_method():
    """By the name that the method has of it, as ``"GAPS"``."""
    drawn = inspect.getsource(pictures.TracePlots)
    names = [name for name, each in vars(traces).items() if isinstance(each, NetworkFigure)]
    lacking = [name for name in names if f'"{name}"' not in drawn]
    assert lacking == [], "give TracePlots in api/pictures.py a method for each"


@pytest.mark.long
def test_the_typed_example_runs(tmp_path):
    """Its types are checked with the rest of the house."""
    assert first_steps.main(tmp_path)[0].startswith("loose against strict, paired by replicate")
    assert {path.name for path in tmp_path.glob("*.png")} == {"epsilon.png", "messages.png"}


def test_every_column_has_its_unit():
    result = ad.run(small(data={"held_out": 0.25}), events=True)
    names = ("curve", "updates", "owners", "events", "models", "optimum")
    for name in names:
        frame = getattr(result, name)
        assert len(frame) > 0, name
        assert set(frame.attrs["units"]) == set(frame.columns) == set(frame.attrs["meanings"])
    summary = result.summary
    assert set(summary.index) == set(flat({**result.manifest["summary"], "intervals": {}}))
    assert summary.index[summary["unit"] == ""].tolist() == []
    low, high = result.manifest["summary"]["intervals"]["throughput"]
    assert summary.loc["throughput", ["low", "high"]].tolist() == [low, high]
    frame = result.curve
    frame["k"] = -1
    assert result.curve["k"].min() == 0  # a frame is the reader's own


def test_a_run_without_a_directory_is_the_same_and_leaves_nothing(temporary):
    scenario = small()
    result = ad.run(scenario)
    assert not result.kept
    write(run(scenario), Path("by-hand"))
    assert result.manifest == json.loads(Path("by-hand/manifest.json").read_text("utf-8"))
    for file in Path("by-hand").glob("*.parquet"):
        assert (result.directory / file.name).read_bytes() == file.read_bytes()
    sweep = ad.sweep(scenario.replace(sweep={"privacy.epsilon": [1.0, 2.0]}))
    cell = sweep[1]
    assert len(list(temporary.iterdir())) == 2
    del sweep
    gc.collect()
    assert cell.curve["k"].max() == 12  # a cell holds on to its sweep
    del cell, result
    with pytest.raises(ad.DataError):
        ad.run(ad.load("lending-sound").replace(data={"path": "none.csv"}))
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in Path().iterdir()) == ["by-hand"]


def test_a_directory_is_kept_and_opened_again(temporary):
    scenario = small()
    made = ad.run(scenario, out="made")
    assert ad.run("made/scenario.toml", out="made").manifest == made.manifest  # finished before
    with pytest.raises(ad.ResultError, match="another result"):
        ad.run(scenario.replace(run={"seed": 9}), out="made")
    again = ad.open("made")
    assert isinstance(again, ad.Result)
    assert again.scenario == made.scenario
    swept = ad.sweep(scenario.replace(sweep={"privacy.epsilon": [1.0, 2.0]}), out="swept")
    opened = ad.open("swept")
    assert isinstance(opened, ad.Sweep)
    assert opened.to_frame().equals(swept.to_frame())
    assert set(opened.to_frame().columns) == set(opened.to_frame().attrs["units"])
    assert ad.replay(opened) == 2
    assert opened[0].updates.equals(made.updates)  # which lie with the sweep's traces
    assert list(temporary.iterdir()) == []


def test_scenarios_are_named_loaded_and_replaced_in_our_own_words():
    named, changed = ad.load("lending-sound"), ad.load("lending-sound", ["privacy.epsilon=3.0"])
    assert named.replace(privacy={"epsilon": 3.0}) == changed
    assert load_scenario(Path("lending-sound"), ["privacy.epsilon=3.0"], False)[0] == changed


def test_a_network_alone_is_that_of_the_run():
    scenario = small()
    result, trace = ad.run(scenario, events=True), ad.simulate(scenario, replicate=2)
    for name in ("updates", "events"):
        frame = getattr(result, name)
        alone = frame[frame["replicate"] == 2].reset_index(drop=True)
        assert alone.equals(getattr(trace, name)), name
        assert getattr(trace, name).attrs["units"] == frame.attrs["units"]


def test_figures_are_axes_of_the_house():
    result = ad.run(small(compute={"kind": "constant", "value": 0.1}), events=True)
    sweep = ad.sweep(small().replace(sweep={"privacy.epsilon": [1.0, 2.0]}))
    shown = [
        result.plot.convergence(by="time"), result.plot.timing(), result.plot.gaps(),
        result.plot.shares(), *result.plot.spacetime(),
        sweep.plot.convergence(), ad.forecast(small()).plot.convergence(),
    ]  # fmt: skip
    assert all(isinstance(axes, Axes) for axes in shown)
    assert result.label in shown[0].figure.get_supxlabel().replace("\n", " ")


def test_figures_of_a_comparison_outlive_its_name():
    """Found by attack: the results' temporary directories were gone before it was drawn."""
    axes = ad.compare(ad.run(small()), ad.run(small())).plot.ratio()  # pytest would keep the parts
    assert isinstance(axes, Axes)


def test_a_network_alone_has_owners_and_figures_of_the_run():
    scenario = small(protocol={"kind": "push"}, compute={"kind": "exponential", "mean": 0.5})
    result, trace = ad.run(scenario, events=True), ad.simulate(scenario, replicate=2)
    whole = result.owners
    alone = whole[whole["replicate"] == 2].reset_index(drop=True)[trace.owners.columns.tolist()]
    assert alone.equals(trace.owners)
    assert {"attempts", "answers_released", "online_fraction"} < set(trace.owners.columns)
    assert set(trace.owners.attrs["units"]) == set(trace.owners.columns)
    stale = trace.plot.staleness()
    bars = [bar.get_height() * len(trace.updates) for bar in stale.patches]
    counted = trace.updates["staleness"].value_counts().reindex(range(len(bars)), fill_value=0)
    assert bars == pytest.approx(counted.tolist())
    shown = [stale, trace.plot.timing(), trace.plot.timing(by="time"), trace.plot.gaps(),
             trace.plot.shares(), *trace.plot.spacetime()]  # fmt: skip
    for axes in shown:
        assert isinstance(axes, Axes)
        said = axes.figure.get_supxlabel().replace("\n", " ")
        assert said == "Order and times alone: nothing is learned, and no record is read."


@pytest.mark.long
def test_an_audit_is_a_frame_of_its_checks_and_facts():
    found = ad.audit(small(owners={"records": 9}), answers=200, thorough=True, runs=100)
    frame = found.to_frame()
    assert len(frame) == len(found.checks) + len(found.facts) > len(found.checks) > 0
    assert set(frame.attrs["units"]) == set(frame.attrs["meanings"]) == set(frame.columns)
    attacks = frame.iloc[: len(found.checks)]
    assert attacks["epsilon_shown"].tolist() == [each.finding.epsilon for each in found.checks]
    assert bool(frame["exceeded"].any()) is found.exceeded
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(frame)
    assert "not refuted, not proven" in page


def test_an_audit_in_one_run_is_a_row_of_its_frame():
    found = ad.audit(small(owners={"records": 9}), answers=200, canaries=4)
    guessed = found.guessed
    assert guessed is not None
    row = found.to_frame().to_dict("records")[1]
    assert row["canaries"] == guessed.canaries == 4
    assert (row["guesses"], row["right"]) == (guessed.guesses, guessed.right)
    assert row["epsilon_shown"] == guessed.epsilon
    assert row["epsilon_most"] == guessed.most
    assert row["epsilon_tight"] == guessed.tight
    assert bool(row["exceeded"]) is found.exceeded is False
    assert "one run with 4 canaries" in found._repr_html_()


def test_what_a_notebook_shows_is_escaped():
    """Names of owners are of others."""
    scenario = small(owners={"names": NASTY, "count": 3}, title=NASTY[0])
    result = ad.run(scenario)
    sweep = ad.sweep(scenario.replace(sweep={"privacy.epsilon": [1.0, 2.0]}))
    shown = {
        "scenario": scenario,
        "result": result,
        "sweep": sweep,
        "forecast": ad.forecast(scenario),
        "trace": ad.simulate(scenario),
        "comparison": ad.compare(result, sweep[1], names=NASTY[::2]),
    }
    pages = {name: each._repr_html_() for name, each in shown.items()}
    for name, text in pages.items():
        assert "<table>" in text, name
        assert "<script" not in text, name
        assert "<img" not in text, name
    escaped = [name for name, text in pages.items() if "&lt;script&gt;" in text]
    assert escaped == ["scenario", "forecast", "comparison"]
    assert result.label in pages["result"]


def test_notes_are_warnings_of_a_category_of_their_own(tmp_path):
    """Those that the command line prints; of the caller's line, so that each is shown once."""
    scenario = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 2})
    swept = scenario.replace(sweep={"privacy.epsilon": [1.0, 2.0]})
    lending, kind = Path("lending-sound"), ["privacy.budget.kind=horizon"]
    for call in (
        lambda: ad.run(scenario).warnings,
        lambda: ad.run(scenario, out=tmp_path / "kept").warnings,
        lambda: ad.run(scenario, out=tmp_path / "kept").warnings,
        lambda: ad.sweep(swept).warnings,
        lambda: ad.load("lending-sound", kind) and load_scenario(lending, kind, False)[1],
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said = call()
        assert [str(each.message) for each in caught] == list(dict.fromkeys(said))
        assert len(caught) > 0
        assert {each.category for each in caught} == {ad.AsyncDPWarning}
        assert {each.filename for each in caught} == {__file__}
    assert ", 1 warning, " in repr(ad.run(scenario))
