"""Reading a table from a file, perhaps with public rows from another; failures in one line.

Every cell of a CSV is a text, as it is written, so that no cell decides how another is read; what
it means is decided later, from public rows and the scenario alone. A column is held as the texts
that differ and a place among them for each row.
"""

import csv
import hashlib
import re
import shlex
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.files import not_parquet, unreadable
from asyncdp_sim.data.tables import file_form
from asyncdp_sim.data.tables.amounts import is_unit
from asyncdp_sim.data.tables.file_form import MISSING, PLAIN, FileForm, TooMuch, words_of
from asyncdp_sim.data.tables.rows import FileRows, Source
from asyncdp_sim.data.tables.text_columns import cells, written

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyarrow.csv import InvalidRow

_ZIP, _GZIP, _PARQUET = b"PK\x03\x04", b"\x1f\x8b", b"PAR1\x15"
_ARCHIVES = {_ZIP: "a ZIP archive, as Excel's .xlsx", b"\xd0\xcf\x11\xe0": "an Excel file (.xls)"}
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
        Texts that mean a missing cell, in other columns; of a Parquet file those beside the usual.

    Raises
    ------
    DataError
        On ``data.path``: missing, a directory, unreadable, empty, not text of its charset, not what
        its name says, without columns, with two of one name, or with several values in a cell.
    """
    names = column_names(path, form=form)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if len(twice) > 0:  # of Parquet; those of a CSV are numbered
        problem = f"{path!r}, with several columns {twice[0]!r}"
        raise DataError([Fault("data.path", problem, "allowed is a name of its own for each")])
    with _said_of(path, form):
        if path.endswith(".parquet"):
            _refuse_lists(path, wanted, unused)
            frame = _without(_read_parquet(path, wanted), {*missing} - {*MISSING}, owner)
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


def found_form(path: str, public: int | None, *declared: Any, seed: int | None = None) -> FileForm:
    """Return the form of a file by :func:`~asyncdp_sim.data.tables.file_form.form_of`.

    Raises
    ------
    DataError
        On ``data.path``, if it cannot be read.
    """
    with _said_of(path, PLAIN):
        return file_form.form_of(path, public, seed, *declared)


@contextmanager
def _said_of(path: str, form: FileForm) -> Iterator[None]:
    """Say whatever reading fails of in one line, and first whether there is a file to read."""
    import pyarrow as pa

    try:
        _require_file(path)
        with file_form.long_cells():
            yield
    except TooMuch as error:
        raise DataError([Fault("data.path", repr(path), str(error))]) from None
    except OpenQuoteError:
        raise _unreadable(path, file_form.OPEN_QUOTE) from None
    except pa.ArrowInvalid as error:
        where = None if path.endswith(".parquet") else file_form.misplaced(path, form)
        raise _unreadable(path, where or _cause(path, error)) from None
    except UnicodeDecodeError:
        raise _unreadable(path, file_form.misplaced(path, form) or _NO_TEXT) from None
    except (OSError, ValueError, EOFError, csv.Error, zlib.error) as error:
        raise _unreadable(path, _cause(path, error)) from None


def _cause(path: str, error: Exception) -> str:
    """Return in words why a file is no table of the form that its name ends in."""
    if isinstance(error, OSError) and error.errno is not None:
        return unreadable(error)
    with Path(path).open("rb") as file:
        start = file.read(len(_ZIP))
    if path.endswith(".parquet"):
        return not_parquet(start)
    if path.endswith(".gz") and isinstance(error, OSError | EOFError | zlib.error):
        packed = start.startswith(_GZIP)
        return "the gzipped file is damaged or cut off" if packed else "the file is not gzipped"
    return "the file has no header with rows below it"


def _read_parquet(path: str, wanted: Callable[[str], bool] | None) -> "pd.DataFrame":
    """Return a Parquet file's columns; raise :class:`TooMuch` where it unpacks to too much."""
    import pandas as pd
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if wanted is None or wanted(name)]
        file_form.require_cells(file.metadata.num_rows, len(names))
        taken = 0
        # The first pass keeps nothing: texts may unpack to far more than the file has bytes.
        for piece in file.iter_batches(_PIECE_ROWS, columns=names):
            taken += piece.nbytes
            file_form.require_at_most(file_form.BYTES, taken)
    # Whole numbers with a gap stay whole: as fractions, long ids would be one.
    frame: pd.DataFrame = pq.read_table(path, columns=names).to_pandas(integer_object_nulls=True)
    indexed = [name for name in frame.index.names if name in names]  # as of df.set_index("bank")
    return frame.reset_index(level=indexed)[names] if len(indexed) > 0 else frame


