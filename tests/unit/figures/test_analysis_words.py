import csv
import io

import numpy as np
import pytest
from matplotlib.text import Text

from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.drawer import Declaration, Panel, Side
from asyncdp_sim.figures.picture import Label, Picture, as_csv
from asyncdp_sim.figures.style import VERMILION, lifted, spread

SAID = Label("NOT PRIVATE as claimed: a reason.", False, np.inf, None, True, True)


def test_no_picture_is_without_its_label():
    said = Declaration([Panel([], Side(ticks=()), Side(ticks=()))])
    picture = Picture("some", said, {"x": np.array([1, 2])}, "What is shown.", SAID)
    [text] = [found for found in picture.figure.findobj(Text) if found.get_text()]
    assert text.get_text() == SAID.text
    assert text.get_color() == VERMILION
    with pytest.raises(TypeError, match="label"):
        Picture("some", Declaration([]), {}, "What is shown.")  # type: ignore[call-arg]


def test_its_numbers_carry_the_label_too():
    picture = Picture("some", Declaration([]), {"x": np.array([1, 2])}, "", SAID)
    rows = list(csv.DictReader(io.StringIO(as_csv(picture.labelled()))))
    same = {"private": "False", "epsilon_true": "inf", "delta": "", "timing_accounted": "True"}
    same |= {"not_for_release": "True", "epsilon_at_least": "False", "models_private": "False"}
    assert rows == [{"x": x} | same for x in ("1", "2")]
    own = {"private": np.array([True, False])}
    labelled = Picture("some", Declaration([]), own, "", SAID).labelled()
    assert list(labelled["models_private"]) == [True, False]  # row by row where the table says so
    assert list(labelled["private"]) == [False, False]  # no ε covers exact values
    assert list(labelled["epsilon_true"]) == [np.inf, np.inf]
    times = Picture("some", Declaration([]), own, "", SAID, exact=False).labelled()
    assert list(times["private"]) == [True, False]
    assert "models_private" not in times


def test_names_are_spread_and_keep_their_order():
    assert spread([0.9, 0.1], 0.05) == [0.9, 0.1]
    np.testing.assert_allclose(spread([0.5, 0.5, 0.5, 0.9], 0.1), [0.4, 0.5, 0.6, 0.9])
    drawn = spread(list(np.random.default_rng(3).random(12)), 0.06)
    assert np.diff(sorted(drawn)).min() >= 0.06 - 1e-12


def test_no_name_is_below_the_axes():
    np.testing.assert_allclose(lifted([0.4, -0.1, 0.0, 0.5], 0.1), [0.4, 0.0, 0.1, 0.5])
    np.testing.assert_allclose(lifted([-0.15, -0.05, 0.05], 0.1), [0.0, 0.1, 0.2])


def test_numbers_are_short():
    shown = [number(x) for x in (250000, 0.1, 1132.6, float("inf"), 1e-5)]
    assert shown == ["250,000", "0.1", "1,133", "∞", "1e-05"]
    assert numbers([3, 1, 1]) == "1, 3"
    assert numbers(range(1, 9)) == "1 to 8"
