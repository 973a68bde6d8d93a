"""A result made again from its manifest, and compared with what lies on disk.

Where another BLAS kernel changes last digits, models and curves are compared to a tolerance.
"""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from asyncdp_sim.comparisons.differences import (
    Difference,
    between,
    directories,
    in_words,
    leaves_in_lists,
)
from asyncdp_sim.core.errors import DataError, Fault, ReplayError, ResultError, SpecError
from asyncdp_sim.core.files import file_bytes, from_json
from asyncdp_sim.core.gone import instead_of_field
from asyncdp_sim.core.plugins import Place
from asyncdp_sim.core.words import some_of
from asyncdp_sim.data.tables.read import source_of
from asyncdp_sim.results import not_a_result, read_columns, read_manifest
from asyncdp_sim.results.manifest import VERSIONS, blas_kernel, described, other_versions
from asyncdp_sim.scenario import Raw, Scenario, read_tables, scenario_of, toml_value, with_files

TOLERANCE = 1e-9
"""Largest distance of two kernels' numbers, relative to the curve's largest value.

Measured between Haswell and SkylakeX: 2e-12 in cells of the catalogue at full size, and 6e-11 where
few public rows make the records ill-conditioned.
"""
GAINS_TOLERANCE = 1e-6
"""The same for gains: models of scikit-learn are fitted to less than all digits."""
OTHER_ALGEBRA = "other linear algebra: equal to"
_TABLES = ("alone", "curve", "models", "optimum")
_NAMES = (
    "psi", "held_out", "attacker", "epsilon_median", "epsilon_true", "delta", "constants.",
    "predictions.", "warning_fields.",
)  # fmt: skip
"""What begins so is worked out by linear algebra too, in whatever table or manifest it stands."""
_MOST = 6
"""Parts of a sweep that are listed one by one."""
_SHA = "sha256:"
"""What stands before a digest in a manifest, where a sweep is over files.

:func:`_fields` also puts it before every path, to mark the values that are paths of files.
"""
_OF_ALL = {
    "cpu_features": "on a processor with other features",
    "mixed_versions": "by several versions (mixed_versions in manifest.json)",
}
"""Circumstances whose two values are not printed."""


def other_kernels(directory: Path) -> dict[Path, str]:
    """Return the kernels of a result, or of a sweep and its cells, that are not the one here.

    They stand by the folders of manifests; one that is not named may be any.
    """
    here, by_name = blas_kernel(), {}
    for file in sorted(directory.rglob("manifest.json")):
        try:
            made = from_json(file_bytes(file))
        except (OSError, ValueError):  # a damaged one is a difference
            continue
        named = made.get("blas_kernel") if isinstance(made, Mapping) else None
        if named is None or named != here:
            by_name[file.parent] = "not known" if named is None else str(named)
    return by_name


def beyond_rounding(
    directory: Path, again: Path, differ: Sequence[Difference], kernels: Mapping[Path, str]
) -> tuple[list[Difference], float]:
    """Return the differences that no other kernel explains, and the largest that one does.

    Explained is a distance of numbers that linear algebra gives, to ``TOLERANCE`` of the largest
    value: of the column, or the number itself, and for ψ of the curve. Digests of models and
    curves are explained by what they are of.

    Parameters
    ----------
    directory, again : Path
        The result or sweep, and the same made again.
    differ : sequence of Difference
    kernels : mapping
        As :func:`other_kernels` returns it.
    """
    largest_psi = cache(lambda folder: _largest_psi(again / folder))

    def apart_of(differs: Difference) -> float:
        folder = Path(differs.file).parent
        made_here = directory / folder not in kernels
        # A cell that was made here must be equal. The files of the sweep itself (folder ".") hold
        # figures of its cells, so that any cell's other kernel may explain their differences.
        if made_here and (folder != Path() or len(kernels) == 0):
            return inf
        return _relative_distance(differs, largest_psi)

    apart = [apart_of(item) for item in differ]
    far = [item for item, by in zip(differ, apart, strict=True) if by > TOLERANCE]
    return far, max((by for by in apart if by <= TOLERANCE), default=0.0)


