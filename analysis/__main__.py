"""``python -m analysis PATH…``: draw result or sweep directories, or forecasts in JSON."""

import sys
from pathlib import Path

from asyncdp_sim.errors import Fault, InputError
from asyncdp_sim.figures.draw import draw_all
from asyncdp_sim.figures.kit.picture import save
from asyncdp_sim.figures.runs import forecast


def main(arguments: list[str]) -> int:
    """Draw everything named; return the exit code (0 done, 2 the input is wrong)."""
    try:
        if len(arguments) == 0:
            allowed = "allowed are result or sweep directories: python -m analysis DIR"
            raise InputError([Fault("", "no directory", allowed)])
        for name in arguments:
            if name.endswith(".json"):
                print("\n".join(map(str, draw_forecast(Path(name)))))
                continue
            drawing = draw_all(Path(name))
            print("\n".join(str(path) for path in drawing.pictures))
            for note in drawing.notes:
                print(f"{name}: not drawn: {note}", file=sys.stderr)
    except InputError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    return 0


def draw_forecast(file: Path) -> list[Path]:
    """Draw what ``asyncdp forecast --json`` printed into a folder of that name beside the file.

    Raises
    ------
    ResultError
        If the file is no forecast, or nothing can be written.
    """
    return [save(each, file.with_suffix("")) for each in forecast.pictures(forecast.read(file))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
