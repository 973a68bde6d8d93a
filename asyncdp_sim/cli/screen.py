"""Everything that several commands show: notes, and a result's figures."""

import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer


def note(text: str) -> None:
    """Print a note, apart from what the command was asked for."""
    show([f"note: {text}"], err=True)


def show(lines: Sequence[str], *, err: bool = False) -> None:
    """Print lines, folded on a terminal; in a pipe each is one line, whatever its length.

    Parameters
    ----------
    lines : sequence of str
    err : bool
        Whether they are errors or notes, which have a stream of their own.
    """
    from asyncdp_sim.core.words import agreed

    folded = watched(err=err)
    for line in map(agreed, lines):
        typer.echo("\n".join(_folded(line)) if folded else line, err=err)


def show_settings(lines: Sequence[str]) -> None:
    """Print lines of a scenario; on a terminal, a comment that does not fit stands above its line.

    What is copied from there means the same.
    """
    from asyncdp_sim.core.words import screen_width

    width = screen_width()
    for line in lines:
        setting, mark, comment = line.rpartition("  # ")
        if len(line) <= width or mark == "" or not watched(err=False):
            typer.echo(line)
            continue
        above = textwrap.wrap(comment, width, initial_indent="# ", subsequent_indent="# ")
        typer.echo("\n".join([*above, setting.rstrip()]))


def watched(*, err: bool) -> bool:
    """Return whether what is printed goes to a terminal."""
    return (sys.stderr if err else sys.stdout).isatty()


def _folded(line: str) -> list[str]:
    """Return a line in parts that fit the screen, the others below its value.

    A word that does not fit, such as a path, is left whole, so that it can be copied.
    """
    from asyncdp_sim.core.words import screen_width

    width = screen_width()
    if len(line) <= width:
        return [line]
    begins = re.match(r" *(?:\S+ )*\S+ {2,}|\s*", line)
    result = 0 if begins is None else begins.end()
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * (min(24, result) if result > 0 else 2),
        break_on_hyphens=False,
        break_long_words=False,
    )


def note_all(notes: Sequence[str]) -> None:
    """Print notes, each once, those on privacy first."""
    for sentence in sorted(dict.fromkeys(notes), key=lambda sentence: "private" not in sentence):
        note(sentence)


NOTHING_KEPT = "nothing is kept"


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C, or another signal that ends a program, and what is kept."""

    def lines(self) -> list[str]:
        """Return what is kept, and the command that continues from it."""
        again = "to start again" if str(self).startswith(NOTHING_KEPT) else "to go on"
        return [f"interrupted: {self}", f"{again}: {as_typed()}"]


def as_typed() -> str:
    """Return the command as it was typed."""
    return f"asyncdp {shlex.join(sys.argv[1:])}"


@contextmanager
def keeping(kept: Callable[[], str]) -> Iterator[None]:
    """Say what is kept where Ctrl-C ends what is inside."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(kept()) from None


def next_steps(*steps: tuple[str, Sequence[object]]) -> None:
    """Print possible next commands: purpose and text."""
    width = max(len(purpose) for purpose, _ in steps) + 1
    for purpose, words in steps:
        typer.echo(f"{purpose + ':':<{width}} asyncdp {shlex.join(map(_word, words))}")


def _word(of_a_command: object) -> str:
    """Return a word of a command; a path that begins with a dash is no option."""
    text = str(of_a_command)
    return f"./{text}" if isinstance(of_a_command, Path) and text.startswith("-") else text


def of_a_result(directory: Path) -> list[tuple[str, Sequence[object]]]:
    """Return the next steps for any result, drawn or not."""
    return [
        ("what ψ means", ["describe", "relative_fitness"]),
        ("to write a report", ["report", directory]),
        ("to compute it again", ["replay", directory]),
    ]


def put_schema_beside(scenario: Path) -> None:
    """Write the JSON schema beside a scenario that was written, where there is none, and say so."""
    from asyncdp_sim.sentences.names import write_beside

    text = write_beside(scenario)
    if text is not None:
        show([text])


def show_result(directory: Path, notes_before: Sequence[str], *, done: bool, details: bool) -> None:
    """Print the figures that matter most, where they are, and warnings.

    Parameters
    ----------
    directory : Path
    notes_before : sequence of str
        Further notes.
    done : bool
        Whether it was all there before, so that the command had nothing to do.
    details : bool
        Whether to print all figures, and notes that limit no figure.
    """
    from asyncdp_sim.sentences.result import result_lines, warnings_first

    before = ["already finished: nothing was computed again"] if done else []
    lines = result_lines(directory, details=details)
    show([*lines, *before, f"result in {directory}"])
    reasons = [line for line in lines if line.startswith("because")]
    # a reason that has been shown is a note but for its mark
    limits, rest = warnings_first(directory)
    marked = [(item, item.partition(": ")[2] or item) for item in limits]
    further = [item for item, reason in marked if not any(r.endswith(reason) for r in reasons)]
    further += rest if details else []
    more = f"--details prints {len(rest)} further note{'s' * (len(rest) > 1)}"
    hidden = [more] if len(rest) > 0 and not details else []
    note_all([*notes_before, *further, *hidden])
