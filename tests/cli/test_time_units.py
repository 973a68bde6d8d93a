"""A time unit with a name: every screen and picture prints times in it, and no number changes."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.units import counts_rounds, duration, in_unit
from asyncdp_sim.figures import changes, convergence
from asyncdp_sim.reports.answer import key_numbers
from asyncdp_sim.results import open_directory
from asyncdp_sim.scenario import load
from tests.cli.scenes import SMALL
from tests.directories import manifest
from tests.tables import table

DAYS = SMALL.replace("updates = 12", 'updates = 12\ntime_unit = "day"')


FILES = {"days.toml": DAYS, "small.toml": SMALL}


pytestmark = pytest.mark.usefixtures("here")


@pytest.mark.parametrize(
    ("text", "found"),
    [("2 h", (2.0, "hour")), ("1 day", (1.0, "day")), ("1.5weeks", (1.5, "week")),
     (" .5 d ", (0.5, "day")), ("90 s", (90.0, "second")), ("3 months", (3.0, "month"))],
)  # fmt: skip
def test_durations_are_read(text, found):
    assert duration(text) == found


@pytest.mark.parametrize("text", ["", "day", "0 h", "-1 h", "2", "2 parsecs", "2 h 3 min", "1e3 s"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="allowed is a number > 0 and a unit"):
        duration(text)


TABLE = table(__file__, "times_in_words.toml")


@pytest.mark.parametrize(("text", "named", "unnamed"), TABLE["words"])
def test_times_are_in_words_of_the_unit(text, named, unnamed):
    assert in_unit(text, "day") == named
    assert in_unit(text, None) == unnamed


def test_rounds_of_answers_are_those_of_rate_one_clocks_without_a_name():
    assert counts_rounds(None, {"kind": "poisson", "rate": 1.0})
    assert counts_rounds(None, {"kind": "poisson", "rate": [1.0, 1.0]})
    assert not counts_rounds("day", {"kind": "poisson", "rate": 1.0})
    assert not counts_rounds(None, {"kind": "poisson", "rate": (1.0, 2.0)})
    assert not counts_rounds(None, {"kind": "saturated"})


@pytest.mark.parametrize("name", ["days", "two words", "", "h2"])
def test_a_name_is_one_word_in_the_singular(name):
    with pytest.raises(SpecError, match=r"run\.time_unit: .* one word in the singular"):
        load(Path("small.toml"), [f'run.time_unit="{name}"'])


def test_a_name_changes_no_number(command):
    named, plain = (load(Path(f"{each}.toml"))[0] for each in ("days", "small"))
    assert named.network == plain.network
    prints = []
    for each in ("days", "small"):
        command.done("run", f"{each}.toml", "--out", each)
        prints.append(manifest(each)["fingerprints"])
    assert prints[0] == prints[1]


def _labels(figure: Figure) -> list[str]:
    return [axes.get_xlabel() for axes in figure.axes]


def test_pictures_have_an_axis_in_the_unit(command):
    for each in ("days", "small"):
        command.done("run", f"{each}.toml", "--out", each)
    named, plain = (
        convergence.by_time([convergence.CurveLine(open_directory(Path(each)))]).figure
        for each in ("days", "small")
    )
    assert _labels(named) == ["simulated time $t$ (days)"]
    assert _labels(plain) == [
        "simulated time $t$ (unit: mean time between ticks of a rate-one clock)"
    ]


def test_axes_of_a_sweep_are_in_the_unit(command):
    text = f'{DAYS}[sweep]\n"clock.rate" = [1.0, 2.0, 4.0]\n'
    Path("s.toml").write_text(text, encoding="utf-8")
    command.done("sweep", "s.toml", "--out", "swept")
    figure = changes.AGAINST.picture(open_directory(Path("swept"))).figure
    assert "clock rate $\\lambda$ (ticks per day)" in _labels(figure)
    ordinates = [axes.get_ylabel() for axes in figure.axes]
    assert "updates per day" in ordinates
    assert "time to update $T$\n(days)" in ordinates


def test_a_report_has_its_key_figures_in_the_unit(command):
    command.done("run", "days.toml", "--out", "result")
    units = {each["name"]: each["unit"] for each in key_numbers(open_directory(Path("result")))}
    assert (units["simulated_time"], units["throughput"]) == ("days", "updates / day")