def _relative_distance(differs: Difference, largest_psi: Callable[[Path], float]) -> float:
    """Return a distance relative to the largest value; infinite where no kernel explains it."""
    file = Path(differs.file)
    # A digest has no distance: what it is of is compared itself, number by number.
    if differs.place.startswith("fingerprints.") and differs.place.endswith((".models", ".curve")):
        return 0.0
    name = differs.place.removeprefix("summary.").removeprefix("asyncdp.")
    # Linear algebra makes these figures wherever they stand, and all columns of some tables but
    # their times, which the network makes.
    if not name.startswith(_NAMES) and (file.stem not in _TABLES or name.startswith("time")):
        return inf
    # The rounding of ψ is relative to the largest value of its curve, not to its small last one.
    curve = largest_psi(file.parent) if name.startswith("psi") else 0.0
    largest = max(differs.largest, curve)
    return differs.distance / largest if largest > 0 else inf


def _largest_psi(folder: Path) -> float:
    """Return the largest finite |ψ| of the curves in a folder."""
    files = sorted(folder.rglob("curve.parquet"))
    curves = [read_columns(file.parent, "curve", ["relative_fitness"])[0] for file in files]
    values = np.abs(np.concatenate([np.zeros(1), *curves]))
    return float(values[np.isfinite(values)].max())


