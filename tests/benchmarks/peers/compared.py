"""The table of peers: each one's time, and how many times as fast ours is."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.peers.pinned import FIELDS, Field, Ours, Peer
from tests.benchmarks.peers.timed import NotTimedError, Timed, environment, timed
from tests.benchmarks.ratio import figure
from tests.markdown_tables import table

Run = Callable[[Field, Peer | Ours], Timed]


def run(field: Field, who: Peer | Ours) -> Timed:
    """Time one of ours here, or a peer in its environment.

    Raises
    ------
    NotTimedError
        If there is no time of it.
    """
    if isinstance(who, Ours):
        return timed(sys.executable, "ours", field.done, who.word)
    return timed(environment(who), who.module, field.done)


@dataclass(frozen=True)
class Compared:
    """What became of a comparison.

    Attributes
    ----------
    table : str
        In Markdown, with the peers that were not timed below it.
    short : tuple of str
        Where ours is slower than asked.
    """

    table: str
    short: tuple[str, ...]


def compared(run: Run = run, fields: Sequence[Field] = FIELDS) -> Compared:
    """Time all, in one go.

    Raises
    ------
    NotTimedError
        If one of ours has no time.
    """
    tables, short = [], []
    for field in fields:
        ours = [run(field, each) for each in field.ours]
        rows, missing = [], []
        for peer in field.peers:
            try:
                theirs = run(field, peer)
            except NotTimedError as error:
                missing.append(f"Not timed here: {peer.name} {peer.version}: {error}.")
                continue
            rows.append(_row(field, peer, theirs, ours))
            short += _short(field, peer, theirs, ours)
        below = ["", *missing] if len(missing) > 0 else []
        tables.append("\n".join([table(_head(field, ours), rows), *below]))
    return Compared("\n\n".join(tables), tuple(short))


def _head(field: Field, ours: Sequence[Timed]) -> list[str]:
    """Return the head of a field's table, in which our own times stand."""
    ways = [
        f"times ours, {each.how} ({figure(1e3 * time.seconds)} ms)"
        for each, time in zip(field.ours, ours, strict=True)
    ]
    return [field.what, "CPU time", *ways, "it leaves out"]


def _row(field: Field, peer: Peer, theirs: Timed, ours: Sequence[Timed]) -> list[str]:
    asked = dict(peer.asked)
    ratios = []
    for each, time in zip(field.ours, ours, strict=True):
        wanted = f" (asked: {asked[each.word]:g})" if each.word in asked else ""
        ratios.append(f"{figure(theirs.seconds / time.seconds)}{wanted}")
    name = f"{peer.name} ({peer.pins[0]})"
    return [name, f"{figure(1e3 * theirs.seconds)} ms", *ratios, peer.lacks]


def _short(field: Field, peer: Peer, theirs: Timed, ours: Sequence[Timed]) -> Iterator[str]:
    asked = dict(peer.asked)
    for each, time in zip(field.ours, ours, strict=True):
        ratio = theirs.seconds / time.seconds
        if ratio < asked.get(each.word, 0.0):
            yield f"{each.how}: {figure(ratio)} of {peer.name}; asked is {asked[each.word]:g}"
