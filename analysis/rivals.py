"""``python -m analysis.rivals DIR…``: sweep directories drawn into the figures of the first."""

import sys
from pathlib import Path

from asyncdp_sim.errors import Fault, InputError
from asyncdp_sim.figures.kit.picture import caption, save
from asyncdp_sim.figures.sweeps.rivals import ASKED
from asyncdp_sim.results import Sweep


def main(arguments: list[str]) -> int:
    """Draw sweep directories together; return the exit code (0 done, 2 the input is wrong)."""
    try:
        if len(arguments) == 0:
            allowed = "allowed are sweep directories: python -m analysis.rivals DIR"
            raise InputError([Fault("", "no directory", allowed)])
        sweeps = [Sweep.read(Path(name)) for name in arguments]
        cells = tuple(cell for sweep in sweeps for cell in sweep.cells)
        paths = tuple(dict.fromkeys(path for sweep in sweeps for path in sweep.paths))
        picture = ASKED.picture(Sweep(sweeps[0].directory, paths, cells, ()))
        print(save(picture, sweeps[0].directory / "figures"))
        print(caption(1, picture, [cell.result for cell in cells]))
    except InputError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
