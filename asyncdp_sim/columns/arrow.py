"""Arrow tables whose fields say what their columns mean, and in which unit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from asyncdp_sim.columns.dictionary import column


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

    arrays = {
        key: pa.array(value, from_pandas=True) if isinstance(value, np.ndarray) else value
        for key, value in columns.items()
    }
    table = pa.table(arrays)
    entries = [column(name, field.name) for field in table.schema]
    fields = [
        field if entry is None else field.with_metadata(entry.metadata)
        for field, entry in zip(table.schema, entries, strict=True)
    ]
    return table.cast(pa.schema(fields, metadata=metadata))
