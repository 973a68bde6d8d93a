"""Pickles of plain values, read without executing anything that they ask for.

A pickle is a program for a small machine, part of which imports and calls. Here a file is first
read opcode by opcode: it must consist of those that build numbers, texts, lists and dictionaries,
and nothing else. What is left can call nothing, holds no reference before it was made, and asks for
no more room than its own length; it is then loaded by a reader that knows no class either.
"""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

from typing_extensions import override

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.imports.around import refused

# fmt: off
PLAIN = frozenset((
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT",
    "BININT1", "BININT2", "LONG", "LONG1", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST",
    "APPEND", "APPENDS", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET",
    "LONG_BINGET",
))
# fmt: on
"""Opcodes of plain values; a tuple is none, for it could be a key that takes for ever to hash."""
_PLACES = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
_WORD = "allowed is a pickle of numbers, texts, lists and dictionaries, of 1 GB at most"
_LARGEST = 2**30


class PlainReader(pickle.Unpickler):
    """Reads a pickle, and refuses every class and whatever lies elsewhere."""

    @override
    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module_name}.{global_name}")

    @override
    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it asks for an object that lies elsewhere")


def read_plain(path: Path) -> tuple[Any, int]:
    """Return what a pickle holds, and of how many opcodes it consists.

    Raises
    ------
    DataError
        If it cannot be read, is no pickle, or holds anything but plain values.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise refused(path, f"a file of {path.stat().st_size} bytes", _WORD)
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise refused(path, f"a file that cannot be read ({reason})", _WORD) from None
    try:
        length = _scan(data, path)
        return PlainReader(io.BytesIO(data)).load(), length
    except DataError:
        raise
    except Exception as error:  # whatever a broken pickle makes of the machine's stack
        text = " ".join(str(error).split())[:120] or type(error).__name__
        raise refused(path, f"no pickle ({text})", _WORD) from None


def _scan(data: bytes, path: Path) -> int:
    """Return how many opcodes there are.

    Raises
    ------
    DataError
        If one of them does anything but build plain values.
    """
    length = 0
    for opcode, argument, place in pickletools.genops(data):
        length += 1
        name = opcode.name
        if name not in PLAIN:
            problem = f"a pickle with the opcode {name} at byte {place}, which may execute code"
            raise refused(path, problem, _WORD)
        if name in _PLACES and int(argument or 0) > length:
            problem = f"a pickle that fills place {argument} of its memory with opcode {length}"
            raise refused(path, problem, _WORD)
    return length
