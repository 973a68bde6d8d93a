"""Notes on rows of a table: public, owned by somebody, or unused."""

from collections.abc import Sequence
from pathlib import Path

from asyncdp_sim.data.dataset import Rows, Source
from asyncdp_sim.notices import Counted


def public_rows_note(
    source: Source | None, file: str | None, public: int, seed: int | None
) -> tuple[str, ...]:
    """Return which rows of a file are public, where one was read."""
    if source is None or public == 0:
        return ()
    return (
        Counted(
            f"Public rows: {'the last {public}' if seed is None else '{public}'} of {{file}}"
            f"{'' if seed is None else ', chosen at random'}. Anybody may know them, and they "
            "alone decide codes and projection.",
            public=public,
            file=Path(file or source.name).name,
        ),
    )


def usage(
    rows: Sequence[Rows], total: int, first_public: int, overlap: Sequence[int]
) -> tuple[str, ...]:
    """Return how many owners' rows are public, and how many rows are nobody's."""
    notes = []
    if sum(overlap) > 0:
        notes.append(
            Counted(
                "{shared} of the {public} public rows are also owners' records: for these records "
                "epsilon is infinite.",
                shared=sum(overlap),
                public=total - first_public,
            )
        )
    used = sum(len(r) for r in rows)
    unused = total - used - ((total - first_public) - sum(overlap))
    if unused > 0:
        notes.append(
            Counted(
                "{unused} of the table's {total} rows are neither owned nor public: unused.",
                unused=unused,
                total=total,
            )
        )
    return tuple(notes)
