"""Code from outside the package: where a kind's class lies, its digest, and its execution.

A scenario names a class as ``python:FILE.py:Class`` or, of an installed module,
``python:package.module:Class``. Code is executed by :meth:`Place.execute` alone; whatever else
asks for a class finds it only where that was done before.
"""

import hashlib
import importlib
import io
import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Self

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import file_bytes

_TEXT = re.compile(r"python:(?P<code>.+):(?P<name>[^\W\d]\w*)")
_NOWHERE = "(no file)"
_ABSENT = "there is no such file, or installed module"
_WITHOUT_FILE = "a result names the file of its kinds: allowed is a class at the top of one"
_MODULES = "asyncdp_outside_"
"""Begins the names of the modules that files are loaded as."""


@dataclass(frozen=True)
class Place:
    """The place of a class that is not part of the package.

    Attributes
    ----------
    code : str
        A file whose name ends in ``.py``, or the dotted name of an installed module.
    name : str
        The class's.
    """

    code: str
    name: str

    @classmethod
    def named(cls, text: object) -> Self | None:
        """Return the place that a text names; None of anything else."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        return None if match is None else cls(**match.groupdict())

    @classmethod
    def from_class(cls, member: type) -> Self:
        """Return where a class lies: ``(no file)`` if nobody else could find it."""
        module = sys.modules[member.__module__]
        code = module.__name__
        if _is_of_file(module) or code == "__main__":
            code = getattr(module, "__file__", None) or _NOWHERE
        return cls(_NOWHERE if "." in member.__qualname__ else code, member.__name__)

    def __str__(self) -> str:
        return f"python:{self.code}:{self.name}"

    @property
    def is_file(self) -> bool:
        """Whether it is a file, rather than an installed module."""
        return self.code.endswith(".py")

    @property
    def file(self) -> Path:
        """The file of the code, which is looked for without executing any.

        Raises
        ------
        SpecError
            If there is none.
        """
        result = self.code if self.is_file else getattr(_spec_of(self.code), "origin", None)
        if result is None or not Path(result).is_file():
            raise self.refused(_WITHOUT_FILE if self.code == _NOWHERE else _ABSENT)
        return Path(result)

    @property
    def sha256(self) -> str:
        """Digest of the code: as it was executed, or as it lies there.

        Raises
        ------
        SpecError
            If there is none.
        """
        executed = getattr(self._module, "__sha256__", None)
        return executed or _digest(self._read())

    @property
    def unplaced(self) -> str:
        """The class by the name and digest of its file, without its folder."""
        return f"{self.named_alone} sha256:{self.sha256}"

    @property
    def named_alone(self) -> str:
        """The class by the name of its file."""
        return str(self.moved(Path(self.code).name))

    def moved(self, file: str) -> "Place":
        """Return the place if its file lies elsewhere; an installed module does not move."""
        return Place(file, self.name) if self.is_file else self

    def execute(self, sha256: str | None = None) -> None:
        """Execute the code, unless it is as it was executed before.

        Python executes an installed module, and the program itself (``__main__``), only once.

        Parameters
        ----------
        sha256 : str, optional
            Digest that it must have.

        Raises
        ------
        SpecError
            If it is not there, or of another digest, or raises an exception; or if it has changed
            and is executed only once.
        """
        code = self._read()
        digest = _digest(code)
        if sha256 is not None and digest != sha256:
            raise self.refused(f"its SHA-256 is {digest}, and {sha256} was meant")
        module = self._module
        executed = getattr(module, "__sha256__", None)
        if executed == digest:
            return
        only_once = not self.is_file or module is sys.modules["__main__"]
        if executed is not None and only_once:  # Python would use the old code
            raise self.refused("its file has changed since Python executed it: restart Python")
        try:
            if only_once:
                vars(module or importlib.import_module(self.code))["__sha256__"] = digest
            else:
                _execute(self.code, code, digest)
        except (Exception, SystemExit) as error:  # the code may raise whatever it likes
            raise self.refused(f"its code does not load ({_in_words(error, self.file)})") from None

    def found(self) -> Any:
        """Return what the code that was executed has under the name.

        Raises
        ------
        SpecError
            If it was not executed, or has nothing of that name.
        """
        module = self._module
        if module is None:
            raise self.locked()
        if not hasattr(module, self.name):
            types = {name: item for name, item in vars(module).items() if isinstance(item, type)}
            own = [name for name, item in types.items() if item.__module__ == module.__name__]
            nothing = f"there is nothing named {self.name} in its code"
            raise self.refused(f"{nothing}; its classes: {', '.join(own) or 'none'}")
        return getattr(module, self.name)

    def locked(self) -> SpecError:
        """Return the error of code that nobody has allowed to be executed."""
        asked = f"{self.file.absolute()}, SHA-256 {self.sha256}"
        return self.refused(f"allowed with --allow-code, which executes its code ({asked})")

    def refused(self, allowed: str) -> SpecError:
        """Return the error of a class that cannot be used."""
        return SpecError([Fault("", repr(str(self)), allowed)])

    @property
    def _module(self) -> ModuleType | None:
        if not self.is_file:
            return sys.modules.get(self.code)
        program = sys.modules.get("__main__")
        if getattr(program, "__file__", None) == self.code:
            return program
        return sys.modules.get(_module_name(self.code))

    def _read(self) -> bytes:
        try:
            return file_bytes(self.file)
        except OSError as error:
            raise self.refused(f"allowed is a file that can be read ({error.strerror})") from None


@lru_cache(maxsize=256)  # asked of every kind, for each result
def is_outside(member: type) -> bool:
    """Return whether a class is not part of the package, so that nobody vouches for it."""
    return member.__module__.partition(".")[0] != __name__.partition(".")[0]


def named(tables: Any, key: str = "") -> Iterator[tuple[str, Place]]:
    """Yield every class from outside that plain tables name, with the key where they do."""
    if isinstance(tables, dict):
        for name, inner in tables.items():
            yield from named(inner, f"{key}.{name}" if key else name)
    elif isinstance(tables, list):
        for inner in tables:
            yield from named(inner, key)
    elif (place := Place.named(tables)) is not None:
        yield key, place


def mapped(tables: Any, change: Callable[[Place], str]) -> Any:
    """Return plain tables with every class from outside spelled as ``change`` does."""
    if isinstance(tables, dict):
        return {key: mapped(inner, change) for key, inner in tables.items()}
    if isinstance(tables, list):
        return [mapped(inner, change) for inner in tables]
    place = Place.named(tables)
    return tables if place is None else change(place)


def unplaced(tables: Any) -> Any:
    """Return plain tables with classes from outside by their files' names and digests."""
    return mapped(tables, lambda place: place.unplaced)


