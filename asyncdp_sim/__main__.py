"""``asyncdp``, which is the same as ``python -m asyncdp_sim``."""

from asyncdp_sim.core.starting import loading, start_with_one_thread


def main() -> None:
    """Run the command line."""
    start_with_one_thread()
    with loading():
        from asyncdp_sim.cli import main as run_command  # not by the package, which takes NumPy

    run_command()


if __name__ == "__main__":
    main()
