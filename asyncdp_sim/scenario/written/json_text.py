"""Values as JSON has them: infinities as text, NaN as null."""

import math
from collections.abc import Mapping
from typing import Any


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, str | int):  # before all that takes longer to tell
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Mapping):
        return {key: jsonable(inner) for key, inner in value.items()}
    return value
