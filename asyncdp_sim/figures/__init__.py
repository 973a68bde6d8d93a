"""Pictures of results: reads result and sweep directories, draws, and never simulates.

``draw_all(directory)`` draws everything that applies into ``<directory>/figures``; from the shell,
``asyncdp plot DIR``. Nowhere else is matplotlib imported.
"""

from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.results import Result, Sweep, open_directory
