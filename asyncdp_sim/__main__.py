"""``asyncdp``, which is the same as ``python -m asyncdp_sim``."""

from asyncdp_sim.core.starting import loading


def main() -> None:
    """Run the command line."""
    with loading():
        from asyncdp_sim import cli

    cli.main()


if __name__ == "__main__":
    main()
