"""Studies of single entries: pictures that answer the entry's own question, beyond the common ones.

Each is drawn of a finished sweep and added to its figures. What it draws with is imported by it
alone: most entries have none, and all of them take a tenth of a second to import.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from asyncdp_sim.core.errors import ResultError

STUDIES: Mapping[str, tuple[str, str, str]] = {
    "owner-learner-collude": ("scenarios.collusion", "collusion", "collusion"),
}
"""By the entry's name: the module and the function that draw, and the name of the captions.

The function takes the sweep. It returns a picture of all cells, or pictures, each with the results
that it shows.
"""


def study(name: str, directory: Path) -> tuple[list[Path], list[str]]:
    """Draw an entry's study; return where, and notes on what its sweep does not allow."""
    if name not in STUDIES:
        return [], []
    from asyncdp_sim.figures.draw import add
    from asyncdp_sim.results import Sweep

    module, function, captions = STUDIES[name]
    try:
        sweep = Sweep.read(directory)
        drawn = getattr(import_module(module), function)(sweep)
        shown = drawn if isinstance(drawn, list) else [(drawn, [c.result for c in sweep.cells])]
        return add(directory, shown, captions), []
    except ResultError as error:
        return [], [f"the study of {name}: {line}" for line in error.lines()]
