"""Dotted paths of a scenario: as ``--set`` and ``[sweep]`` set them, and swept settings in words.

The words are the letter of each path, its axis, and what its values mean.
"""

import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import from_toml
from asyncdp_sim.core.validation import fields_of_kind, show
from asyncdp_sim.core.words import MOST_NUMBERS, as_float, number, numbers, ranges
from asyncdp_sim.network.channels import label_of

Raw = dict[str, Any]
"""A scenario as TOML tables."""


def set_path(spec: object, raw: Raw, path: str, value: Any) -> list[str]:
    """Set a dotted path in plain tables; return in words what was dropped for it.

    Setting ``X.kind`` drops X's fields that the new kind lacks, and one of two fields that exclude
    each other replaces the other.
    """
    *parents, last = keys(path)
    table: Any = raw
    for depth, parent in enumerate(parents, 1):
        inner = table.setdefault(parent, {})
        if isinstance(inner, str) and fields_of_kind(spec, parents[:depth], inner) is not None:
            inner = table[parent] = {"kind": inner}  # a kind that stood alone
        table = inner
        if not isinstance(table, dict):
            remedy = f"{parent!r} is not a table, so nothing can be set below it"
            raise SpecError([Fault(path, show(value), remedy)])
    if last == "kind" and table.get("kind") != value:
        keep = fields_of_kind(spec, parents, value)
        dropped = sorted(key for key in table if keep is not None and key not in keep)
        for key in dropped:
            del table[key]
        table["kind"] = value
        where = ".".join(parents)
        return [f"{path} = {value}: dropped {where}.{key}, which it lacks" for key in dropped]
    table[last] = value
    other = EITHER.get(keys(path))
    if other is None or table.pop(other, None) is None:
        return []
    return [f"{path} = {value}: replaces {'.'.join([*parents, other])}"]


EITHER: dict[tuple[str, ...], str] = {("algorithm", "step"): "rho", ("algorithm", "rho"): "step"}
"""Fields of which a scenario gives one, and the other of the two beside it."""


@lru_cache(maxsize=64)  # each cell of a sweep sets the same
def keys(path: str) -> tuple[str, ...]:
    """Split a dotted path as TOML does.

    Raises
    ------
    SpecError
        If it is not a dotted path.
    """
    matches: list[str] = []
    try:
        table: Any = from_toml(f"{path} = 0")
    except ValueError:
        table = {}
    while isinstance(table, dict) and len(table) == 1:
        [(key, table)] = table.items()
        matches.append(key)
    if table != 0:
        remedy = "allowed is a dotted path such as privacy.epsilon"
        raise SpecError([Fault("", show(path), remedy)])
    return tuple(matches)


def leaves(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths of nested tables and what stands there; lists are values."""
    for key, value in table.items():
        if isinstance(value, Mapping) and len(value) > 0:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


VARIANT = "variant"
"""The swept name whose values are tables of dotted paths, each with a ``name``."""


def variant_faults(values: list[Any]) -> Iterator[Fault]:
    """Yield what is wrong with a list of variants."""
    names: list[object] = []
    for variant in values:
        if not isinstance(variant, Mapping) or not isinstance(variant.get("name"), str):
            remedy = 'allowed are tables with a text "name" and dotted paths'
            yield Fault(VARIANT, show(variant), remedy)
            continue
        if variant["name"] in names:
            yield Fault(VARIANT, show(variant["name"]), "allowed is each name once")
        names.append(variant["name"])
        for path in variant:
            try:
                first = keys(path)[0]
            except SpecError as error:
                yield from error.faults
                continue
            if first in ("schema", "id", "sweep"):
                yield Fault(VARIANT, path, "allowed is a field of the run")


def variant_settings(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the dotted paths that a swept value sets, and what it sets them to."""
    if path == VARIANT:
        yield from ((inner, item) for inner, item in value.items() if inner != "name")
    else:
        yield path, value


def spoken(path: str, value: Any) -> Any:
    """Return a swept value as tables and pictures show it: a variant by its name."""
    return value["name"] if path == VARIANT else value


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, str | int):  # before all that takes longer to tell
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Mapping):
        return {"null" if key is None else key: jsonable(inner) for key, inner in value.items()}
    return value


def toml(tables: Raw) -> str:
    """Return tables as TOML."""
    import tomli_w  # only where a scenario is written

    return tomli_w.dumps(tables)


