"""Records that are drawn, kept from one run to the next: they depend on what was asked for alone.

:mod:`.cache` is a bounded directory of files, :mod:`.form` the form of a file in it.
"""

from asyncdp_sim.data.kept.cache import LEAST, VARIABLE, Cache
from asyncdp_sim.data.kept.origin import drawn_once

__all__ = ["LEAST", "VARIABLE", "Cache", "drawn_once"]
