"""The command line of a study: a sweep directory in, the paths of its figures out."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from asyncdp_sim.errors import Fault, InputError


def study_command(
    module: str, study: Callable[[Path], Iterable[Path]], arguments: list[str]
) -> int:
    """Add a study's figures to a sweep directory; return 0 done, 2 the input is wrong.

    Parameters
    ----------
    module : str
        The study's, as ``python -m`` takes it.
    study : callable
        Draws, and returns where the figures are.
    arguments : list of str
        What was given.
    """
    try:
        if len(arguments) != 1:
            allowed = f"allowed is a sweep directory: python -m {module} DIR"
            raise InputError([Fault("", f"{len(arguments)} arguments", allowed)])
        sys.stdout.write("".join(f"{path}\n" for path in study(Path(arguments[0]))))
    except InputError as error:
        sys.stderr.write("\n".join(error.lines()) + "\n")
        return 2
    return 0
