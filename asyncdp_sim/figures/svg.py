"""A picture as SVG inside a page: its own names, no date, no address, nothing of another page."""

import io
import re
from collections import Counter
from collections.abc import Iterator

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from asyncdp_sim.figures.layout import laid_out
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import style

RASTER_DPI = 150
_PROLOGUE = re.compile(r"\A.*?(?=<svg\b)", re.S)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.S)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.S)
_STYLE = re.compile(r"\s*<style type=\"text/css\">.*?</style>", re.S)
_ID = re.compile(r"\sid=\"[^\"]*\"")
_ROOT = re.compile(r"<svg\b[^>]*?\bviewBox=\"([^\"]*)\"[^>]*>", re.S)


def inline(picture: Picture, prefix: str, largest: int) -> tuple[str, tuple[float, float]]:
    """Return a picture as an ``svg`` element's inner text, and its width and height in points.

    Parameters
    ----------
    picture : Picture
    prefix : str
        Begins every id, so that several pictures fit one page.
    largest : int
        Characters beyond which what is plotted becomes pixels; axes and words stay as they are.
    """
    text = _drawn(picture.figure, prefix)
    if len(text) > largest:
        for artist in _plotted(picture.figure):
            artist.set_rasterized(True)
        text = _drawn(picture.figure, prefix)
    for superfluous in (_PROLOGUE, _METADATA, _COMMENT, _STYLE):
        text = superfluous.sub("", text)
    root = _ROOT.match(text)
    if root is None:
        raise TypeError("matplotlib writes an svg element with a viewBox")
    width, height = map(float, root.group(1).split()[2:])
    inner = text[root.end() : text.rindex("</svg>")]
    times = Counter(_ID.findall(inner))  # the mark of several artists is no id of any
    inner = _ID.sub(lambda found: found[0] if times[found[0]] == 1 else "", inner)
    inner = re.sub(r'\bid="', f'id="{prefix}-', inner)
    inner = re.sub(r'\b(?:xlink:)?href="#', f'href="#{prefix}-', inner)
    inner = inner.replace("xlink:href=", "href=").replace("url(#", f"url(#{prefix}-")
    return inner.strip(), (width, height)


def _drawn(figure: Figure, salt: str) -> str:
    drawn = io.StringIO()
    FigureCanvasSVG(figure)  # whose letters the layout makes room for
    with (
        style(),
        mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}),
        laid_out(figure, RASTER_DPI),
    ):
        figure.savefig(drawn, format="svg", dpi=RASTER_DPI, metadata={"Date": None})
    return drawn.getvalue()


def _plotted(figure: Figure) -> Iterator[Artist]:
    for axes in figure.axes:
        yield from (*axes.lines, *axes.collections, *axes.patches, *axes.images)
