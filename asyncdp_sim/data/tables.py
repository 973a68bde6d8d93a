"""Reading a table from a file, with every failure said in one line."""

import hashlib
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from asyncdp_sim.data.dataset import Source
from asyncdp_sim.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd

KINDS = "allowed is a CSV (.csv, UTF-8), a gzipped CSV (.csv.gz) or a Parquet file (.parquet)"


def read_table(path: str, *, skip_first_lines: int = 0) -> "pd.DataFrame":
    """Read a CSV, gzipped CSV or Parquet file.

    Parameters
    ----------
    path : str
        The file; names that end in ``.parquet`` are read as Parquet, all others as CSV.
    skip_first_lines : int
        Lines of a CSV before its header.

    Raises
    ------
    DataError
        On ``data.path``: missing, a directory, unreadable, empty, not UTF-8, not what its name
        says, or without columns.
    """
    import pandas as pd

    _require_file(path)
    try:
        if path.endswith(".parquet"):
            frame = pd.read_parquet(path)
        else:
            with warnings.catch_warnings():
                # A row with more fields than the header has would be cut, with a warning only.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                # Without low_memory=False pandas guesses types piece by piece and warns.
                frame = pd.read_csv(
                    path,
                    skiprows=skip_first_lines,
                    low_memory=False,
                    encoding="utf-8",
                    index_col=False,
                )
    except pd.errors.ParserWarning:
        raise _unreadable(path, "a row has more fields than the header") from None
    except UnicodeDecodeError:
        raise _unreadable(path, "the file is not UTF-8 text") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) != "" else type(error).__name__
        raise _unreadable(path, f"the file cannot be read ({reason[:120]})") from None
    if len(frame.columns) == 0:
        raise _unreadable(path, "the file has no columns")
    if len(frame) == 0:
        raise _unreadable(path, "the file has no rows")
    return frame.reset_index(drop=True)


def first_line(path: str) -> str:
    """Return the first line of a CSV or gzipped CSV, without its end (empty for Parquet).

    Raises
    ------
    DataError
        On ``data.path``, as :func:`read_table`.
    """
    import gzip

    _require_file(path)
    if path.endswith(".parquet"):
        return ""
    try:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as file:
            return file.readline(1_000_000).decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise _unreadable(path, "the file is not UTF-8 text") from None
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, f"the file cannot be read ({error})") from None


def source_of(path: str) -> Source:
    """Return the file's name and the SHA-256 digest of its bytes.

    Raises
    ------
    DataError
        On ``data.path`` if it cannot be read.
    """
    _require_file(path)
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, f"the file cannot be read ({error.strerror})") from None
    return Source(Path(path).name, digest)


def _require_file(path: str) -> None:
    try:
        file = Path(path)
        if file.is_dir():
            raise _unreadable(path, "this is a directory")
        if not file.exists():
            raise _unreadable(path, "there is no such file")
        if file.stat().st_size == 0:
            raise _unreadable(path, "the file is empty")
    except (OSError, ValueError) as error:  # a folder that may not be entered; a null character
        raise _unreadable(path, f"the file cannot be read ({error})") from None


def _unreadable(path: str, reason: str) -> DataError:
    return DataError([Fault("data.path", repr(path), f"{reason}; {KINDS}")])
