"""``python -m scenarios``: the command of :mod:`scenarios.command`."""

import sys

from asyncdp_sim.core.starting import loading


def main() -> int:
    """Run the command line."""
    with loading():
        from scenarios import command

    return command.main()


if __name__ == "__main__":
    sys.exit(main())
