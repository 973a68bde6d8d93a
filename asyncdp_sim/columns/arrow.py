"""Arrow tables whose fields say what their columns mean, and in which unit."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.columns.dictionary import column
from asyncdp_sim.core.arrays import Bools


def arrow_table(
    name: str, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> Any:
    """Return NumPy or Arrow columns as a table; NaN becomes null.

    Parameters
    ----------
    name : str
        Of the table in the dictionary of columns.
    columns : mapping
    metadata : mapping of text, optional
        Of the whole table.
    """
    import pyarrow as pa

    arrays = {key: arrow_array(value) for key, value in columns.items()}
    schema = arrow_schema(name, tuple((key, array.type) for key, array in arrays.items()))
    return pa.Table.from_arrays([*arrays.values()], schema=schema.with_metadata(metadata))


@lru_cache(maxsize=32)  # results of a sweep have the same tables
def arrow_schema(name: str, types: tuple[tuple[str, Any], ...]) -> Any:
    """Return the schema of a table whose columns have these names and types."""
    import pyarrow as pa

    entries = {key: column(name, key) for key, _ in types}
    return pa.schema(
        pa.field(key, kind, metadata=None if entry is None else entry.metadata)
        for (key, kind), entry in zip(types, entries.values(), strict=True)
    )


def arrow_array(values: Any, absent: Bools | None = None) -> Any:
    """Return NumPy numbers as Arrow's, without the pandas that PyArrow loads to look at them.

    Parameters
    ----------
    values : NDArray, Arrow array or sequence
        What are not NumPy's numbers or truth values become what PyArrow makes of them.
    absent : NDArray, optional
        Which are null; by default NaN.
    """
    import pyarrow as pa

    kind = values.dtype.kind if isinstance(values, np.ndarray) else None
    if kind is None and isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if kind is None or kind not in "biuf":
        return pa.array(values, from_pandas=True, mask=absent)
    if absent is None and kind == "f":
        absent = np.isnan(values)
    value = None if absent is None or not absent.any() else _bits(~absent)
    data = _bits(values) if kind == "b" else pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [value, data])


def arrow_texts(texts: Sequence[str | None]) -> Any:
    """Return texts as an Arrow array, None as null, as :func:`arrow_array` does."""
    import pyarrow as pa

    letters = [b"" if text is None else text.encode() for text in texts]
    value = np.array([text is not None for text in texts], dtype=bool)
    ends = np.cumsum([0, *map(len, letters)], dtype=np.int32)
    bits = None if value.all() else _bits(value)
    written = [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(letters))]
    return pa.Array.from_buffers(pa.string(), len(letters), written)


def from_arrow(column: Any) -> npt.NDArray[Any]:
    """Return an Arrow table's column as NumPy's, without pandas.

    Of numbers null is NaN; texts and truth values with nulls are objects.
    """
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        plain = pa.types.is_boolean(kind) and column.null_count == 0
        return np.array(column.to_pylist(), dtype=np.bool_ if plain else object)
    complete = column.combine_chunks()
    if complete.null_count > 0:
        complete = complete.cast(pa.float64()).fill_null(np.nan)
    return np.from_dlpack(complete)


def _bits(values: Bools) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(values, bitorder="little"))