def packed(work: object) -> bytes:
    """Return work as bytes for another process, which execute there the code that it needs."""
    stream = io.BytesIO()
    _Pickler(stream).dump(work)
    return stream.getvalue()


def call(work: bytes) -> Any:
    """Do work that was packed as a function and its arguments."""
    function, positional, by_name = pickle.loads(work)
    return function(*positional, **by_name)


def any_executed() -> bool:
    """Return whether a file from outside has been executed in this process."""
    return any(name.startswith(_MODULES) for name in sys.modules)


class _Pickler(pickle.Pickler):
    """Names classes and functions of files by the file, where others are named by their module.

    Another process finds them there again; what a function makes at each call it cannot find.
    """

    def reducer_override(self, given: Any) -> Any:
        if not isinstance(given, type | FunctionType):
            return NotImplemented
        module = sys.modules.get(given.__module__)
        if module is None or not _is_of_file(module):
            return NotImplemented
        if "<" in given.__qualname__:  # "f.<locals>.g" or "<lambda>"
            rule = (
                "allowed with more than one process is a class or function at the top of its file"
            )
            raise SpecError([Fault("workers", f"{given.__qualname__} of {module.__file__}", rule)])
        return _unpickled, (module.__file__, module.__sha256__, given.__qualname__)


def _unpickled(file: str, sha256: str, name: str) -> Any:
    """Return what a file has under a dotted name, once it is executed here too."""
    place = Place(file, name.partition(".")[0])
    place.execute(sha256)
    return reduce(getattr, name.split(".")[1:], place.found())


def _execute(file: str, code: bytes, digest: str) -> None:
    """Execute a file as a module of its own, under a name by which its types are found."""
    name = _module_name(file)
    before = sys.modules.pop(name, None)
    module = ModuleType(name)
    vars(module).update(__file__=file, __sha256__=digest)
    sys.modules[name] = module
    try:
        exec(compile(code, file, "exec", dont_inherit=True), vars(module))
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise


def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()


def _module_name(file: str) -> str:
    return _MODULES + hashlib.sha256(file.encode()).hexdigest()[:16]


def _is_of_file(module: ModuleType) -> bool:
    """Return whether a module is a file from outside, which :func:`_execute` has executed."""
    return module.__name__.startswith(_MODULES)


def _spec_of(module: str) -> ModuleSpec | None:
    """Return where an installed module lies; unlike ``find_spec`` this executes no parent of it.

    All finders of the import system are asked: editable installs have one of their own.
    """
    spec, path, text = None, None, ""
    for part in module.split("."):
        text = f"{text}.{part}" if text else part
        found = (finder.find_spec(text, path) for finder in sys.meta_path)
        spec = next((each for each in found if each is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def _in_words(error: BaseException, file: Path) -> str:
    """Return an exception in one line, with the line of the file where it was raised."""
    lines = [step.lineno for step in traceback.extract_tb(error.__traceback__)
             if step.filename == str(file)]  # fmt: skip
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    where = "" if line is None else f", line {line}"
    return f"{type(error).__name__}{': ' * (text != '')}{text}{where}"
