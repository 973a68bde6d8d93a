"""The check that every picture is held to sees cut-off text and overlaps."""

from asyncdp_sim.figures.style import broken, sheet
from tests.unit.figures.looks import faults


def test_faults_are_seen():
    """Planted: text beyond the frame, a label on the axes, axes on one another."""
    figure = sheet(6.5, 4.0)
    axes, other = figure.subplots(2, sharex=True)
    axes.text(1.3, 0.5, "beyond", transform=axes.transAxes)
    figure.text(0.5, 0.5, "on them")
    said = faults(figure)
    assert any("cut off" in each for each in said)
    assert any("Text" in each and " and " in each for each in said)
    other.set_position(axes.get_position())
    assert len(faults(figure)) > len(said)


def test_labels_hidden_for_want_of_room_come_back_and_names_of_rows_never_go():
    figure = sheet(6.5, 1.4)
    axes = figure.add_subplot()
    axes.set_yticks(range(30), ["a name", *map(str, range(1, 30))])
    figure.draw_without_rendering()
    names, *numbers = (tick.label1 for tick in axes.yaxis.get_major_ticks())
    assert names.get_visible()
    assert not all(text.get_visible() for text in numbers)
    figure.set_size_inches(6.5, 8.0)
    figure.draw_without_rendering()
    assert all(text.get_visible() for text in numbers)


def test_printed_names_are_broken_by_the_letters_that_are_seen():
    assert broken(r"$\psi(\theta_{L,k})$ of these, below", 1.7) == (
        r"$\psi(\theta_{L,k})$ of these, below"
    )
    assert broken("first half of it, where n = 5", 1.2) == "first half of it,\nwhere n = 5"
    assert broken("one half of this, and quite a lot more, n = 5", 1.4) == (
        "one half of this, and\nquite a lot more, n = 5"
    )
