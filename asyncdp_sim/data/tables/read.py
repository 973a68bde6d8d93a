"""Reading a table from a file, with every failure said in one line."""

import csv
import hashlib
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.dataset import Source
from asyncdp_sim.data.tables import file_form
from asyncdp_sim.data.tables.csv_texts import MISSING, OpenQuoteError, read_csv
from asyncdp_sim.data.tables.file_form import PLAIN, FileForm
from asyncdp_sim.data.tables.limits import BYTES, TooMuch, require_at_most, require_cells

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
    file_form.require_distinct(path, names)
    with _said_of(path, form):
        if path.endswith(".parquet"):
            _require_single(path, wanted, unused)
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
    with _said_of(path, form):
        if path.endswith(".parquet"):
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names)
        return tuple(file_form.column_names(path, form))


def found_form(path: str, public: int | None, *declared: Any) -> FileForm:
    """Return the form of a file by :func:`~asyncdp_sim.data.tables.file_form.form_of`.

    Raises
    ------
    DataError
        On ``data.path``, if it cannot be read.
    """
    with _said_of(path, PLAIN):
        return file_form.form_of(path, public, *declared)


@contextmanager
def _said_of(path: str, form: FileForm) -> Iterator[None]:
    """Say whatever reading fails of in one line, and first whether there is a file to read."""
    import pyarrow as pa

    try:
        _require_file(path)
        yield
    except TooMuch as error:
        raise DataError([Fault("data.path", repr(path), str(error))]) from None
    except OpenQuoteError:
        raise _unreadable(path, file_form.OPEN_QUOTE) from None
    except pa.ArrowInvalid as error:
        where = None if path.endswith(".parquet") else file_form.misplaced(path, form)
        raise _unreadable(path, where or _cannot_be_read(error)) from None
    except UnicodeDecodeError:
        raise _unreadable(path, file_form.misplaced(path, form) or _NO_TEXT) from None
    except (OSError, ValueError, EOFError, csv.Error, zlib.error) as error:
        raise _unreadable(path, _cannot_be_read(error)) from None


def _cannot_be_read(error: Exception) -> str:
    message = getattr(error, "strerror", None) or str(error) or type(error).__name__
    reason = message.splitlines()[0]
    return f"the file cannot be read ({reason[:120]})"


def _read_parquet(path: str, wanted: Callable[[str], bool] | None) -> "pd.DataFrame":
    """Return a Parquet file's columns; raise :class:`TooMuch` where it unpacks to too much."""
    import pandas as pd
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if wanted is None or wanted(name)]
        require_cells(file.metadata.num_rows, len(names))
        taken = 0
        # The first pass keeps nothing: texts may unpack to far more than the file has bytes.
        for piece in file.iter_batches(_PIECE_ROWS, columns=names):
            taken += piece.nbytes
            require_at_most(BYTES, taken)
    # Whole numbers with a gap stay whole: as fractions, long ids would be one.
    frame: pd.DataFrame = pq.read_table(path, columns=names).to_pandas(integer_object_nulls=True)
    return frame


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


def source_of(path: str) -> Source:
    """Return the file's name and the SHA-256 digest of its bytes.

    Raises
    ------
    DataError
        On ``data.path`` if it cannot be read.
    """
    with _said_of(path, PLAIN), Path(path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Source(Path(path).name, digest)


def _require_file(path: str) -> None:
    file = Path(path)
    if file.is_dir():
        raise _unreadable(path, "this is a directory")
    if not file.exists():
        raise _unreadable(path, "there is no such file")
    if file.stat().st_size == 0:
        raise _unreadable(path, "the file is empty")
    with file.open("rb") as begun:
        if begun.read(len(_ZIP)) == _ZIP:
            raise _unreadable(path, "a ZIP archive, as Excel's .xlsx: save a sheet as CSV")


def _unreadable(path: str, reason: str) -> DataError:
    return DataError([Fault("data.path", repr(path), f"{reason}; {KINDS}")])
