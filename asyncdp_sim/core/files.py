"""Files: what anybody may have written is read with care, and what is written is on disk."""

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError

DEEPEST = 100
"""So many tables and lists may stand inside each other in the outermost; a scenario has six."""
_NESTED = (dict, list)
"""Types of containers; ``isinstance`` takes a third of the time with a tuple than with a union."""
MOST_VALUES = 500_000
"""Values in a TOML text, by its commas and lines: these take 2 seconds to read."""
MOST_DIGITS = 4300
"""Digits of a whole number, which is as many as Python reads."""
LONG_NUMBER = f"a whole number of more than {MOST_DIGITS:,} digits"
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(
    rf"(?:^|[{{,\[])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST}}}", re.MULTILINE
)
"""A dotted key of too many tables, one in another: the time to read it grows as their square."""
AT_ONCE = 16
"""Files waited for at a time: a disk that writes its journal for one of them writes it for all, so
that 112 take as long as 8 do one by one."""


class TooLongError(ValueError):
    """A TOML text has more than :data:`MOST_VALUES` values and lines."""


def file_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises
    ------
    OSError
        If there is none that can be read. A pipe is none, as its writer may never come.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()


def unreadable(error: OSError | ValueError) -> str:
    """Return in words why a file's bytes, or its text, cannot be read."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "this is a directory"
        case UnicodeDecodeError():
            return "the file is not UTF-8 text"
    reason = getattr(error, "strerror", None)
    return f"the file cannot be read{'' if reason is None else f' ({reason.lower()})'}"


def not_parquet(start: bytes) -> str:
    """Return in words what a file is that cannot be read as Parquet, by its first bytes."""
    is_parquet = start.startswith(b"PAR1")
    return "the Parquet file is damaged or cut off" if is_parquet else "the file is not Parquet"


def is_file(path: Path) -> bool:
    """Return whether a path is a file's; one that no file can have is none."""
    return os.path.isfile(path)


def is_dir(path: Path) -> bool:
    """Return whether a path is a directory's; one that none can have is none."""
    return os.path.isdir(path)


def from_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text.

    Raises
    ------
    ValueError
        If it is not TOML, nested deeper than :data:`DEEPEST`, or too long to read in seconds.
    """
    values = text.count(",") + text.count("\n")
    if values > MOST_VALUES:
        raise TooLongError(f"{values:,} values and lines")
    if _DEEP_KEY.search(text) is not None:
        raise _too_deep()
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except tomllib.TOMLDecodeError as error:
        reason, _, place = str(error).removesuffix(")").partition(" (at ")
        place = place.replace("end of document", "end of the file")
        raise ValueError(f"{place}: {reason[:1].lower()}{reason[1:]}") from None
    except ValueError:  # Python's own, whose words name its functions
        raise ValueError(LONG_NUMBER) from None
    _require_shallow(tables)
    return tables


def from_json(text: str | bytes) -> Any:
    """Return what a JSON text says.

    Raises
    ------
    ValueError
        If it is not JSON, or nested deeper than :data:`DEEPEST`.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        raise ValueError(LONG_NUMBER) from None
    _require_shallow(value)
    return value


def synchronise(files: Iterable[Path | str]) -> None:
    """Wait until files are on disk.

    Raises
    ------
    OSError
        If one cannot be written there.
    """
    every = list(files)
    if len(every) > 1:
        with suppress(RuntimeError):  # no room for another thread: one after the other
            # Threads of its own: those kept for the next call do not exist in a forked child,
            # which would wait for them for ever.
            with ThreadPoolExecutor(AT_ONCE) as threads:
                done = [threads.submit(_synchronise, file) for file in every]
            for future in done:
                future.result()
            return
    for file in every:
        _synchronise(file)


def _require_shallow(value: Any) -> None:
    inside: list[Any] = [value] if isinstance(value, _NESTED) else []
    for _ in range(DEEPEST + 1):
        inside = [part for outer in inside for part in _parts(outer)]
        if len(inside) == 0:
            return
    raise _too_deep()


def _parts(value: Any) -> list[Any]:
    """Return the tables and lists that stand right inside a value."""
    parts = value.values() if isinstance(value, dict) else value
    return [part for part in parts if isinstance(part, _NESTED)]


def _too_deep() -> ValueError:
    return ValueError(f"tables or lists nested more than {DEEPEST} deep")


def _synchronise(file: Path | str) -> None:
    opened = os.open(file, os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def require_new(file: Path, option: str = "--save") -> None:
    """Refuse a place where a file cannot be saved, or would replace something.

    Raises
    ------
    SpecError
        On the option that names it.
    """
    if os.path.lexists(file):
        problem, remedy = f"an existing path, {file}", "allowed is a file that does not exist yet"
    elif not is_dir(file.absolute().parent):
        problem, remedy = str(file), "allowed is a file in a folder that exists"
    else:
        return
    raise SpecError([Fault(option, problem, remedy)])


def write_new(text: str, file: Path, option: str = "--save") -> None:
    """Write a text into a file that does not exist yet.

    Raises
    ------
    SpecError
        On the option that names the file, where it cannot be written.
    """
    require_new(file, option)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        sentence = f"a place that cannot be written ({error.strerror})"
        raise SpecError([Fault(option, sentence, "allowed is one that can")]) from None
