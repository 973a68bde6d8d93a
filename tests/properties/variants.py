"""Members of a family beyond their own examples: with fields changed within their domains."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Annotated, Any, Literal, get_args, get_origin

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Variant, kind_of, members
from asyncdp_sim.network.laws import Law
from asyncdp_sim.scenario.fields import examples_of
from tests.conformance.members import examples

NUMBERS: dict[Any, list[Any]] = {
    bool: [False, True],
    int: [0, 1, 3],
    float: [0.0, 0.05, 0.125, 0.25, 0.5, 1.0, 3.0],
    type(None): [None],
}
"""Some are outside a field's domain: what a member refuses is no variant of it."""
TRIED = 40

Fits = Callable[[Variant], bool]


def variants(member: type[Variant], left: frozenset[str], fits: Fits) -> list[Variant]:
    """Return a member's examples without some fields, and what changing others makes of them.

    Fields change one by one, each time of an example or of what was found before.
    """
    rng = Random(kind_of(member))
    bare = [made(member, {k: v for k, v in spec if k not in left}) for spec in examples_of(member)]
    found = [spec for spec in bare if spec is not None and fits(spec)]
    domains = {
        name: values(field.annotation, left, fits)
        for name, field in member.model_fields.items()
        if name not in (*left, "kind")
    }
    domains = {name: tried for name, tried in domains.items() if len(tried) > 0}  # texts have none
    for _ in range(TRIED if len(domains) > 0 else 0):
        name = rng.choice(list(domains))
        value = rng.choice(domains[name])
        spec = made(member, {**dict(rng.choice(found)), name: value})
        if spec is not None and fits(spec) and spec not in found:
            found.append(spec)
    return found


def made(member: type[Variant], fields: dict[str, Any]) -> Variant | None:
    """Return the member with these fields; None if it refuses them."""
    try:
        return member(**fields)
    except SpecError:
        return None


def values(annotation: Any, left: frozenset[str], fits: Fits) -> list[Any]:
    """Return values of a field's type."""
    found: list[Any] = []
    for leaf in dict.fromkeys(leaves(annotation)):
        if get_origin(leaf) is Literal:
            found += get_args(leaf)
        elif leaf in members(Law):
            found += [law for law in examples(Law) if type(law) is leaf and law.mean > 0]
        elif leaf in NUMBERS:
            found += NUMBERS[leaf]
        elif isinstance(leaf, type) and issubclass(leaf, Variant):
            found += variants(leaf, left, fits)
    return found


def leaves(annotation: Any) -> Iterator[Any]:
    """Yield the types of which an annotation is a union, without what is said of them."""
    if get_origin(annotation) is Annotated:
        yield from leaves(get_args(annotation)[0])
    elif get_origin(annotation) is Literal or len(get_args(annotation)) == 0:
        yield annotation
    else:
        for part in get_args(annotation):
            yield from leaves(part)