def numbers_of(directory: Path, scenario: Scenario) -> list[int]:
    """Return which replicates a result is of.

    Raises
    ------
    ResultError
        If the manifest does not say so.
    """
    replicates: list[int] = read_manifest(directory, "summary")["replicates"]
    last, count = replicates[-1], scenario.run.replicates
    if last > count:
        raise not_a_result(directory, f"replicate {last} of {count} (manifest.json, replicates)")
    return replicates


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
        Where files lie now, by the field that names each, as ``data.path=…``; all others are
        looked for where ``scenario.toml`` says, and by their names beside the result, beside its
        sweep, and in the working directory. A file is what was read if its SHA-256 is the
        manifest's. Values in lists are counted from 0: ``latency.query.2.path``.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.

    Raises
    ------
    DataError
        If files are nowhere.
    ReplayError
        If one is another, or if ``scenario.toml`` and the manifest are of two scenarios.
    """
    manifest = read_manifest(directory)
    raw, stated = _stated_places(directory, settings, allow_code=allow_code)
    with TemporaryDirectory(prefix="asyncdp-replay-") as temporary:
        folder = Path(temporary)
        places = _located_files(directory, manifest, raw, folder, stated)
        scenario = _read_scenario(
            directory, with_files(raw, lambda p: places.get(p, p)), allow_code
        )
        recorded = manifest["scenario"]
        differ = list(between("scenario.toml", described(scenario), recorded, "manifest"))
        if len(differ) > 0:
            raise ReplayError(_not_reproduced(directory, differ, manifest["versions"]))
        yield scenario, folder / "again"


def require_same(directory: Path, again: Path) -> list[str]:
    """Compare a result or a sweep with what was made again; return notes on what it was made with.

    Other versions, another commit and another processor are no difference by themselves, nor is
    what is known of the numbers: they are reported, with the differences or alone. So is a column,
    or a figure of a summary, that only the new result has: the earlier one may be older than it,
    and the digest of a curve with more columns is another. Where another BLAS kernel has made it,
    or an unknown one, models and curves may differ in last digits; a note that begins with
    ``OTHER_ALGEBRA`` says how far they do.

    Raises
    ------
    ReplayError
        If anything else differs, naming what and both values, in the order of a run.
    """
    differences = list(directories(directory, again))
    versions = read_manifest(directory)["versions"]
    lines = [f"{directory} was made {item}" for item in _circumstances(versions, differences)]
    new = [item for item in differences if item.new]
    lines += dict.fromkeys(map(_new_in_words, new))  # cells of a sweep have the same
    longer = {Path(item.file).parent for item in new if Path(item.file).name == "curve.parquet"}
    remaining = (item for item in differences if not (item.of_circumstances or item.new))
    differ = [item for item in remaining if not (_of_gains(item) or _of_longer(item, longer))]
    differ.sort(key=Difference.order)
    if len(differ) == 0:
        return lines
    kernels = other_kernels(directory)
    named = " and ".join(sorted(set(kernels.values())))
    made = f"made with BLAS kernel {named}, here {blas_kernel()}"
    far, apart = beyond_rounding(directory, again, differ, kernels)
    if len(far) > 0:
        raise ReplayError(
            _not_reproduced(directory, far, versions) + (f"; {made}" if kernels else "")
        )
    return [*lines, f"{OTHER_ALGEBRA} {apart:.2g} of the largest value, {made}"]


def _new_in_words(differs: Difference) -> str:
    """Return the note on a column or a figure that only the new result has."""
    file = Path(differs.file)
    kind = "column" if file.suffix == ".parquet" else "figure"
    return f"{file.name} has a {kind} now that the earlier result lacks: {differs.place}"


def _of_longer(differs: Difference, curves: Collection[Path]) -> bool:
    """Return whether a difference is in the digest of one of these folders' curves.

    Its columns are compared themselves.
    """
    key, *cells = differs.place.removesuffix(".curve").split(".")
    curve = key == "fingerprints" and differs.place.endswith(".curve")
    return curve and Path(differs.file).parent.joinpath(*cells) in curves


def _of_gains(differs: Difference) -> bool:
    """Return whether a difference is one of gains, and within their tolerance."""
    of_table = Path(differs.file).name == "gains.parquet"
    if not of_table and differs.place.split(".")[0] not in ("consortium", "owners", "remaining"):
        return False
    return differs.distance <= GAINS_TOLERANCE * differs.largest


def _stated_places(
    directory: Path, settings: Sequence[str], *, allow_code: bool
) -> tuple[Raw, dict[str, str]]:
    """Return the tables of ``scenario.toml``, as set, and places that are stated, by old paths.

    A file that several fields name is at the place that is stated of one of them.
    """
    file = directory / "scenario.toml"
    fields = _fields(read_tables(file)[0])
    stated, moved, faults = {}, [], []
    for setting in settings:
        key, _, text = setting.partition("=")
        path, value = fields.get(key.strip().replace('"', "")), toml_value(text)
        if path is not None:
            stated[path] = str(Path(str(value)).absolute())
        elif Place.named(value) is not None:
            moved.append(setting)
        else:
            choices = ", ".join(f"--set {field}=FILE" for field in fields) or "no --set"
            remedy = f"settings stay as they are, only files may have moved: allowed is {choices}"
            faults.append(Fault("--set", repr(setting), remedy))
    if len(faults) > 0:
        raise SpecError(faults, str(directory))
    return read_tables(file, moved, allow_code=allow_code)[0], stated


def _read_scenario(directory: Path, raw: Raw, allow_code: bool) -> Scenario:
    """Return the scenario of tables; if they are damaged, that is one fault and not many."""
    try:
        return scenario_of(raw, allow_code=allow_code)
    except SpecError as error:
        gone = [fault for fault in error.faults if instead_of_field(fault.key) is not None]
        if len(error.faults) == 1 or len(gone) > 0:
            named = gone or error.faults
            raise SpecError(named, str(directory / "scenario.toml")) from None
        more = f"{error.faults[0]}, and {len(error.faults) - 1} more"
        fault = Fault("", f"a damaged scenario.toml ({more})", "allowed is a result directory")
        raise ResultError([fault], str(directory)) from None


def _not_reproduced(directory: Path, differ: Sequence[Difference], versions: object) -> str:
    """Return the message of a result that differs from what was made again."""
    rest = other_versions(versions)
    made = "".join(f"; made with {name} {version}" for name, version in rest.items())
    return f"{directory}: not reproduced: {in_words(differ)} differ{made}"


def _circumstances(versions: object, found: Sequence[Difference]) -> Iterator[str]:
    """Yield what a result was made with, where that differs from what is here."""
    yield from (f"with {name} {version}" for name, version in other_versions(versions).items())
    of_whole = [differs for differs in found if differs.file == "manifest.json"]
    by_key = {differs.place.split(".")[0]: differs for differs in of_whole}
    for key in ("git_commit", "cpu_features", "blas_kernel", "mixed_versions"):
        if key in by_key:
            yield _OF_ALL.get(key) or _making(key, by_key[key])
    reported = {(differs.place, differs.first) for differs in of_whole}
    parts: dict[str, list[str]] = {}
    for differs in found:
        of_versions = differs.file.endswith(VERSIONS)
        place = f"versions.{differs.place}" if of_versions else differs.place
        folder = str(Path(differs.file).parent)
        if differs.of_circumstances and folder != "." and (place, differs.first) not in reported:
            parts.setdefault(_making(place, differs), []).append(folder)
    for made, folders in parts.items():
        yield f"in part {made} ({some_of(sorted(set(folders)), _MOST)})"


def _making(place: str, differs: Difference) -> str:
    """Return how a result, or a part of a sweep, was made, from one place of its circumstances."""
    key, _, name = place.partition(".")
    made = {"git_commit": "at commit", "blas_kernel": "with BLAS kernel"}.get(key)
    if key == "versions" and name != "":
        made = f"with {name}"
    if made is None:
        return "by other versions, or elsewhere"
    return f"{made} {differs.first}, here {differs.second}"


def _fields(raw: Raw) -> dict[str, str]:
    """Return from the fields that name files, by dotted keys, to their paths."""
    marked = leaves_in_lists(with_files(raw, lambda path: f"{_SHA}{path}"))
    named = {key: leaf for key, leaf in marked.items() if str(leaf).startswith(_SHA)}
    return {key: leaf.removeprefix(_SHA) for key, leaf in named.items()}


def _located_files(
    directory: Path,
    manifest: Mapping[str, Any],
    raw: Raw,
    folder: Path,
    stated: Mapping[str, str],
) -> dict[str, str]:
    """Return from each path of a file to where it lies now, under the name it had then.

    A place that is stated is taken at its word, and the file is looked for nowhere else.
    """
    theirs = leaves_in_lists(manifest["scenario"])
    beside = [directory, *directory.resolve().parents[:2], Path.cwd()]
    places: dict[str, str] = {}
    nowhere: list[Fault] = []
    for number, (field, path) in enumerate(_fields(raw).items()):
        name, wanted = _recorded_file(theirs, field)
        if path in places or wanted is None:  # without a digest it is not the manifest's
            continue
        place = Path(stated.get(path, path))
        value = place.parent.resolve() / place.name  # a result may be reached by a link
        rest = () if path in stated else (at / value.name for at in beside)
        present = [p for p in (value, *rest) if p.is_file()]
        where = f"--set {field}=…"
        if len(present) == 0:
            looked = "" if path in stated else ", here or next to the result"
            text = f"there is no such file{looked}; give its place: {where}"
            nowhere.append(Fault(field, repr(str(value)), text))
            places[path] = str(value)
            continue
        same = next((p for p in present if source_of(str(p)).sha256 == wanted), None)
        if same is None:
            digest = source_of(str(present[0])).sha256[:12]
            both = f"{present[0]} has SHA-256 {digest}…, the manifest {wanted[:12]}…"
            text = f"not reproduced: the data file differs ({both})"
            raise ReplayError(f"{directory}: {text}; give another file: {where}")
        at_last = same if same.name == name else _under_old_name(same, folder, number, name)
        places[path] = str(at_last.absolute())
    if len(nowhere) > 0:
        raise DataError(nowhere, str(directory))
    return places


def _recorded_file(theirs: Mapping[str, Any], field: str) -> tuple[str, str | None]:
    """Return a file's name and digest in a manifest, by the field that names it."""
    name, swept, sha256 = str(theirs.get(field)).partition(f" {_SHA}")
    if swept != "":
        return name, sha256
    table, _, last = field.rpartition(".")
    return name, theirs.get(f"{table}.{last.replace('path', 'sha256')}")


def _under_old_name(file: Path, folder: Path, number: int, name: str) -> Path:
    """Return a file under the name that it had, by which the manifest knows it."""
    place = folder / f"data-{number}" / Path(name).name
    place.parent.mkdir()
    try:
        place.symlink_to(file.absolute())
    except OSError:  # a system without links
        shutil.copyfile(file, place)
    return place
