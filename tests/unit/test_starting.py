"""Starts of programs: while modules are read Ctrl-C is the system's; then all is as before."""

import signal
from typing import Any

import pytest

from asyncdp_sim.core.starting import loading


@pytest.mark.parametrize("before", [signal.default_int_handler, signal.SIG_IGN])
def test_while_modules_are_read(before: Any) -> None:
    kept = signal.signal(signal.SIGINT, before)
    try:
        with loading():
            ignored = before is signal.SIG_IGN
            now = signal.SIG_IGN if ignored else signal.SIG_DFL
            assert signal.getsignal(signal.SIGINT) is now
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, kept)


def test_where_a_module_cannot_be_read_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(ImportError), loading():
            raise ImportError("damaged")
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, before)
