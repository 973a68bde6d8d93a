"""Values as JSON: infinities as text, and parts that results share laid out once."""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring
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


def laid_out(value: Any, end: str = "\n", depth: int = 3) -> str:
    """Return a value as JSON of several lines; parts that results share are laid out once.

    Parameters
    ----------
    value : object
    end : str
        The end of a line and the indent of the next.
    depth : int
        So deep parts are looked at one by one.
    """
    if isinstance(value, Mapping) and len(value) > 0:
        inner = f"{end}  "
        if all(type(each) in _SINGLE for each in value.values()):
            return _in_rows(value, end)
        if depth > 0:
            parts = [
                f"{inner}{_key(key)}: "
                f"{_text(each) if type(each) in _SINGLE else laid_out(each, inner, depth - 1)}"
                for key, each in value.items()
            ]
            return f"{{{','.join(parts)}{end}}}"
    text = _text(value)
    return _in_lines(text, end) if text[0] in "[{" else text


def _key(key: Any) -> str:
    """Return a key as JSON has it: a text, of whatever it is made."""
    return encode_basestring(key if isinstance(key, str) else _text(key))


def _text(value: Any) -> str:
    """Return a value as JSON in one line, numbers and texts in a tenth of the encoder's time."""
    if type(value) is str:
        return encode_basestring(value)
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return repr(value)
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError):  # mappings that are no dict, and numbers that JSON lacks
        return _ENCODER.encode(jsonable(value))


@lru_cache(maxsize=256)
def _in_lines(text: str, end: str) -> str:
    return _of_any_depth(json.loads(text), end)


def _of_any_depth(value: Any, end: str) -> str:
    """Return what JSON has said as JSON of several lines."""
    inner = f"{end}  "
    if type(value) in _SINGLE or len(value) == 0:
        return _text(value)
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_of_any_depth(each, inner) for each in value)}{end}]"
    if all(type(each) in _SINGLE for each in value.values()):
        return _in_rows(value, end)
    parts = (f"{_text(key)}: {_of_any_depth(each, inner)}" for key, each in value.items())
    return f"{{{inner}{f',{inner}'.join(parts)}{end}}}"


def _in_rows(value: Mapping[Any, Any], end: str) -> str:
    """Return a mapping whose parts have none of their own, each in a line."""
    inner = f"{end}  "
    rows = [f"{_key(key)}: {_text(each)}" for key, each in value.items()]
    return f"{{{inner}{f',{inner}'.join(rows)}{end}}}"


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_SINGLE = frozenset((str, int, float, bool, type(None)))
"""Types of what has no parts; another may be of such a kind, too, and takes longer to write."""
