"""Tables in Markdown, and pages that have them between two markers."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def rewritten(text: str, content: str, marks: tuple[str, str]) -> str:
    """Return a text with this content between two markers.

    Raises
    ------
    ValueError
        Unless it has both markers, once each and in their order.
    """
    first, last = marks
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if begin == "" or end == "" or first in after or last in before + after:
        raise ValueError(f"no place for the table: a line {first} and after it a line {last}")
    return f"{before}{first}\n{content}\n{last}{after}"
