"""Starts and ends of programs: threads of linear algebra, imports, and signals."""

import codecs
import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


TO_START, TO_RUN = 192 << 20, 640 << 20
"""Bytes of addresses, measured, that NumPy alone reserves, and that SciPy and Arrow do besides.
With less OpenBLAS asks again and again for ever, ends the program, or interrupts it."""


def one_thread() -> AbstractContextManager[object]:
    """Compute with one BLAS thread from now on, or, in a ``with`` statement, inside of it.

    So bits do not depend on the number of cores. SciPy's BLAS is loaded first, unless it will have
    one thread (:func:`start_with_one_thread`): it would come with threads of its own.
    """
    if os.environ.get(_THREADS) != "1":
        import_module("scipy.special")
    limits: AbstractContextManager[object] = _libraries(len(sys.modules)).limit(
        limits=1, user_api="blas"
    )
    return limits


_THREADS = "OPENBLAS_NUM_THREADS"


def start_with_one_thread() -> None:
    """Let OpenBLAS begin with one thread in this program, unless its user has said another number.

    A command that needs no SciPy then does not load it, which takes a quarter of a second.
    """
    os.environ.setdefault(_THREADS, "1")


@lru_cache(maxsize=1)
def _libraries(_: int) -> "ThreadpoolController":
    """Return the libraries of linear algebra that so many imported modules have loaded.

    Looking for them takes milliseconds, and only an import brings new ones.
    """
    from threadpoolctl import ThreadpoolController  # the command line starts without it

    return ThreadpoolController()


def require_address_space(least: int) -> None:
    """Refuse to go on where ``ulimit -v`` leaves too little for the libraries.

    Parameters
    ----------
    least : int
        Bytes that this process, and so each of its workers, must be allowed.

    Raises
    ------
    MachineError
        If it is allowed less.
    """
    if sys.platform != "win32":  # which has no such limit
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            return
        if most < least:
            from asyncdp_sim.core.errors import MachineError

            problem = f"address space is limited to {most >> 20} MiB (ulimit -v)"
            raise MachineError(f"{problem}, and this takes {least >> 20}")
        if least == TO_RUN:  # before Arrow, which reserves all that it can get
            import_module("scipy.special")


@contextmanager
def loading() -> Iterator[None]:
    """While a program imports its modules, let Ctrl-C end it as the system does: silently."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else Ctrl-C is to be ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def ready_streams() -> None:
    """Make standard output and error take whatever is printed.

    A stream that is closed takes it and keeps nothing. A letter that a stream's encoding lacks, as
    Windows' has no ψ, is spelled.
    """
    codecs.register_error("spelled", _spelled)
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="spelled")


def require_working_directory() -> None:
    """Ask that the directory is there in which the program was started.

    Raises
    ------
    InputError
        If it was deleted meanwhile: no file can be named from there.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        from asyncdp_sim.core.errors import Fault, InputError  # all imports come after `loading`

        remedy = "allowed is one that exists: change to it first (cd)"
        fault = Fault("", "a working directory that was deleted", remedy)
        raise InputError([fault], "asyncdp") from None


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Return a replacement for letters that cannot be encoded, and the next position."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(letter: str) -> str:
    """Return a letter in ASCII."""
    greek = re.fullmatch("GREEK (SMALL|CAPITAL) LETTER (.+)", unicodedata.name(letter, ""))
    if greek is not None:
        name = {"LAMDA": "LAMBDA"}.get(greek[2], greek[2])
        return name.lower() if greek[1] == "SMALL" else name.capitalize()
    alike = unicodedata.normalize("NFKD", _MARKS.get(letter, letter)).encode("ascii", "ignore")
    return alike.decode() or letter.encode("ascii", "backslashreplace").decode()


_MARKS = {
    "−": "-", "–": "-", "⁻": "-", "±": "+/-", "×": "x", "·": "*", "≥": ">=", "≤": "<=", "≠": "!=",
    "≈": "~", "∞": "infinity", "√": "sqrt ", "‖": "||", "∈": "in", "→": "->", "←": "<-",
    "½": "1/2", "¼": "1/4", "⅓": "1/3", "²": "^2", "³": "^3", "∇": "grad ", "∂": "d", "̄": "",
}  # fmt: skip
"""Signs in the package's words that are no letters, and how they are typed."""


ENDINGS = ("SIGTERM", "SIGHUP")
"""Signals, where a system has them, that do as Ctrl-C does."""


class Interruption:
    """Remembers which signal came.

    Attributes
    ----------
    code : int
        Exit code of a shell for a program that the signal ends: 128 plus its number.
    """

    def __init__(self) -> None:
        self.code = 128 + signal.SIGINT

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        """Do as Ctrl-C does, once: what is tidied up then is not interrupted again."""
        signal.signal(number, signal.SIG_IGN)
        self.code = 128 + number
        raise KeyboardInterrupt


@contextmanager
def heard() -> Iterator[Interruption]:
    """Let the signals do as Ctrl-C does inside, unless somebody wants them to be ignored."""
    interruption = Interruption()
    values = [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)]
    changed = [number for number in values if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, interruption)
    try:
        yield interruption
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
