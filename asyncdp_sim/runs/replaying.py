"""A result made again from its manifest, and held against what lies on disk."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.errors import DataError, Fault, ReplayError, ResultError, SpecError
from asyncdp_sim.provenance import VERSIONS, described, other_versions
from asyncdp_sim.result import read_manifest
from asyncdp_sim.runs.differences import Difference, between, directories, in_words, leaves
from asyncdp_sim.scenario import Scenario, data_files, jsonable, load, placed, unplaced

_MOST = 6
"""Parts of a sweep that are told one by one."""
_SHA = "sha256:"


def numbers_of(directory: Path, scenario: Scenario) -> list[int]:
    """Return which replicates a result is of.

    Raises
    ------
    ResultError
        If the manifest does not say so.
    """
    said = read_manifest(directory, "summary")["replicates"]
    possible = range(1, scenario.run.replicates + 1)
    listed = isinstance(said, list) and all(type(number) is int for number in said)
    if not (listed and len(said) > 0 and said == sorted({*said} & {*possible})):
        given = "a damaged manifest.json (replicates)"
        raise ResultError([Fault("", given, "allowed is a result directory")], str(directory))
    return list(said)


@contextmanager
def made_again(
    directory: Path, settings: Sequence[str], *, allow_code: bool = False
) -> Iterator[tuple[Scenario, Path]]:
    """Give the scenario of a manifest, its data files found, and a place to make it again.

    Parameters
    ----------
    directory : Path
        A result or a sweep.
    settings : sequence of str
        Where data files lie now, as ``data.path=…``; all others are looked for where
        ``scenario.toml`` says, and by their names beside the result, beside its sweep, and in the
        working directory. A file is what was read if its SHA-256 is the manifest's.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.

    Raises
    ------
    DataError
        If a data file is nowhere.
    ReplayError
        If it is another, or if ``scenario.toml`` and the manifest are of two scenarios.
    """
    manifest = read_manifest(directory)
    scenario = _stated(directory, settings, allow_code=allow_code)
    with TemporaryDirectory(prefix="asyncdp-replay-") as temporary:
        folder = Path(temporary)
        places = dict(_found(directory, manifest, scenario, folder, stated=_keys(settings)))
        scenario = placed(scenario, places)
        said = manifest["scenario"]
        differ = list(between("scenario.toml", described(scenario), said, "manifest"))
        if len(differ) > 0:
            raise ReplayError(_said(directory, differ, manifest["versions"]))
        yield scenario, folder / "again"


def require_same(directory: Path, again: Path) -> list[str]:
    """Compare a result or a sweep with what was made again; return notes on what it was made with.

    Other versions, another commit and another processor are no difference by themselves: they are
    told, beside the differences or alone.

    Raises
    ------
    ReplayError
        If anything else differs, naming what and both values.
    """
    found = list(directories(directory, again))
    told = list(_circumstances(read_manifest(directory)["versions"], found))
    differ = [each for each in found if not each.of_circumstances]
    if len(differ) > 0:
        raise ReplayError(_said(directory, differ, read_manifest(directory)["versions"]))
    return [f"{directory} was made {each}" for each in told]


def _stated(directory: Path, settings: Sequence[str], *, allow_code: bool) -> Scenario:
    """Return what ``scenario.toml`` says; if it is damaged, that is one fault and not many."""
    try:
        return load(directory / "scenario.toml", settings, allow_code=allow_code)[0]
    except SpecError as error:
        if len(error.faults) == 1 or len(settings) > 0:
            raise
        more = f"{error.faults[0]}, and {len(error.faults) - 1} more"
        fault = Fault("", f"a damaged scenario.toml ({more})", "allowed is a result directory")
        raise ResultError([fault], str(directory)) from None


def _said(directory: Path, differ: Sequence[Difference], versions: object) -> str:
    others = other_versions(versions)
    made = "".join(f"; made with {name} {said}" for name, said in others.items())
    return f"{directory}: not reproduced: {in_words(differ)} differ{made}"


def _circumstances(versions: object, found: Sequence[Difference]) -> Iterator[str]:
    """Yield what a result was made with, where that differs from what is here."""
    yield from (f"with {name} {said}" for name, said in other_versions(versions).items())
    keys = {each.place.split(".")[0]: each for each in found if each.file == "manifest.json"}
    if "git_commit" in keys:
        yield f"at commit {keys['git_commit'].kept}, here {keys['git_commit'].again}"
    if "cpu_features" in keys:
        yield "on a processor with other features"
    if "mixed_versions" in keys:
        yield "by several versions (mixed_versions in manifest.json)"
    whole = {(each.place, each.kept) for each in found if each.file == "manifest.json"}
    parts: dict[str, list[str]] = {}
    for each in found:
        place = "versions." * each.file.endswith(VERSIONS) + each.place
        folder = str(Path(each.file).parent)
        if each.of_circumstances and folder != "." and (place, each.kept) not in whole:
            parts.setdefault(_made(place, each), []).append(folder)
    for made, folders in parts.items():
        named = sorted(set(folders))
        more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
        yield f"in part {made} ({', '.join(named[:_MOST])}{more})"


def _made(place: str, differs: Difference) -> str:
    """Return how a part of a sweep was made, from one place of its circumstances."""
    key, _, name = place.partition(".")
    if key == "versions" and name != "":
        return f"with {name} {differs.kept}, here {differs.again}"
    if key == "git_commit":
        return f"at commit {differs.kept}, here {differs.again}"
    return "by other versions, or elsewhere"


def _found(
    directory: Path,
    manifest: Mapping[str, Any],
    scenario: Scenario,
    folder: Path,
    *,
    stated: set[str],
) -> Iterator[tuple[str, str]]:
    """Yield from each path of a data file to where it lies now, under the name it had then.

    A path at one of the keys ``stated`` is taken at its word, and looked for nowhere else.
    """
    paths = data_files(scenario)
    ours = leaves(jsonable(unplaced(scenario, {path: f"{_SHA}{path}" for path in paths})))
    theirs = leaves(manifest["scenario"])
    beside = [directory, *directory.absolute().parents[:2], Path.cwd()]
    for number, path in enumerate(paths):
        key = next(k for k, leaf in ours.items() if str(leaf).endswith(f"{_SHA}{path}"))
        field = key.removesuffix("sha256") + "path" if key.endswith("sha256") else key
        name, _, wanted = str(theirs.get(key)).rpartition(_SHA)
        name = name.strip() or str(theirs.get(field))
        given = Path(os.path.normpath(path))
        others = () if field in stated else (at / given.name for at in beside)
        there = [p for p in (given, *others) if p.is_file()]
        if len(there) == 0:
            looked = "" if field in stated else ", here or beside the result"
            said = f"there is no such file{looked}; say where: {_SET}"
            raise DataError([Fault(field, repr(str(given)), said)], str(directory))
        same = next((p for p in there if source_of(str(p)).sha256 == wanted), None)
        if same is None:
            found = f"{there[0]} has SHA-256 {source_of(str(there[0])).sha256[:12]}…"
            said = f"not reproduced: the data file differs ({found}, the manifest {wanted[:12]}…)"
            raise ReplayError(f"{directory}: {said}; another place: {_SET}")
        as_it_was = same if same.name == name else _named(same, folder, number, name)
        yield path, str(as_it_was.absolute())


_SET = "--set data.path=…"


def _keys(settings: Sequence[str]) -> set[str]:
    """Return what is set."""
    return {setting.partition("=")[0].strip() for setting in settings}


def _named(file: Path, folder: Path, number: int, name: str) -> Path:
    """Return a file under the name that it had, by which the manifest knows it."""
    place = folder / f"data-{number}" / Path(name).name
    place.parent.mkdir()
    try:
        place.symlink_to(file.absolute())
    except OSError:  # a system without links
        shutil.copyfile(file, place)
    return place


__all__ = ["made_again", "numbers_of", "require_same"]
