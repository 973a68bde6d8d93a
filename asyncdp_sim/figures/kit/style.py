"""The one style of all pictures, applied by a context and never at import."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from asyncdp_sim.core.errors import Fault, ResultError, blaming
from asyncdp_sim.core.files import file_bytes, unreadable
from asyncdp_sim.figures.kit.layout import Layout

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
BLUE, VERMILION, GREEN = OKABE_ITO[:3]
LIGHT_BLUE = "#7fb8d8"
DARK_BLUE = "#00304d"
MARKERS = ("o", "s", "^", "D", "v", "P")
THEORY = "#000000"
BAND = "#999999"
GRAY = "#666666"
"""Of keys that stand for lines of any colour."""

DPI = 180
LEGIBLE = 4.5  # contrast of small text

# Settings of the machine rather than of the picture; also those that need a screen.
_LEFT_ALONE = ("backend", "interactive", "toolbar", "tk.", "webagg.", "keymap.", "docstring.")


_SHEET: ContextVar[dict[Any, Any] | None] = ContextVar("sheet", default=None)


@contextmanager
def style_sheet(file: Path | None) -> Iterator[None]:
    """Let a matplotlib style sheet, if there is one, change the style of what is drawn meanwhile.

    Raises
    ------
    ResultError
        If the file is no style sheet.
    """
    chosen = None
    if file is not None:
        with blaming(file):
            chosen = _settings(file)
    token = _SHEET.set(chosen)
    try:
        yield
    finally:
        _SHEET.reset(token)


def _settings(file: Path) -> dict[Any, Any]:
    """Return the settings of a style sheet; matplotlib itself passes over unknown ones."""
    remedy = "allowed is a matplotlib style sheet: lines such as font.family: serif"
    try:
        lines = file_bytes(file).decode().splitlines()
        for line in lines:
            key = line.partition("#")[0].partition(":")[0].strip()
            if key not in {"", *mpl.rcParams}:
                raise ValueError(f"the setting {key!r}")
        return dict(mpl.rc_params_from_file(file, fail_on_error=True, use_default_template=False))
    except (OSError, UnicodeDecodeError) as error:
        cause, remedy = repr(str(file)), f"{unreadable(error)}; {remedy}"
    except ValueError as error:
        cause = str(error)
    raise ResultError([Fault("", cause, remedy)])


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all figures, and a style sheet that was chosen; restore all afterwards."""
    settings: dict[Any, Any] = {
        key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith(_LEFT_ALONE)
    }
    settings |= {
        "font.size": 9,
        "axes.labelsize": 9,
        "legend.fontsize": 8,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.8,
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "lines.linewidth": 1.5,
        "mathtext.fontset": "dejavusans",
        "savefig.dpi": DPI,
        "pdf.fonttype": 42,  # TrueType, which publishers ask for
        "ps.fonttype": 42,
    }
    with mpl.rc_context(settings | (_SHEET.get() or {})):
        yield


def sheet(width: float, height: float) -> Figure:
    """Return an empty figure (sizes in inches), drawn without a screen.

    matplotlib's constrained layout makes room for what is written around axes.
    """
    figure = Figure(figsize=(width, height), layout=Layout())
    FigureCanvasAgg(figure)
    return figure


def canvas(width: float = 6.5, height: float = 3.6) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes (sizes in inches)."""
    figure = sheet(width, height)
    return figure, figure.add_subplot()


def colours(count: int) -> Sequence[str]:
    """Return colours that the colour-blind can tell apart; many come in viridis' order.

    Neighbours among many are alike, so that their lines want markers too.
    """
    if count <= len(OKABE_ITO):
        return OKABE_ITO[:count]
    shades = mpl.colormaps["viridis"]
    return [mpl.colors.to_hex(shades(0.85 * step / (count - 1))) for step in range(count)]


def looks(count: int, **same: Any) -> list[dict[str, Any]]:
    """Return a colour and a marker for each of so many lines, and what is the same for all."""
    return [
        {"color": shade, "marker": marker} | same
        for shade, marker in zip(colours(count), cycle(MARKERS), strict=False)
    ]


def contrast(colour: str) -> float:
    """Return a colour's contrast with white, from 1 to 21 (WCAG's ratio of luminances)."""
    shares = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in mpl.colors.to_rgb(colour)
    ]
    luminance = sum(w * share for w, share in zip((0.2126, 0.7152, 0.0722), shares, strict=True))
    return 1.05 / (luminance + 0.05)


def legible(colour: str) -> str:
    """Return a colour as text on white wants it: darker, until its contrast is 4.5."""
    rgb = mpl.colors.to_rgb(colour)
    while contrast(mpl.colors.to_hex(rgb)) < LEGIBLE:
        red, green, blue = rgb
        rgb = 0.95 * red, 0.95 * green, 0.95 * blue
    return str(mpl.colors.to_hex(rgb))


def is_small(axes: Axes) -> bool:
    """Return whether axes are next to others."""
    place = axes.get_subplotspec()
    return place is not None and place.get_gridspec().ncols > 1


def plain_text(text: str) -> str:
    """Return a text as it is drawn where it is of others, who may mean a dollar by ``$``."""
    return text.replace("$", r"\$")