def _without(frame: "pd.DataFrame", words: set[str], owner: str | None) -> "pd.DataFrame":
    """Return the columns of a Parquet file without cells that say that they are missing."""
    for name in frame.columns.drop(owner, errors="ignore") if len(words) > 0 else ():
        lowered = words_of(words, name)
        gaps = [written(value).strip().lower() in lowered for value in frame[name]]
        frame[name] = frame[name].mask(np.array(gaps, dtype=np.bool_))
    return frame


def _refuse_lists(path: str, wanted: Callable[[str], bool] | None, unused: Collection[str]) -> None:
    """Refuse columns of a Parquet file whose cells hold lists or tables, as its schema says.

    Raises
    ------
    DataError
        On ``data.path``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    faults = list[Fault]()
    for field in pq.read_schema(path):
        used = field.name not in unused and (wanted is None or wanted(field.name))
        if used and pa.types.is_nested(field.type):
            holds = f"holds several values in a cell ({field.type})"
            drop = f"data.drop (of asyncdp data: --drop {shlex.quote(field.name)})"
            rule = f"allowed is one; {drop} leaves a column out"
            faults.append(
                Fault("data.path", f"{path!r}, whose column {field.name!r} {holds}", rule)
            )
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
        start = begun.read(len(_PARQUET))
    for mark, ending in ((_PARQUET, ".parquet"), (_GZIP, ".gz")):
        if start.startswith(mark) and not path.endswith(ending):
            raise _unreadable(path, f"by its first bytes its name would end in {ending}: rename it")
    called = _ARCHIVES.get(start[: len(_ZIP)])
    if called is not None:
        remedy = "save a sheet as CSV (in Excel: File, Save As, CSV UTF-8)"
        raise _unreadable(path, f"{called}: {remedy}")


def _unreadable(path: str, reason: str) -> DataError:
    return DataError([Fault("data.path", repr(path), f"{reason}; {KINDS}")])


def public_form(public_path: str, found: FileForm, *declared: Any) -> FileForm:
    """Return the form of a table whose public rows are apart, as they show it.

    The private file's own header tells what stands between its cells, and how its bytes are text.
    """
    with _of_public_rows():
        return replace(found, decimal=found_form(public_path, None, *declared).decimal)


@contextmanager
def _of_public_rows() -> Iterator[None]:
    """Say of what is wrong with ``data.path`` that it is of ``data.public_path``."""
    try:
        yield
    except DataError as error:
        faults = [replace(fault, key="data.public_path") for fault in error.faults]
        raise DataError(faults) from None


def with_public_rows(
    path: str,
    public_path: str | None,
    public_records: int,
    form: FileForm,
    spare: Collection[str | None] = (),
    owner: str | None = None,
    unused: Collection[str] = (),
    missing: Collection[str] = MISSING,
    seed: int | None = None,
) -> tuple["pd.DataFrame", FileRows]:
    """Return all rows, public ones last, which may lack columns that are spared; and their places.

    Of the column ``owner`` all texts are names, of others those of ``missing`` are none; columns in
    ``unused`` may hold lists. With a ``seed`` public rows are chosen at random among all.

    Raises
    ------
    DataError
        On ``data.path``; on ``data.public_path``, whose file cannot be read, or lacks columns or
        rows.
    """
    options: Any = {"owner": owner, "unused": unused, "missing": missing}
    if public_path is None:
        frame = read_table(path, form=form, **options)
        frame = frame.iloc[public_last(len(frame), public_records, seed)]
        return frame.reset_index(drop=True), FileRows.from_frame(path, frame)
    with _of_public_rows():
        shown = found_form(public_path, None, None, form.decimal)
        if shown.guess != b"" and form.charset not in ("utf-8", "utf-16"):  # as is declared
            shown = found_form(public_path, None, None, form.decimal, form.charset)
        public = read_table(public_path, form=shown, **options)
    if len(public) < public_records:
        rule = f"allowed is at most {len(public)}, the number of rows of data.public_path"
        raise DataError([Fault("data.public_records", str(public_records), rule)])
    names = [name for name in column_names(path, form=form) if name in public.columns]
    public = public[names].iloc[public_last(len(public), public_records, seed)].tail(public_records)
    private = read_table(path, form=form, **options)
    lacking = [name for name in private.columns if name not in {*names, *spare}]
    if len(lacking) > 0:
        problem = f"{public_path!r}, a table without a column {lacking[0]!r}"
        rule = "allowed is a table with the columns of data.path that are used"
        raise DataError([Fault("data.public_path", problem, rule)])
    places = (FileRows.from_frame(*file).parts for file in ((path, private), (public_path, public)))
    return _joined(private, public), FileRows(tuple(chain(*places)))


def public_last(rows: int, public: int, seed: int | None) -> Ints:
    """Return all rows with the public ones last: the last ones, or as many chosen at random."""
    if seed is None:
        return np.arange(rows)
    chosen = np.zeros(rows, dtype=np.bool_)
    chosen[file_form.chosen_rows(rows, public, seed)] = True
    return np.concatenate([np.flatnonzero(~chosen), np.flatnonzero(chosen)])


def require_one_header(
    path: str,
    public_path: str | None,
    frame: "pd.DataFrame",
    public: int,
    form: FileForm,
    seed: int | None = None,
) -> None:
    """Refuse a CSV with a second header: below the first, or among the public rows.

    A row below the header is one where it has names and public rows have numbers.

    Raises
    ------
    DataError
        On ``data.path``, or on ``data.public_path`` where public rows are of it.
    """
    if path.endswith(".parquet") or public == 0 or len(frame) <= public:
        return
    at = int(np.argmin(public_last(len(frame), public, seed)))  # the file's first row
    shown = np.arange(len(frame) - public, len(frame))
    shown = shown[shown != at]
    read = {name: cells(frame[name].iloc[shown], form.decimal) for name in frame.columns}
    numbers = [name for name, (x, none) in read.items() if not none.any() and np.isfinite(x).any()]
    first = [frame[name].iloc[[at]] for name in numbers]
    names = [str(cell.iloc[0]) for cell in first if cells(cell, form.decimal)[1].all()]
    words = [name.strip() for name in names]
    units = len(names) > 0 and all(is_unit(w) or re.fullmatch(r"[\[(].*[\])]", w) for w in words)
    if len(names) == len(numbers) and (units or 1 < len(names) == len(set(names))):
        called = "units" if units else "names"
        shown_names = ", ".join(names[:3])
        problem = f"{path!r}, whose row 1 holds {called} ({shown_names}) in place of numbers"
        raise DataError([Fault("data.path", problem, "allowed is one header: delete that row")])
    same = [frame[name].iloc[shown].isin([name]).to_numpy(np.bool_) for name in frame.columns]
    again = np.flatnonzero(np.sum(same, axis=0) > len(same) / 2)
    if len(again) > 0 and len(same) > 1:
        key, file = ("data.public_path", public_path) if public_path else ("data.path", path)
        problem = f"{file!r}, whose header stands again in public rows: {len(again)}"
        raise DataError([Fault(key, problem, "allowed is one header: delete the others")])


def _joined(private: "pd.DataFrame", public: "pd.DataFrame") -> "pd.DataFrame":
    """Return rows one after another; columns of texts stay categories."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    columns: dict[Any, Any] = {}
    for name in private.columns:
        if name not in public.columns:
            columns[name] = private[name].reindex(range(len(private) + len(public)))
            continue
        parts = [private[name], public[name]]
        if all(part.dtype == "category" for part in parts):
            columns[name] = union_categoricals(parts)
        else:
            held = [part.astype("str") if part.dtype == "category" else part for part in parts]
            columns[name] = pd.concat(held, ignore_index=True)
    return pd.DataFrame(columns, copy=False)


