"""A data set as one file: the SHA-256 of what follows, a line of JSON, and its arrays.

What a file is of, its key, stands in the JSON. A file that was cut off, changed or made by another
program has another digest, or none: it holds nothing. Nothing in it is executed.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.notices import Counted, field, plain
from asyncdp_sim.on_disk import from_json

Numbers = npt.NDArray[Any]
_DTYPES = {"<f8": np.dtype("<f8"), "<i8": np.dtype("<i8")}
_HEADER = 2**20
"""Bytes that the line of JSON has at most."""


def write(file: Path, key: str, dataset: Dataset) -> None:
    """Write a data set.

    Raises
    ------
    OSError
        If it cannot be written.
    TypeError, ValueError
        If it holds what JSON does not, or too much of it.
    """
    arrays: list[Numbers] = []
    said = {each.name: _plain(getattr(dataset, each.name), arrays) for each in fields(Dataset)}
    shapes = [(array.dtype.str, array.shape) for array in arrays]
    header = json.dumps({"key": key, "arrays": shapes, "fields": said}).encode() + b"\n"
    if len(header) > _HEADER:
        raise ValueError("too many fields")
    parts = [memoryview(header), *(_bytes(array) for array in arrays)]
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    with file.open("xb") as into:
        into.write(found.hexdigest().encode() + b"\n")
        into.writelines(parts)


def read(file: Path, key: str) -> Dataset:
    """Return the data set that a file holds.

    Raises
    ------
    OSError, ValueError, LookupError, TypeError
        If it does not hold the one of this key, whole and unchanged.
    """
    with file.open("rb") as source:
        promised = source.readline(65).strip().decode("ascii")
        header = source.readline(_HEADER)
        found, content = hashlib.sha256(header), from_json(header)
        if content["key"] != key:
            raise ValueError("another key")
        arrays = list(_arrays(source, content["arrays"]))
    for array in arrays:
        found.update(_bytes(array))
    if found.hexdigest() != promised:
        raise ValueError("another digest")
    return Dataset(**{name: _revived(each, arrays) for name, each in content["fields"].items()})


def _arrays(source: IO[bytes], shapes: list[tuple[str, list[int]]]) -> Iterator[Numbers]:
    """Read arrays, once there is room for them in the file."""
    wanted = sum(_DTYPES[dtype].itemsize * int(np.prod(shape)) for dtype, shape in shapes)
    if os.fstat(source.fileno()).st_size - source.tell() != wanted:
        raise ValueError("another length")
    for dtype, shape in shapes:
        values = np.fromfile(source, _DTYPES[dtype], int(np.prod(shape)))
        array = values.reshape(shape[::-1]).T
        array.flags.writeable = False
        yield array


def _bytes(array: Numbers) -> memoryview:
    """Return an array's bytes, in Fortran order."""
    return np.ascontiguousarray(array.T).reshape(-1).view(np.uint8).data


def _plain(value: Any, arrays: list[Numbers]) -> Any:
    """Return a field as JSON has it; its arrays by their place among all of them."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple):
        return [_plain(each, arrays) for each in value]
    if isinstance(value, Counted):
        numbers = {name: plain(each) for name, each in value.fields.items()}
        return {"sentence": value.sentence, "numbers": numbers}
    return value


def _revived(value: Any, arrays: list[Numbers]) -> Any:
    if isinstance(value, list):
        return tuple(_revived(each, arrays) for each in value)
    if isinstance(value, dict):
        if "array" in value:
            return arrays[value["array"]]
        numbers = {name: field(each) for name, each in value["numbers"].items()}
        return Counted(value["sentence"], **numbers)
    return value
