"""A picture is saved as matplotlib would save it, with half of the work."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from asyncdp_sim.figures import Result
from asyncdp_sim.figures.kit.picture import PACKED, Picture, save
from asyncdp_sim.figures.kit.style import style
from asyncdp_sim.figures.kit.svg import inline
from asyncdp_sim.figures.runs import convergence, shares
from asyncdp_sim.figures.runs.convergence import CurveLine


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Give the figures that are drawn, in turn."""
    drawn: list[Figure] = []
    draw = Figure.draw

    def noted(self: Figure, renderer: object) -> None:
        drawn.append(self)
        draw(self, renderer)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "draw", noted)
    return drawn


def by_matplotlib(figure: Figure) -> bytes:
    drawn = io.BytesIO()
    with style():
        figure.savefig(drawn, format="png", metadata={"Software": None}, pil_kwargs=PACKED)
    return drawn.getvalue()


PICTURES: dict[str, Callable[[Result], Picture]] = {
    "with a legend": lambda result: convergence.by_update([CurveLine(result)]),
    "with a title": shares.by_owner,
}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.long
def test_it_is_drawn_once_and_has_the_bytes_of_a_figure_that_lays_itself_out(
    name: str, drawn_result: Path, tmp_path: Path, drawings: list[Figure]
) -> None:
    result = Result.read(drawn_result)
    expected = by_matplotlib(PICTURES[name](result).figure)
    assert len(drawings) == 2
    drawings.clear()
    picture = PICTURES[name](result)
    dpi, layout = picture.figure.dpi, picture.figure.get_layout_engine()
    assert save(picture, tmp_path).read_bytes() == expected
    assert drawings == [picture.figure]
    assert (picture.figure.dpi, picture.figure.get_layout_engine()) == (dpi, layout)
    assert save(picture, tmp_path).read_bytes() == expected  # and once more


@pytest.mark.long
def test_in_a_page_too(drawn_result: Path, drawings: list[Figure]) -> None:
    picture = shares.by_owner(Result.read(drawn_result))
    inline(picture, "p", 10**9)
    assert drawings == [picture.figure]