BLOCK = 2**25
"""Bytes that are read at a time, two lines of the greatest length."""
_DECODED = {"utf-8": "utf-8-sig"}
"""By which bytes are decoded before Arrow sees them: its own UTF-8 would meet wrong ones in a row
that is handed back, and print of them."""


class OpenQuoteError(ValueError):
    """A quotation mark is never closed, so that what follows it is one cell."""


def read_csv(
    path: str,
    *,
    form: FileForm,
    wanted: Callable[[str], bool] | None = None,
    owner: str | None = None,
    missing: Collection[str] = MISSING,
) -> "pd.DataFrame":
    """Return the wanted columns of a CSV as categories of texts; all where ``wanted`` is None.

    A cell without a text is missing, and one with a word of ``missing``; of the column ``owner``
    all words are names.

    Raises
    ------
    ValueError
        If there is no header.
    pyarrow.ArrowInvalid
        If a row has more cells than the header, or bytes are not text of the charset.
    OpenQuoteError
        If a quotation mark is open at the end.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

    names = file_form.column_names(path, form)
    if len(names) == 0:
        raise ValueError("there is no header")
    taken = [at for at, name in enumerate(names) if wanted is None or wanted(name)]
    kept: list[list[pa.Array]] = [[] for _ in taken]
    short = _ShortRows(form)
    rows, last = 0, ""
    with (
        file_form.opened(path) as file,
        open_csv(
            file,
            ReadOptions(
                use_threads=False,
                block_size=BLOCK,
                encoding=_DECODED.get(form.charset, form.charset),
                skip_rows=form.skip,
            ),
            ParseOptions(
                delimiter=form.separator, newlines_in_values=True, invalid_row_handler=short.take
            ),
            ConvertOptions(
                column_types=dict.fromkeys(file_form.written_names(path, form), pa.string()),
                strings_can_be_null=False,
            ),
        ) as blocks,
    ):
        for block in blocks:
            rows += len(block)
            file_form.require_cells(rows + len(short.cells), len(names))
            if len(block) > 0:
                last = block.column(block.num_columns - 1)[-1].as_py()
            for column, at in zip(kept, taken, strict=True):
                column.append(block.column(at))
    file_form.require_cells(rows + len(short.cells), len(names))
    if last.endswith(("\n", "\r")):
        raise OpenQuoteError
    order, columns = short.order(rows), {}
    for at in reversed(taken):  # one after another, and then its texts are no longer needed
        parts = [*kept.pop(), pa.array(short.column(at), pa.string())]
        words = () if names[at] == owner else words_of(missing, names[at])
        columns[names[at]] = _column(parts, order, words)
    pa.default_memory_pool().release_unused()  # as much as the file, where its texts differ
    return pd.DataFrame({names[at]: columns[names[at]] for at in taken}, copy=False)


class _ShortRows:
    """Rows with fewer cells than the header, such as sums at the end: the others are missing."""

    def __init__(self, form: FileForm) -> None:
        self._form = form
        self._places: list[int] = []
        self.cells: list[list[str]] = []

    def take(self, row: "InvalidRow") -> Literal["skip", "error"]:
        """Take a row out of those that Arrow reads; one with more cells is an error."""
        if row.actual_columns > row.expected_columns:
            return "error"
        self._places.append(row.number - 2 - self._form.skip)  # from 1, with the header
        try:
            [cells] = csv.reader([row.text], delimiter=self._form.separator, strict=True)
        except csv.Error:
            return "error"
        self.cells.append(cells)
        return "skip"

    def order(self, rows: int) -> Ints:
        """Return where each row is among the others, followed by the short ones."""
        order = np.full(rows + len(self._places), -1)
        order[self._places] = rows + np.arange(len(self._places))
        order[order < 0] = np.arange(rows)
        return order

    def column(self, at: int) -> list[str]:
        """Return their cells of a column."""
        return [cells[at] if at < len(cells) else "" for cells in self.cells]


def _column(parts: "Sequence[pa.Array]", order: Ints, missing: Collection[str]) -> "pd.Series":
    """Return texts in order, None where a cell is missing: as categories where few differ."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = pa.chunked_array(parts).combine_chunks().dictionary_encode()
    texts = encoded.dictionary
    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    gone = pc.or_(pc.equal(texts, ""), pc.is_in(words, pa.array([*missing], pa.string())))
    none = gone.to_numpy(zero_copy_only=False)
    codes = np.where(none, -1, np.cumsum(~none) - 1)[encoded.indices.to_numpy()[order]]
    left = texts.filter(pc.invert(gone))
    if len(left) > len(codes) / 2:
        placed = pa.array(codes, mask=codes < 0)
        return pd.Series(left.take(placed).to_pandas(), dtype="str")
    categories = pd.Index(left.to_pandas(), dtype="str")
    return pd.Series(pd.Categorical.from_codes(codes, categories=categories), copy=False)
