"""The check that every picture is held to sees cut-off text and overlaps."""

from asyncdp_sim.figures.kit.style import panels
from tests.unit.figures.looks import faults


def test_faults_are_seen() -> None:
    """Planted: text beyond the frame, a label on the axes, axes on one another."""
    figure, (axes, other) = panels((1.0, 1.0))
    axes.text(1.3, 0.5, "beyond", transform=axes.transAxes)
    figure.text(0.5, 0.5, "on them")
    said = faults(figure)
    assert any("cut off" in each for each in said)
    assert any("Text" in each and " and " in each for each in said)
    other.set_position(axes.get_position())
    assert len(faults(figure)) > len(said)
