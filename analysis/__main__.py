"""``python -m analysis DIR…``: draw the figures of result or sweep directories."""

import sys
from pathlib import Path

from analysis.draw import draw_all
from asyncdp_sim.errors import Fault, InputError


def main(arguments: list[str]) -> int:
    """Draw every directory named; return the exit code (0 done, 2 the input is wrong)."""
    try:
        if len(arguments) == 0:
            allowed = "allowed are result or sweep directories: python -m analysis DIR"
            raise InputError([Fault("", "no directory", allowed)])
        for name in arguments:
            drawing = draw_all(Path(name))
            print("\n".join(str(path) for path in drawing.pictures))
            for note in drawing.notes:
                print(f"{name}: not drawn: {note}", file=sys.stderr)
    except InputError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
