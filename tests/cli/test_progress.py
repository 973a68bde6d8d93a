"""Progress: what is told of it, what a terminal shows, and that a pipe has few lines."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import asyncdp_sim as ad
from asyncdp_sim.audits import audit, first_audit
from asyncdp_sim.core.progress import drawn, figures, line_on, rate
from asyncdp_sim.core.words import SCREEN, duration
from asyncdp_sim.forecasts.contest import winner
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.tune import tune
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import reproduce_all, sweep
from tests.cli.scenes import SMALL, SWEEP
from tests.tables import table

PROGRESS = table(__file__, "progress.toml")


class Told(list):
    """What is told of progress, in order."""

    def __call__(self, doing, done, total):
        self.append((doing, done, total))

    @property
    def stages(self):
        return list(dict.fromkeys(doing for doing, _, _ in self))

    def counts(self):
        """Return each stage that has a total: that, and all that was told to be done."""
        found = {}
        for doing, done, total in self:
            if total is not None:
                found.setdefault(doing, (total, []))[1].append(done)
        return found


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return load(tmp_path / "small.toml", ["run.replicates=5"])[0]


@pytest.mark.parametrize("setting", ['run.learning="live"', "privacy.epsilon=2.0"])
def test_runs_tell_all_that_they_do_and_change_nothing_by_it(setting, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    scenario = load(tmp_path / "small.toml", ["run.replicates=5", setting])[0]
    told = Told()
    assert run(scenario, progress=told).fingerprints == run(scenario).fingerprints
    counts = told.counts()
    live = "simulating runs that learn" in counts
    assert len(counts) == (1 if live else 2)
    for total, done in counts.values():
        assert done == sorted(set(done))
        assert (done[0], done[-1]) == (0, total)
        assert len(done) > 4
    if not live:
        assert counts["learning: updates"][0] == 5 * 12
        assert counts["simulating runs"][0] == 5


def test_sweeps_tell_cells_and_parts_of_them(tmp_path):
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    scenario = load(tmp_path / "sweep.toml")[0]
    told = Told()
    sweep(scenario, tmp_path / "r", progress=told)
    [(total, done)] = told.counts().values()
    whole = [each for each in done if isinstance(each, int)]
    assert (total, whole) == (6, [1, 2, 3, 4, 5, 6])
    assert min(done) < 1  # cells that learn together are told of while they do
    assert all(0 < each <= 6 for each in done)


@pytest.mark.long
def test_audits_forecasts_and_searches_tell(small):
    told = Told()
    audit(small, answers=100, runs=8, confidence=0.9, progress=told)
    [(total, done)] = told.counts().values()
    assert (done[0], done[-1]) == (0, total)
    assert total % 16 == 0
    told.clear()
    first_audit(small, answers=100, canaries=2, confidence=0.9, progress=told)
    assert told.stages == ["attacking single answers", "training once with canaries"]
    told.clear()
    forecast(small, progress=told)
    assert "simulating runs" in told.stages
    told.clear()
    poisson = {"kind": "poisson", "rate": 1.0}
    tune(small.replace(clock=poisson), replicates=2, progress=told)
    assert told.stages[0] == "trying steps, lengths and caps"
    [(stage, (total, done))] = told.counts().items()
    assert stage.endswith(": runs")
    assert (done[0], done[-1]) == (0, total)


@pytest.mark.long
def test_a_result_and_a_sweep_made_again_tell_as_they_did_at_first(small, tmp_path):
    write(run(small), tmp_path / "r")
    told, first = Told(), Told()
    run(small, progress=first)
    reproduce_all(tmp_path / "r", progress=told)
    assert told == first != []
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    sweep(load(tmp_path / "sweep.toml")[0], tmp_path / "s")
    told.clear()
    reproduce_all(tmp_path / "s", progress=told)
    [(total, done)] = told.counts().values()
    assert (total, done[-1]) == (6, 6)


@pytest.mark.parametrize(("choices", "most"), [(1, 3), (2, 9), (7, 8), (12, 40), (13, 100)])
def test_a_contest_knows_how_many_runs_it_takes(choices, most):
    told = Told()
    winner({c: lambda numbers, c=c: np.full(len(numbers), float(c))
            for c in range(choices)}, most, told)  # fmt: skip
    [(total, done)] = told.counts().values()
    assert done[-1] == total


def test_a_terminal_shows_done_of_total_the_rate_and_what_is_left(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(SCREEN))
    with drawn() as progress:
        progress("learning: updates", 0, 100_000)
        progress("learning: updates", 60_000, 100_000)
        progress("simulating the best 12 afresh: runs", 3, 1200)
    shown = screen.getvalue()
    assert "learning: updates" in shown or "simulating the best 12 afresh: runs" in shown
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with drawn() as progress:
        progress("learning: updates", 0, 100_000)
        progress("learning: updates", 60_000, 100_000)
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("counts", PROGRESS["pipe"])
def test_a_pipe_has_a_line_once_work_is_known_to_be_long_and_one_a_minute(counts, monkeypatch):
    """It states how long the work will take, and once what makes it shorter."""
    seconds = iter([0, 0, 0.5, 2, 5, 72, 100])
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("asyncdp_sim.core.progress.time.monotonic", lambda: next(seconds))
    with drawn("fewer --replicates take less") as progress:
        for done in counts.split():
            progress("simulating runs", int(done), 1000)
    assert sys.stderr.getvalue().splitlines() == PROGRESS["pipe"][counts]


def test_a_long_sweep_of_the_catalogue_prints_its_time_at_once(command, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "another").touch()
    time = "note: the whole sweep takes about 24 s of processor time"
    assert command("sweep", "wifi-contention", "--out", tmp_path / "full").lines[0] == time
    assert time not in command("sweep", "lending-sound", "--out", tmp_path / "full").lines


def test_the_line_fits_eighty_columns():
    screen = io.StringIO()
    console = Console(file=screen, width=SCREEN, force_terminal=True, color_system=None)
    display = line_on(console)
    said = "1,000,000/1,000,000, 12,345/s, 59 min left"
    display.add_task("simulating the best 12 afresh: runs", total=10, figures=said[10:])
    console.print(display.get_renderable())
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= SCREEN
    assert "simulating the best 12 afresh: runs" in lines[0]
    assert lines[0].rstrip().endswith("left")


def test_figures_in_words():
    assert figures(300.7, 1200, 10.0) == "300/1,200, 10/s, about 90 s left"
    assert figures(0, None, None) == ""
    assert figures(0, 3, None) == "0/3"
    assert [rate(x) for x in (1234.5, 1.0, 0.05, 0.001)] == ["1,234/s", "1/s", "3/min", "3.6/h"]
    assert [duration(x) for x in (3.2, 100, 9000)] == ["about 3 s", "about 2 min", "about 2.5 h"]


@pytest.mark.parametrize("typed", PROGRESS["interrupted"])
def test_ctrl_c_says_what_is_kept_and_what_goes_on(typed, command, here, monkeypatch):
    stopped, kept = PROGRESS["interrupted"][typed]
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    (here / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    write(run(load(here / "small.toml")[0]), here / "made")

    def stop(*_given, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr(stopped, stop)
    said = command(*typed.split())
    again = "to start again" if kept.startswith("nothing is kept") else "to go on"
    assert said.code == 130
    assert said.lines[-2:] == [f"interrupted: {kept}", f"{again}: asyncdp {typed}"]


@pytest.mark.long
def test_python_hears_of_progress_and_may_have_it_drawn(small, monkeypatch, tmp_path, capsys):
    told = Told()
    heard = ad.run(small, out=tmp_path / "r", progress=told)
    assert {"simulating runs", "learning: updates"} <= set(told.stages)
    assert heard.manifest == ad.run(small).manifest
    for work in (ad.replay, ad.forecast, ad.sweep, ad.audit):
        told.clear()
        given = {
            ad.replay: heard,
            ad.sweep: small.replace(sweep={"run.seed": [1, 2]}),
        }.get(work, small)
        work(given, **{"answers": 100} if work is ad.audit else {}, progress=told)
        assert len(told) > 0, work
    assert capsys.readouterr().err == ""
    ad.run(small, progress=print)
    assert "learning: updates 60 60" in capsys.readouterr().out
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # that a test of notebooks loaded
    ad.run(small)
    assert screen.getvalue() == ""
    ad.run(small, progress=True)
    assert "learning: updates" in screen.getvalue() or "simulating runs" in screen.getvalue()
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())  # as in a notebook
    screen.truncate(0)
    ad.run(small, progress=False)
    assert screen.getvalue() == ""
    ad.run(small)
    assert "learning: updates" in screen.getvalue() or "simulating runs" in screen.getvalue()
