"""``python -m analysis DIR…`` is ``asyncdp plot DIR…``."""

import sys

from asyncdp_sim.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["plot"]
    main()
