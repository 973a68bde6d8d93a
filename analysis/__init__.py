"""Pictures of results: reads result and sweep directories, draws, and never simulates.

``draw(directory)`` draws everything that applies into ``<directory>/figures``; from the shell,
``python -m analysis DIR``.
"""

from analysis.draw import Drawing, draw, draw_all
from analysis.source import Result, Sweep, open_directory

__all__ = ["Drawing", "Result", "Sweep", "draw", "draw_all", "open_directory"]
