"""``asyncdp``, which is the same as ``python -m asyncdp_sim``."""

import signal


def main() -> None:
    """Run the command line; while it is loaded, Ctrl-C ends it as the system does: silently."""
    hearing = signal.getsignal(signal.SIGINT)
    if hearing is signal.default_int_handler:  # else somebody wants it to be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from asyncdp_sim import cli

    signal.signal(signal.SIGINT, hearing)
    cli.main()


if __name__ == "__main__":
    main()
