"""``asyncdp``, which is the same as ``python -m asyncdp_sim``."""

import gc

from asyncdp_sim.core.starting import loading, start_with_one_thread


def main() -> None:
    """Run the command line."""
    start_with_one_thread()
    with loading():
        from asyncdp_sim.cli import main as run_command  # not by the package, which takes NumPy

    try:
        run_command()
    finally:
        gc.freeze()  # else Python, as it ends, looks for garbage in all that was imported


if __name__ == "__main__":
    main()
