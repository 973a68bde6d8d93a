"""Exceptions of the package, and the one-line form in which bad input is reported."""

import errno
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from asyncdp_sim.core.words import agreed


@dataclass(frozen=True)
class Fault:
    """One thing wrong with the input, said in one line.

    Attributes
    ----------
    key : str
        Dotted path of the offending field, such as ``privacy.epsilon``; empty for a whole file.
    given : str
        What stood there.
    allowed : str
        What may stand there, or what to do.
    """

    key: str
    given: str
    allowed: str

    def __str__(self) -> str:
        text = agreed(f"given {self.given}; {self.allowed}")
        line = " ".join(f"{self.key}: {text}".split() if self.key else text.split())
        # a terminal would obey some letters, and a stream could not hold others
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)

    def under(self, prefix: str) -> "Fault":
        """Return the same fault with its key path below ``prefix``."""
        return replace(self, key=".".join(part for part in (prefix, self.key) if part))


class AsyncDPError(Exception):
    """Base class of all exceptions of this package.

    Examples
    --------
    >>> issubclass(ad.InputError, ad.AsyncDPError)
    True
    """


class AsyncDPWarning(UserWarning):
    """Warning about a result; the command line prints it as a note.

    ``result.warnings`` holds them too; ``warnings.filterwarnings`` hides them.

    Examples
    --------
    >>> import warnings
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ad.AsyncDPWarning)
    ...     result = ad.run(scenario)
    >>> [str(each.message) for each in caught] == list(result.warnings)
    True
    """


def warn(notes: Iterable[str]) -> None:
    """Warn the caller of the function that calls this, once of each note."""
    for note in dict.fromkeys(notes):
        warnings.warn(note, AsyncDPWarning, stacklevel=3)


class InputError(AsyncDPError):
    """Wrong input: one line per fault, with file, key, the given and the allowed value.

    Parameters
    ----------
    faults : iterable of Fault
        All faults, in the order found; at least one.
    file : str, optional
        Source of the input.

    Examples
    --------
    >>> try:
    ...     ad.open("nowhere")
    ... except ad.InputError as error:
    ...     error.lines()
    ['nowhere: given no readable manifest.json; allowed is a result of asyncdp run or sweep']
    """

    def __init__(self, faults: Iterable[Fault], file: str | None = None) -> None:
        self.faults = tuple(faults)
        self.file = file
        super().__init__("\n".join(self.lines()))

    def lines(self) -> list[str]:
        """Return one line per fault, each starting with the file where there is one."""
        prefix = "" if self.file is None else f"{self.file}: "
        return [f"{prefix}{fault}" for fault in self.faults]

    def __reduce__(self) -> tuple[type["InputError"], tuple[tuple[Fault, ...], str | None]]:
        """Pickle by faults and file, so that a worker process can raise it to its parent."""
        return type(self), (self.faults, self.file)


@contextmanager
def blaming(file: object) -> Iterator[None]:
    """Name the file in input errors from within that name none yet."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        raise type(error)(error.faults, str(file)) from None


class SpecError(InputError):
    """A scenario, or a part of one, cannot be built from the given values.

    Examples
    --------
    >>> try:
    ...     ad.load("lending-sound").replace(privacy={"epsilon": -1})
    ... except ad.SpecError as error:
    ...     error.faults[0].key
    'privacy.epsilon'
    """


class DataError(InputError):
    """A data file is missing, unreadable, or not what the scenario says it is.

    Examples
    --------
    >>> scenario = ad.load("lending-sound").replace(data={"path": "loan.csv"})
    >>> try:
    ...     ad.run(scenario)
    ... except ad.DataError as error:
    ...     error.faults[0].key
    'data.path'
    """


class ResultError(InputError):
    """A result directory exists already, or is not one, or is damaged.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})
    >>> result = ad.run(scenario)
    >>> try:
    ...     result.events
    ... except ad.ResultError as error:
    ...     error.faults[0].allowed
    'ad.run(…, events=True) keeps them'
    """


EXHAUSTED = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.EAGAIN,
    }
)
"""What the system says where disk, memory, processes or open files have run out, or a file is as
large as it may become (``ulimit -f``)."""

_NO_ROOM = ("failed to map segment", "can't start new thread")
"""What the loader of libraries and Python say of that in errors without a number."""


class MachineError(AsyncDPError):
    """A worker was killed, or memory, disk or open files ran out.

    Finished parts are kept, and the same call continues from there.

    Examples
    --------
    >>> str(ad.MachineError("the disk is full")).partition(";")[0]
    'the machine gave way: the disk is full'
    """

    def __init__(self, what: str) -> None:
        self.what = what
        kept = "finished work is kept; run the same command again to continue"
        super().__init__(f"{self.brief}; {kept}")

    @property
    def brief(self) -> str:
        """What happened, for commands that keep no work."""
        return f"the machine gave way: {self.what}"

    def __reduce__(self) -> tuple[type["MachineError"], tuple[str]]:
        """Pickle by what happened, so that a worker process can raise it to its parent."""
        return type(self), (self.what,)


def gave_way(error: BaseException) -> MachineError | None:
    """Return an error as one of the machine, whatever raised it; None where it is none."""
    match error:
        case MachineError():
            return error
        case MemoryError():
            return MachineError("more than fits in memory (owners.records or run can be lowered)")
        case ImportError() | RuntimeError():
            text = [item for item in _NO_ROOM if item in str(error)]
            return MachineError(f"no room in memory ({text[0]})") if len(text) > 0 else None
        case OSError() if error.errno in EXHAUSTED:
            return MachineError(str(error.strerror).lower())
    return None


class StreamError(AsyncDPError):
    """A random stream was asked for twice under one name."""


class InvariantError(AsyncDPError):
    """A trace contradicts itself: a bug in the simulator, never in the input."""


class ReplayError(AsyncDPError):
    """A result could not be reproduced: some fingerprints differ.

    Examples
    --------
    >>> from pathlib import Path
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 5, "replicates": 1})
    >>> result = ad.run(scenario, out="changed")
    >>> Path("changed/curve.parquet").unlink()
    >>> try:
    ...     ad.replay(result)
    ... except ad.ReplayError as error:
    ...     "curve.parquet" in str(error)
    True
    """
