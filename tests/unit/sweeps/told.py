"""Progress of sweeps, by whole cells."""

from collections.abc import Callable

from asyncdp_sim.core.progress import Progress


def whole_cells(act: Callable[..., object]) -> Progress:
    """Return who acts on each cell that is finished, and not on parts of one."""

    def told(doing: str, done: float, total: float | None) -> None:
        if isinstance(done, int):
            act(doing, done, total)

    return told
