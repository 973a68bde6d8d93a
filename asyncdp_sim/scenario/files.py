"""Scenario files: TOML in and out."""

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncdp_sim.core import files, plugins
from asyncdp_sim.core.errors import DataError, Fault, SpecError, blaming
from asyncdp_sim.core.gone import as_earlier, as_now, unnamed
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.validation import show
from asyncdp_sim.scenario.owners import count_owners
from asyncdp_sim.scenario.paths import EITHER, Raw, keys, listed, set_path, toml
from asyncdp_sim.scenario.spec import Scenario

SCHEMA_FILE = "asyncdp.schema.json"
"""Name of the JSON schema that lies beside scenarios, for editors."""
SCHEMA_LINE = f"#:schema {SCHEMA_FILE}"
"""First line of a scenario to be edited: editors look beside it for what `asyncdp schema` says."""


def load(
    file: Path, settings: Sequence[str] = (), *, allow_code: bool = False
) -> tuple[Scenario, list[str]]:
    """Read a scenario from a TOML file.

    Parameters
    ----------
    file : Path
        Relative paths in it are resolved against its folder.
    settings : sequence of str
        ``path=value`` in the order given; values are TOML, or text where they are not.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.

    Returns
    -------
    Scenario, list of str
        The scenario, and what the settings dropped, in words.

    Raises
    ------
    SpecError
        With every fault found, naming the file.
    DataError
        If the owners are in a table that cannot be read.
    """
    raw, notes = read_tables(file, settings, allow_code=allow_code)
    with blaming(file):
        return scenario_of(raw, allow_code=allow_code), notes


def from_tables(
    tables: Mapping[str, Any], settings: Sequence[str] = (), *, allow_code: bool = False
) -> tuple[Scenario, list[str]]:
    """Return the scenario of tables as :func:`load` does that of a file with them.

    Relative paths in them are of the working directory.

    Raises
    ------
    SpecError
        With every fault found.
    DataError
        If the owners are in a table that cannot be read.
    """
    raw = resolved(listed(dict(tables)), Path.cwd())
    notes = _set_all(raw, settings, allow_code=allow_code)
    return scenario_of(raw, allow_code=allow_code), notes


def read_tables(
    file: Path, settings: Sequence[str] = (), *, allow_code: bool = False
) -> tuple[Raw, list[str]]:
    """Read the tables of a scenario file, as :func:`load` does, and no file that they name.

    Returns
    -------
    dict, list of str
        With absolute paths; and what the settings dropped, in words.
    """
    raw = _read(file)
    if file.name == "scenario.toml" and files.is_file(file.parent / "manifest.json"):
        raw = as_earlier(raw)
    raw = resolved(raw, file.parent)
    with blaming(file):
        return raw, _set_all(raw, settings, allow_code=allow_code)


def scenario_of(raw: Raw, *, allow_code: bool = False) -> Scenario:
    """Return the scenario of such tables, checked with every cell of its sweep.

    Raises
    ------
    SpecError
        With every fault found.
    DataError
        If the owners are in a table that cannot be read.
    """
    require_code(raw, allowed=allow_code)
    counted = count_owners(raw)
    scenario: Scenario = parse(Scenario, as_now(raw))
    scenario = scenario.counting_in_cells() if counted else scenario
    scenario.base()
    _check_grid(scenario)
    return scenario


def require_code(raw: Raw, *, allowed: bool) -> None:
    """Execute the code of all classes from outside that tables name.

    Raises
    ------
    SpecError
        If that is not allowed, or code does not load; without any such class nothing is raised.
    """
    faults: list[Fault] = []
    for key, place in plugins.named(raw):
        try:
            if not allowed:
                raise place.locked()
            place.execute()
        except SpecError as error:
            faults += [fault.under(key) for fault in error.faults]
    if len(faults) > 0:
        raise SpecError(faults)


def absolute(raw: Raw, folder: Path) -> Raw:
    """Return tables whose files of code no longer depend on the folder that they are read from."""
    return dict(
        plugins.mapped(raw, lambda place: str(place.moved(os.path.abspath(folder / place.code))))
    )


def relative(raw: Raw, folder: Path) -> Raw:
    """Return tables whose files of code load from where the tables are written."""
    here = folder.absolute()
    return dict(
        plugins.mapped(raw, lambda place: str(place.moved(os.path.relpath(place.code, here))))
    )


def resolved(raw: Raw, folder: Path) -> Raw:
    """Return the tables of a scenario file that lies in ``folder``, with absolute paths."""
    _map_paths(raw, lambda path: str((folder / path).absolute()))
    return absolute(raw, folder)


def dump(scenario: Scenario, directory: Path | None) -> str:
    """Return a scenario as TOML text, whose paths load when it lies in ``directory``.

    They stay absolute where it lies in none. :data:`SCHEMA_LINE` is for those who write a file
    that is to be edited: results, beside which no schema lies, name none.
    """
    raw = scenario.plain()
    if directory is not None:
        _map_paths(raw, lambda path: os.path.relpath(path, directory.absolute()))
        raw = relative(raw, directory)
    return toml(raw)


def save_new(scenario: Scenario, file: Path) -> None:
    """Write a scenario into a file that does not exist yet; it loads from there.

    Raises
    ------
    SpecError
        On ``--save``, where it cannot be written.
    """
    files.write_new(f"{SCHEMA_LINE}\n{dump(scenario, file.absolute().parent)}", file)


def data_files(scenario: Scenario) -> list[str]:
    """Return the paths of all data files that a scenario and its sweep name, once each."""
    paths: dict[str, str] = {}
    _map_paths(scenario.plain(), lambda path: paths.setdefault(path, path))
    return list(paths)