def listed(value: Any) -> Any:
    """Return plain tables anew, with text keys, lists for tuples and arrays, and plain numbers."""
    if isinstance(value, dict):
        return {str(key): listed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [listed(inner) for inner in value]
    return value.tolist() if hasattr(value, "tolist") else value


@cache
def labels() -> Mapping[str, Mapping[str, Any]]:
    """Return ``symbols``, ``axes``, ``choices`` and ``phrases``, each by path."""
    return tomllib.loads(files(__package__).joinpath("labels.toml").read_text("utf-8"))


def symbol(path: str) -> str:
    """Return the letter or word for a swept path."""
    return str(labels()["symbols"].get(path, path.rpartition(".")[2].replace("_", " ")))


def axis(path: str) -> str:
    """Return what stands along an axis of a swept number."""
    return str(labels()["axes"].get(path, path.replace(".", ": ").replace("_", " ")))


def words(path: str, value: Any) -> str:
    """Return one swept setting in words, such as ``online 20 % of the time``.

    Parameters
    ----------
    path : str
        Of the setting.
    value : object
        As cells hold it: tables and lists stand there as JSON text.
    """
    if path == VARIANT:
        return str(value)
    setting = _parsed(value)
    named = f"{setting:g}" if isinstance(setting, int | float) else setting
    choices = labels()["choices"].get(path, {})
    if isinstance(named, str) and named in choices:
        return str(choices[named])
    if path in PHRASES:
        return PHRASES[path](setting)
    if path in labels()["phrases"]:
        return str(labels()["phrases"][path]).format(_plain(setting))
    if isinstance(setting, Mapping):
        return _table(path, setting)
    if isinstance(setting, Sequence) and not isinstance(setting, str):
        return _values_by_owner(symbol(path), setting)
    return f"{symbol(path)} = {_plain(setting)}"


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _plain(value: Any) -> str:
    """Return a value that no phrase is known for."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _law(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_plain, value)) + "]"
    if isinstance(value, int):
        return f"{value:,}"  # every digit, as of a seed
    if isinstance(value, str):  # a choice, unless it is a name such as north-2020.csv
        choice = re.fullmatch("[a-z_-]+", value)
        return re.sub("[-_]", " ", value) if choice else with_short_digest(value)
    current = as_float(value)
    return str(value) if current is None else number(current)


def with_short_digest(text: str) -> str:
    """Return a text in which digests of files have eight digits, enough to tell them apart."""
    return re.sub(r"(sha256:[0-9a-f]{8})[0-9a-f]+", r"\1", text)


def _values_by_owner(letter: str, given: Sequence[Any]) -> str:
    """Return a value for each owner; where all but the first agree, those as one."""
    values = [as_float(value) for value in given]
    entries = [value for value in values if value is not None]
    if len(entries) < len(values) or len(values) == 0:
        return f"{letter} = {_plain(list(given))}"
    of_one = letter.removesuffix("_i")
    if len(set(entries)) == 1:
        return f"{letter} = {number(entries[0])}"
    if len(set(entries[1:])) == 1:
        rest = "2" if len(entries) == 2 else f"2 to {len(entries)}"
        return f"{of_one} of owner 1 = {number(entries[0])}, of {rest} = {number(entries[1])}"
    if len(entries) <= MOST_NUMBERS:
        return f"{of_one} by owner = {', '.join(map(number, entries))}"
    return f"{of_one} = {numbers(entries)}, by owner"


def _law(given: Mapping[str, Any]) -> str:
    """Return a kind with its settings, such as ``exponential, mean 2``."""
    kind = [str(given["kind"]).replace("-", " ")] if "kind" in given else []
    rest = [f"{symbol(k)} {_plain(v)}" for k, v in given.items() if k != "kind"]
    return ", ".join(kind + rest)


def _table(path: str, given: Mapping[str, Any]) -> str:
    """Return a table: its kind, and what else it sets, each in words."""
    phrase = KINDS.get(f"{path}.{given.get('kind')}")
    if phrase is not None:
        return phrase(given)
    if "kind" not in given:
        return ", ".join(words(f"{path}.{name}", value) for name, value in given.items())
    kind = label_of(str(given["kind"])) if path == "channel" else str(given["kind"])
    rest = [words(f"{path}.{name}", value) for name, value in given.items() if name != "kind"]
    return ", ".join([kind.replace("-", " "), *rest])


def _percent(share: Any) -> str:
    return f"{number(100 * float(share))} %"


def _online(given: Any) -> str:
    """Return how often owners are online."""
    if not isinstance(given, list):
        return f"online {_percent(given)} of the time"
    owners = {share: [i for i, item in enumerate(given, 1) if item == share] for share in given}
    if {*owners} <= {0, 1} and 1 in owners:
        noun = f"owner{'s' * (len(owners[1]) > 1)}"
        return f"{noun} {ranges(owners[1])} online" + " alone" * (0 in owners)
    if len(owners) > 3:
        return f"online {_percent(max(given))} to {_percent(min(given))} of the time, by owner"
    lines = [
        f"owner{'s' * (len(numbers) > 1)} {ranges(numbers)} online {_percent(share)} of the time"
        for share, numbers in owners.items()
        if share < 1
    ]
    return ", ".join(lines) or "always online"


def _lasting(law: Any) -> str:
    mean = law.get("mean", law.get("value")) if isinstance(law, Mapping) else law
    value = as_float(mean)
    return _plain(law) if value is None else number(value)


def _on_off(given: Mapping[str, Any]) -> str:
    on, off = (_lasting(given.get(side)) for side in ("on", "off"))
    return f"on for {on} units, off for {off}, in the mean"


def _groups(given: Any) -> str:
    if not isinstance(given, list):
        return f"groups = {_plain(given)}"
    together = [ranges(sorted(group)) for group in given if len(group) > 1]
    alone = ranges(sorted({group[0] for group in given if len(group) == 1}))
    parts = {"offline together": " and ".join(together), "offline alone": alone}
    return "; ".join(f"{manner}: {owners}" for manner, owners in parts.items() if owners != "")


PHRASES: Mapping[str, Callable[[Any], str]] = {
    "availability.probability": _online,
    "availability.groups": _groups,
    "channel.retransmissions": lambda n: f"up to {_plain(n)} retransmission{'s' * (n != 1)}",
    "protocol.delay": lambda law: f"mean {_lasting(law)}",
}
"""Sentences of values that are numbers, or lists of them."""
KINDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "availability.always": lambda _: "always online",
    "availability.on-off": _on_off,
    "availability.bernoulli": lambda given: _online(given.get("probability")),
}
"""Sentences of whole tables, by path and kind."""
