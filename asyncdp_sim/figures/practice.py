"""Practice before drawing: the server whose copies draw does once what every picture needs.

Nothing else imports it: as it is read it draws a picture, which is thrown away. That finds the
fonts and makes the grammar of formulas, which each copy would have to do again.
"""

import gc
import io

import pyarrow.parquet  # noqa: F401  (reads all tables)
import scipy.special  # noqa: F401  (of most intervals; it takes longer to read than any picture)

from asyncdp_sim.figures import draw  # noqa: F401  (what copies will call)
from asyncdp_sim.figures.kit.log_axis import log_axis
from asyncdp_sim.figures.kit.style import DPI, TIME_AXIS, canvas, laid_out, style
from asyncdp_sim.reading.shapes import of_run, of_sweep


def practise() -> None:
    """Draw a picture with a formula and a logarithmic axis, and keep nothing of it."""
    with style():
        figure, axes = canvas()
        axes.set_xlabel(TIME_AXIS)
        axes.plot([0, 1], [1, 10], label="$ψ$")
        log_axis(axes)
        axes.legend()
        with laid_out(figure, DPI):
            figure.savefig(io.BytesIO(), format="png")


of_run()  # both are kept
of_sweep()
practise()
gc.freeze()  # copies need not look through all this for what may go
