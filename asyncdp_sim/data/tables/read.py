"""Reading a table from a file, with every failure said in one line."""

import csv
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.data.dataset import Source
from asyncdp_sim.data.tables.csv_texts import MISSING, OpenQuoteError, read_csv
from asyncdp_sim.data.tables.file_form import (
    OPEN_QUOTE,
    PLAIN,
    FileForm,
    form_of,
    misplaced,
    require_distinct,
)
from asyncdp_sim.data.tables.file_form import column_names as header
from asyncdp_sim.data.tables.limits import BYTES, TooMuch, opened, require_at_most, require_cells
from asyncdp_sim.errors import DataError, Fault

if TYPE_CHECKING:
    import pandas as pd

_ZIP = b"PK\x03\x04"
KINDS = "allowed is a CSV (.csv, UTF-8), a gzipped CSV (.csv.gz) or a Parquet file (.parquet)"
_PIECE_ROWS = 1_024
_NO_TEXT = "the file is not text of its charset"


def read_table(
    path: str,
    *,
    wanted: Callable[[str], bool] | None = None,
    form: FileForm = PLAIN,
    owner: str | None = None,
    unused: Collection[str] = (),
    missing: Collection[str] = MISSING,
) -> "pd.DataFrame":
    """Read a CSV, gzipped CSV or Parquet file.

    The cells of a CSV are texts, as written, held as categories; those of a Parquet file have the
    types of its columns.

    Parameters
    ----------
    path : str
        The file; names that end in ``.parquet`` are read as Parquet, all others as CSV.
    wanted : callable, optional
        Tells by its name whether a column is kept; all are where it is absent.
    form : FileForm
        Of a CSV.
    owner : str, optional
        The column of a CSV whose cells are names, whatever they look like.
    unused : collection of str
        Columns of a Parquet file whose cells may hold several values.
    missing : collection of str
        Words of a CSV that mean a missing cell, in other columns.

    Raises
    ------
    DataError
        On ``data.path``: missing, a directory, unreadable, empty, not text of its charset, not what
        its name says, without columns, with two of one name, or with several values in a cell.
    """
    names = column_names(path, form=form)
    require_distinct(path, names)
    with _said_of(path, form):
        if path.endswith(".parquet"):
            _require_single(path, wanted, unused)
            _require_readable(path, wanted)
            frame = _read_parquet(path, wanted)
        else:
            frame = read_csv(path, form=form, wanted=wanted, owner=owner, missing=missing)
    if len(frame.columns) == 0:
        raise _unreadable(path, "the file has no columns")
    if len(frame) == 0:
        raise _unreadable(path, "the file has no rows")
    return frame.reset_index(drop=True)


def column_names(path: str, *, form: FileForm = PLAIN) -> tuple[str, ...]:
    """Return the names of a file's columns, without reading its rows.

    Raises
    ------
    DataError
        On ``data.path``, as :func:`read_table`.
    """
    _require_file(path)
    with _said_of(path, form):
        if path.endswith(".parquet"):
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names)
        return tuple(header(path, form))


def found_form(path: str, public: int | None, *declared: Any) -> FileForm:
    """Return the form of a file by :func:`~asyncdp_sim.data.tables.file_form.form_of`.

    Raises
    ------
    DataError
        On ``data.path``, if it cannot be read.
    """
    _require_file(path)
    with _said_of(path, PLAIN):
        return form_of(path, public, *declared)


@contextmanager
def _said_of(path: str, form: FileForm) -> Iterator[None]:
    """Say whatever reading fails of in one line."""
    import pyarrow as pa

    try:
        yield
    except TooMuch as error:
        raise _too_much(path, error) from None
    except OpenQuoteError:
        raise _unreadable(path, OPEN_QUOTE) from None
    except pa.ArrowInvalid as error:
        where = None if path.endswith(".parquet") else misplaced(path, form)
        raise _unreadable(path, where or _cannot_be_read(error)) from None
    except UnicodeDecodeError:
        raise _unreadable(path, misplaced(path, form) or _NO_TEXT) from None
    except (OSError, ValueError, EOFError, csv.Error, zlib.error) as error:
        raise _unreadable(path, _cannot_be_read(error)) from None


def _cannot_be_read(error: Exception) -> str:
    reason = str(error).splitlines()[0] if str(error) != "" else type(error).__name__
    return f"the file cannot be read ({reason[:120]})"


def _read_parquet(path: str, wanted: Callable[[str], bool] | None) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow.parquet as pq

    columns = None if wanted is None else [name for name in column_names(path) if wanted(name)]
    # Whole numbers with a gap stay whole: as fractions, long ids would be one.
    found: pd.DataFrame = pq.read_table(path, columns=columns).to_pandas(integer_object_nulls=True)
    return found


def _require_readable(path: str, wanted: Callable[[str], bool] | None) -> None:
    """Raise :class:`TooMuch` where a Parquet file unpacks to more than is read.

    Texts are unpacked for that piece by piece; how much the others take is known before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
        kept = [each for each in schema if wanted is None or wanted(each.name)]
        require_cells(rows, len(kept))
        fixed = [each for each in kept if pa.types.is_primitive(each.type)]
        taken = rows * sum(each.type.bit_width for each in fixed) // 8
        require_at_most(BYTES, taken)
        texts = [each.name for each in kept if each not in fixed]
        for piece in file.iter_batches(_PIECE_ROWS, columns=texts) if len(texts) > 0 else ():
            taken += piece.nbytes
            require_at_most(BYTES, taken)


def _require_single(
    path: str, wanted: Callable[[str], bool] | None, unused: Collection[str]
) -> None:
    """Refuse columns of a Parquet file whose cells hold lists or tables, as its schema says.

    Raises
    ------
    DataError
        On ``data.path``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    faults = [
        Fault(
            "data.path",
            f"{path!r}, whose column {field.name!r} holds several values in a cell ({field.type})",
            "allowed is one; data.drop leaves a column out",
        )
        for field in pq.read_schema(path)
        if pa.types.is_nested(field.type)
        and field.name not in unused
        and (wanted is None or wanted(field.name))
    ]
    if len(faults) > 0:
        raise DataError(faults)


def first_line(path: str) -> str:
    """Return the first line of a CSV or gzipped CSV, without its end (empty for Parquet).

    Raises
    ------
    DataError
        On ``data.path``, as :func:`read_table`.
    """
    _require_file(path)
    if path.endswith(".parquet"):
        return ""
    try:
        with opened(path) as file:
            return str(file.readline(1_000_000).decode("utf-8-sig").rstrip("\r\n"))
    except UnicodeDecodeError:
        raise _unreadable(path, "row 0 is not utf-8 text") from None
    except TooMuch as error:
        raise _too_much(path, error) from None
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
        with file.open("rb") as opened:
            if opened.read(len(_ZIP)) == _ZIP:
                raise _unreadable(path, "a ZIP archive, as Excel's .xlsx: save a sheet as CSV")
    except OSError as error:  # a folder that may not be entered; a name that is too long
        raise _unreadable(path, f"the file cannot be read ({error.strerror})") from None
    except ValueError as error:  # a null character
        raise _unreadable(path, f"the file cannot be read ({error})") from None


def _too_much(path: str, error: TooMuch) -> DataError:
    return DataError([Fault("data.path", repr(path), str(error))])


def _unreadable(path: str, reason: str) -> DataError:
    return DataError([Fault("data.path", repr(path), f"{reason}; {KINDS}")])
