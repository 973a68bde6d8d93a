"""``python -m asyncdp_sim`` is the same as ``asyncdp``."""

from asyncdp_sim.cli import main

if __name__ == "__main__":
    main()
