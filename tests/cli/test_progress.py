"""Progress: what is told of it, what a terminal shows, and that a pipe shows nothing."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from asyncdp_sim.audits import audit
from asyncdp_sim.cli.progress import Drawn, drawn, duration, figures, rate
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.advice.contest import winner
from asyncdp_sim.forecasts.advice.tune import tune
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps import sweep
from asyncdp_sim.words import SCREEN
from tests.cli.scenes import SMALL, SWEEP


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


def test_audits_forecasts_and_searches_tell(small):
    told = Told()
    audit(small, answers=100, runs=8, confidence=0.9, progress=told)
    [(total, done)] = told.counts().values()
    assert (done[0], done[-1]) == (0, total)
    assert total % 16 == 0
    told.clear()
    forecast(small, progress=told)
    assert "simulating runs" in told.stages
    told.clear()
    poisson = {"kind": "poisson", "rate": 1.0}
    tune(small.replace(clock=poisson), replicates=2, lengths=(6, 12), progress=told)
    assert len(told.counts()) == 2
    for stage, (total, done) in told.counts().items():
        assert stage.endswith(": runs")
        assert (done[0], done[-1]) == (0, total)


@pytest.mark.parametrize(("choices", "most"), [(1, 3), (2, 9), (7, 8), (12, 40), (13, 100)])
def test_a_contest_knows_how_many_runs_it_takes(choices, most):
    told = Told()
    winner([lambda numbers, c=c: np.full(len(numbers), float(c))
            for c in range(choices)], most, told)  # fmt: skip
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
        assert progress is None
    assert sys.stderr.getvalue() == ""


def test_the_line_fits_eighty_columns():
    screen = io.StringIO()
    console = Console(file=screen, width=SCREEN, force_terminal=True, color_system=None)
    display = Drawn(console).display
    said = "1,000,000/1,000,000, 12,345/s, 59 min left"
    display.add_task("simulating the best 12 afresh: runs", total=10, figures=said[10:])
    console.print(display.get_renderable())
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= SCREEN
    assert "simulating the best 12 afresh: runs" in lines[0]
    assert lines[0].rstrip().endswith("left")


def test_figures_in_words():
    task = SimpleNamespace(total=1200, completed=300.7, speed=10.0)
    assert figures(task) == "300/1,200, 10/s, 90 s left".replace("90 s", duration(89.93))
    assert figures(SimpleNamespace(total=None, completed=0, speed=None)) == ""
    assert figures(SimpleNamespace(total=3, completed=0, speed=None)) == "0/3"
    assert [rate(x) for x in (1234.5, 1.0, 0.05, 0.001)] == ["1,234/s", "1/s", "3/min", "3.6/h"]
    assert [duration(x) for x in (3.2, 100, 9000)] == ["3 s", "2 min", "2.5 h"]
