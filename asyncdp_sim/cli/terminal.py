"""All that several commands read and show: options, notes, and figures of a result."""

import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from asyncdp_sim.decision import Judging
    from asyncdp_sim.scenario import Scenario


def directory(given: str | Path) -> Path:
    """Read a directory; a URL is none, since it has no lock that keeps two sweeps apart."""
    if "://" in str(given):
        remedy = "allowed is a directory: a shared folder serves a cluster"
        raise typer.BadParameter(f"given {str(given)!r}, a URL; {remedy}")
    return Path(given)


def whole_number(given: str | int) -> int:
    """Read an option's whole number."""
    text = str(given)
    if not (text.isascii() and text.removeprefix("-").isdigit()):
        raise typer.BadParameter(f"given {text!r}; allowed is a whole number")
    if len(text) > 30:
        raise typer.BadParameter(f"given {text[:27]}...; allowed is a whole number below 2^63")
    return int(text)


def count_from(least: int) -> Callable[[str | int], int]:
    """Return a reader of numbers of things that are at least so many."""

    def read(given: str | int) -> int:
        number = whole_number(given)
        if number < least:
            raise typer.BadParameter(f"given {number}; allowed is a whole number ≥ {least}")
        return number

    return read


from_zero = count_from(0)
positive_count = count_from(1)
attack_count = count_from(100)
"""Of attacks, half of which are for the choice of what to look for."""


def charset_name(given: str) -> str:
    """Read the name of a charset."""
    from asyncdp_sim.data.tables.file_form import charset_of

    try:
        return charset_of(given)
    except ValueError as error:
        raise typer.BadParameter(f"given {given!r}; {error}") from None


def number_that(fits: Callable[[float], bool], allowed: str) -> Callable[[str | float], float]:
    """Return a reader of numbers that fit; a text that is none is not a number."""

    def read(given: str | float) -> float:
        try:
            number = float(given)
        except ValueError:
            number = nan
        if not fits(number):
            raise typer.BadParameter(f"given {str(given)!r}; allowed is a number {allowed}")
        return number

    return read


positive = number_that(lambda number: 0 < number < inf, "> 0")
inches = number_that(lambda number: 2.5 <= number <= 20, "of 2.5 to 20 inches")
open_share = number_that(lambda number: 0 < number < 1, "in (0, 1)")
share = number_that(lambda number: 0 < number <= 1, "> 0 and at most 1")


def price_list(given: str) -> tuple[float, ...]:
    """Read prices > 0, separated by commas."""
    return tuple(positive(item.strip()) for item in given.split(","))


def length_of_time(given: str) -> tuple[float, str]:
    """Read a number and a unit of time, such as "2 h"."""
    from asyncdp_sim.core.units import duration

    try:
        return duration(given)
    except ValueError as error:
        raise typer.BadParameter(f"given {error}") from None


def as_options(settings: Sequence[str]) -> list[str]:
    """Return settings as the words of a command."""
    return [word for setting in settings for word in ("--set", setting)]


def who(only: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the settings of ``--only`` and ``--without``."""
    if len(only) > 0 and len(without) > 0:
        raise typer.BadParameter("given --only and --without; allowed is one of them")
    import json

    named = {"only": only, "without": without}
    return [
        f"owners.{key}={json.dumps(names, ensure_ascii=False)}"
        for key, names in named.items()
        if len(names) > 0
    ]


def refuse_without_effect(context: typer.Context, names: Sequence[str], remedy: str) -> None:
    """Refuse options that were typed and have no effect beside the others.

    Parameters
    ----------
    context : typer.Context
    names : sequence of str
        The options' parameters.
    remedy : str
        What to do.
    """
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"given {option.opts[0]}; {remedy}")


def as_judging(material: float | None, own_best: str) -> "Judging":
    """Return how gains are judged, as ``--material`` and ``--own-best`` say."""
    from asyncdp_sim.decision import MATERIAL, Judging

    if own_best not in ("any", "linear"):
        raise typer.BadParameter(f"given --own-best {own_best!r}; allowed: any, linear")
    share = MATERIAL if material is None else material
    return Judging(share, "linear" if own_best == "linear" else "any")


def load_scenario(
    file: Path, settings: Sequence[str], allow_code: bool
) -> tuple["Scenario", list[str]]:
    """Load a scenario by file or name; return it, and what settings changed beside their own."""
    from asyncdp_sim.scenario import load
    from asyncdp_sim.scenario.catalogue import scenario_file

    return load(scenario_file(file), settings, allow_code=allow_code)


def base_notes(file: Path, scenario: "Scenario") -> list[str]:
    """Return a note where a command takes a scenario without its sweep."""
    if len(scenario.sweep) == 0:
        return []
    swept = ", ".join(scenario.sweep)
    return [f"{file} sweeps {swept}; this result is of the base values only"]


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
