"""Owners counted: by their names, or by the table's column whose values they are."""

from collections.abc import Callable, Iterable

from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.kind import DataKind
from asyncdp_sim.errors import SpecError
from asyncdp_sim.scenario.paths import Raw
from asyncdp_sim.spec import parse

NamesOf = Callable[[DataKind], tuple[str, ...]]


def count_owners(
    raw: Raw,
    names_of: NamesOf = lambda data: data.owner_names(),
    otherwise: int | None = None,
) -> bool:
    """Fill in ``owners.count`` where it is absent, and names or the table's column say it.

    Only then is the table read, and of it that column; what is wrong with the data otherwise is
    said with all other faults.

    Parameters
    ----------
    raw : dict
        A scenario's tables.
    names_of : callable
        From data to the owners' names.
    otherwise : int, optional
        The count where nothing says it.

    Returns
    -------
    bool
        Whether it was filled in.

    Raises
    ------
    DataError
        If the table cannot be read.
    """
    owners = raw.get("owners", {})
    if not isinstance(owners, dict) or "count" in owners:
        return False
    names = owners.get("names")
    if names is None:
        try:
            names = names_of(parse(DataSpec, raw.get("data")))
        except SpecError:
            names = ()
    told = isinstance(names, list | tuple) and len(names) > 0
    count = len(names) if told else otherwise
    if count is not None:
        raw["owners"] = owners | {"count": count}
    return count is not None


def may_change(paths: Iterable[str]) -> bool:
    """Tell whether setting any of these paths may change who the owners are."""
    spelled = [path.split(".") for path in paths]
    return any(
        keys[0] == "data" or keys[:2] in (["owners"], ["owners", "names"]) for keys in spelled
    )