def unplaced(scenario: Scenario, digest: Callable[[str], str]) -> Raw:
    """Return the scenario as plain tables that name a file by name and digest, not place.

    Parameters
    ----------
    scenario : Scenario
    digest : callable
        From the path of a file to its digest.

    Raises
    ------
    SpecError
        If a class from outside is in no file.
    """
    raw = scenario.plain()
    swept = raw.pop("sweep", None)
    for table in list(_with_files(raw)):
        for key in [key for key in FILES if isinstance(table.get(key), str)]:
            path = table.pop(key)
            table |= {key: Path(path).name, key.replace("path", "sha256"): digest(path)}
    if swept is not None:
        raw["sweep"] = swept
        _map_paths(swept, lambda path: f"{Path(path).name} sha256:{digest(path)}")
    return dict(plugins.unplaced(unnamed(raw)))


def without_places(raw: Raw) -> Raw:
    """Return the tables of a result's scenario with files by their names alone."""
    named = with_files(as_earlier(raw), lambda path: Path(path).name)
    return dict(plugins.mapped(named, lambda place: place.named_alone))


def with_files(raw: Raw, change: Callable[[str], str]) -> Raw:
    """Return the tables of a scenario file with every path of a file changed."""
    changed = copy.deepcopy(raw)
    _map_paths(changed, change)
    return changed


def toml_value(text: str) -> Any:
    """Return a value as TOML reads it, or the text itself where it is not TOML."""
    try:
        table = files.from_toml(f"value = {text}")
    except ValueError:
        return text
    return table["value"] if len(table) == 1 else text


def _set_all(raw: Raw, settings: Sequence[str], *, allow_code: bool) -> list[str]:
    """Apply settings; return in words what they, and the swept paths, drop or replace."""
    notes = [note for setting in settings for note in _set(raw, setting, allow_code=allow_code)]
    swept, value = raw.get("sweep", {}), raw.get("algorithm", {})
    replaced = (
        f"sweep over {'.'.join(path)}: replaces {path[0]}.{other}"
        for path, other in EITHER.items()
        if isinstance(swept, dict) and ".".join(path) in swept
        if isinstance(value, dict) and other in value
    )
    return [*notes, *replaced]


def _set(raw: Raw, setting: str, *, allow_code: bool) -> list[str]:
    """Apply one ``path=value``; return in words what a change of kind dropped."""
    path, equals, text = str(setting).partition("=")
    if equals == "" or path.strip() == "":
        raise SpecError([Fault("--set", show(setting), "allowed is path=value")])
    try:
        table: Raw = {}
        stated = absolute({path: toml_value(text)}, Path.cwd())
        require_code(stated, allowed=allow_code)
        set_path(Scenario, table, path, stated[path])
        _map_paths(table, lambda path: str(Path(path).absolute()))
        value: Any = table
        for key in keys(path):
            value = value[key]
        return set_path(Scenario, raw, path, value)
    except SpecError as error:
        named = [fault if fault.key != "" else fault.under("--set") for fault in error.faults]
        raise SpecError(named) from None


def _check_grid(scenario: Scenario) -> None:
    """Check every cell of a sweep, so that none fails half-way; each fault is reported once."""
    faults: dict[Fault, None] = {}
    for chosen in scenario.grid():
        try:
            scenario.cell(chosen)
        except (SpecError, DataError) as error:
            faults |= dict.fromkeys(fault.under("sweep") for fault in error.faults)
        if len(faults) >= _MOST_FAULTS:
            break
    if len(faults) > 0:
        raise SpecError(faults)


def _read(file: Path) -> Raw:
    try:
        return files.from_toml(files.file_bytes(file).decode("utf-8-sig"))
    except FileNotFoundError:
        problem, remedy = "a file that does not exist", "to create it: asyncdp new -o FILE"
    except IsADirectoryError:
        own = f", such as {file}/scenario.toml" if files.is_file(file / "scenario.toml") else ""
        problem, remedy = "a directory", f"allowed is a scenario file in TOML{own}"
    except OSError as error:
        problem = f"an unreadable file ({error.strerror})"
        remedy = "allowed is a readable TOML file"
    except UnicodeDecodeError as error:
        problem = f"bytes that are not UTF-8 at offset {error.start}"
        remedy = "allowed is UTF-8 text"
    except files.TooLongError as error:
        problem = str(error)
        remedy = f"allowed are {files.MOST_VALUES:,}: one value for all owners, or fewer owners"
    except ValueError as error:
        problem = f"text that is not TOML ({error})"
        remedy = "allowed is TOML 1.0, as in asyncdp new"
    raise SpecError([Fault("", problem, remedy)], str(file))


def _map_paths(raw: Raw, change: Callable[[str], str]) -> None:
    """Replace every path of a file that tables name, those of a sweep among them."""
    for key, value in raw.items():
        last = key.replace(" ", "").rpartition(".")[2]
        if last in _NO_FILES:
            continue
        if last not in FILES:
            for table in value if isinstance(value, list) else [value]:
                if isinstance(table, dict):
                    _map_paths(table, change)
        elif isinstance(value, str):
            raw[key] = change(value)
        elif isinstance(value, list):
            raw[key] = [change(path) if isinstance(path, str) else path for path in value]


def _with_files(raw: Raw) -> Iterator[Raw]:
    """Yield every table that names a file."""
    if any(isinstance(raw.get(key), str) for key in FILES):
        yield raw
    for value in (value for key, value in raw.items() if key not in _NO_FILES):
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict):
                yield from _with_files(table)


FILES = ("path", "public_path", "own_path")
"""Fields by which a table, wherever it stands, names files of its own."""
_NO_FILES = ("columns",)
"""Tables whose keys are not ours: a column may be called path."""
_MOST_FAULTS = 20
"""A grid repeats its faults; this many are enough to tell."""
