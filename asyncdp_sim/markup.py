"""Tables in HTML, for notebooks: whatever stands in them is text, and is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(
    rows: Iterable[Sequence[object]], *, title: str = "", said: Sequence[str] = ()
) -> str:
    """Return rows as an HTML table.

    Parameters
    ----------
    rows : iterable of sequence
        The first cell of each names the others.
    title : str
        Above the table.
    said : sequence of str
        Sentences below it.
    """
    above = f"<p><b>{escape(title)}</b></p>" if title else ""
    body = "".join(_row(row) for row in rows)
    below = "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    return f"<div>{above}<table>{body}</table>{below}</div>"


def _row(row: Sequence[object]) -> str:
    name, *values = (escape(str(cell)) for cell in row)
    cells = "".join(f'<td style="text-align:left">{value}</td>' for value in values)
    return f'<tr><th style="text-align:left">{name}</th>{cells}</tr>'
