"""The command line: argument parsing, progress, tables on screen; a file a command.

A command is imported when it is called: ``asyncdp --help`` needs names and lines alone.
"""

import difflib
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

import asyncdp_sim
from asyncdp_sim.cli import terminal
from asyncdp_sim.cli.terminal import NOTHING_KEPT, Interrupted, as_typed, show
from asyncdp_sim.core.errors import InputError, InvariantError, ReplayError, gave_way
from asyncdp_sim.core.gone import instead_of_command, instead_of_option
from asyncdp_sim.core.starting import (
    TO_START,
    heard,
    ready_streams,
    require_address_space,
    require_working_directory,
)

INTERRUPTED = 130
"""What typer returns for Ctrl-C, and the exit code for that; 143 and 129 are other signals'."""

READER_GONE = 141
"""The exit code where nobody reads any more what is printed, as in ``asyncdp list | head -1``: what
a shell says of SIGPIPE."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Raised for wrong arguments; typer names only this subclass of it."""


class Command(NamedTuple):
    """A command's module, its subject, the words that its docstring begins with, and two examples.

    And its own options and arguments, by parameter.
    """

    module: str
    subject: str
    does: str
    examples: tuple[str, str]
    options: Mapping[str, Sequence[str]] = {}


_TABLES = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
COMMANDS = {name: Command(**table) for name, table in _TABLES["commands"].items()}
"""A test holds each line equal to its command's docstring."""
GROUPS = {
    subject: [name for name, command in COMMANDS.items() if command.subject == subject]
    for subject in _TABLES["subjects"]
}
"""Subjects of ``asyncdp --help``, and their commands."""
_HELP = {"help_option_names": ["-h", "--help"]}


def _examples(*lines: str) -> str:
    """Return the examples under a help, whose lines are kept."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class PlainCommand(TyperCommand):
    """A command whose help names arguments as people do, without the types of Python."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options, with ``FILE`` where typer writes ``FILE <path>``."""
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            members = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            helps = [record for param in members if (record := param.get_help_record(ctx))]
            if len(helps) > 0:  # typer below 0.29 escapes brackets
                rows = [(name.partition(" <")[0], text.replace("\\[", "[")) for name, text in helps]
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def format_arguments(self, _context: Any, _formatter: Any) -> None:
        """Write nothing, as arguments are written with the options; click 8.5 would do so too."""


class LateGroup(TyperGroup):
    """The group of all commands: each is imported and made when it is first asked for."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)

    def get_command(self, _context: Any, name: str) -> Any:
        """Return a command, made of its function; None if there is none of this name."""
        if name in COMMANDS and self.commands[name] is None:
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            module = import_module(f"{__name__}.{COMMANDS[name].module}")
            function = getattr(module, f"{name.replace('-', '_')}_command")
            texts = _texts_of(function, COMMANDS[name].options)
            _annotate(function, texts)
            text = _examples(*COMMANDS[name].examples)
            alone.command(name, cls=PlainCommand, epilog=text, context_settings=_HELP)(function)
            made: Any = typer.main.get_command(alone)
            for param in made.params:
                if param.param_type_name == "argument":  # whose help typer 0.20 loses to click 8.5
                    param.help = texts[param.name].help
            self.commands[name] = made
        return self.commands.get(name)

    def resolve_command(self, context: Any, words: list[str]) -> Any:
        """Return a command with its name and the words that follow; or name the nearest one."""
        gone = instead_of_command(words)
        if gone is not None:
            raise USAGE_ERROR(gone)
        if words[0] not in COMMANDS:
            near = difflib.get_close_matches(words[0], COMMANDS, n=1)
            meant = "".join(f" Did you mean {name!r}?" for name in near)
            raise USAGE_ERROR(f"No such command {words[0]!r}.{meant}")
        return super().resolve_command(context, words)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """Write each command's name and line, by subject."""
        for subject, names in GROUPS.items():
            with formatter.section(subject):
                formatter.write_dl([(f"{name:<12}", COMMANDS[name].does) for name in names])


class ParameterText(NamedTuple):
    """The entry of a parameter in ``commands.toml``: its words, its reader if any, its help.

    The words are flags of an option, as ``--out``, and the name of its value, as ``DIR``; for an
    argument the name alone. Without words it is neither.
    """

    words: str = ""
    reader: str = ""
    help: str = ""


def _texts_of(function: Any, own: Mapping[str, Sequence[str]]) -> dict[str, ParameterText]:
    """Return the texts of a function's parameters: a command's own, or those of all commands."""
    options = _TABLES["options"] | dict(own)
    return {name: ParameterText(*options.get(name, ())) for name in get_type_hints(function)}


def _annotate(function: Any, texts: Mapping[str, ParameterText]) -> None:
    """Write into a function's annotations which parameters are options, and which arguments."""
    for name, kind in get_type_hints(function).items():  # as it was written, each time
        words, reader, text = texts[name]
        listed: Any = Any if reader else list[str] if kind == Sequence[str] else kind
        flags = [word for word in words.split() if word.startswith("-")]
        values = [word for word in words.split() if not word.startswith("-")]
        settings: Any = {"metavar": values[0] if values else None, "help": text}
        if len(flags) > 0:
            settings["parser"] = getattr(terminal, reader) if reader else None
            function.__annotations__[name] = Annotated[listed, typer.Option(*flags, **settings)]
        elif words != "":
            function.__annotations__[name] = Annotated[listed, typer.Argument(**settings)]


app = typer.Typer(
    cls=LateGroup,
    invoke_without_command=True,
    add_completion=False,
    context_settings=_HELP,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, in half the time
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"asyncdp {asyncdp_sim.__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    most_rows: int | None = None,
    most_bytes: int | None = None,
) -> None:
    """Simulate asynchronous networks that learn under differential privacy."""
    if most_rows is not None or most_bytes is not None:
        from asyncdp_sim.data.tables.file_form import BYTES, ROWS, raised

        value = {ROWS: most_rows, BYTES: most_bytes}
        limits = {name: limit for name, limit in value.items() if limit is not None}
        context.with_resource(raised(limits))
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise USAGE_ERROR("given no command; allowed is one of those above")


_annotate(_options, _texts_of(_options, _TABLES["all"]))
_OF_ALL = _examples("asyncdp sweep twenty-small-banks --plot", "asyncdp run --help")
app.callback(epilog=_OF_ALL)(_options)


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 2 wrong input, 3 a check failed, 4 the machine gave way, 130 interrupted by
    Ctrl-C (143 by SIGTERM, 129 by SIGHUP), 141 the reader of the output has closed it.
    """
    ready_streams()
    with heard() as interruption:
        code = _ended()
        sys.exit(interruption.code if code == INTERRUPTED else code)


def _ended() -> int | None:
    """Run the command line, say how it ended where it was not done, and return the exit code."""
    try:
        require_address_space(TO_START)
        require_working_directory()
        code: int | None = _group()(standalone_mode=False)
    except SystemExit:  # typer's, of a reader that has gone
        return READER_GONE
    except Interrupted as error:
        return _said(error.lines(), INTERRUPTED)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except InputError as error:
        return _said(error.lines(), 2)
    except USAGE_ERROR as error:
        return _said([_usage_text(error)], 2)
    except ReplayError as error:
        return _said([str(error)], 3)
    except InvariantError as error:
        wrong = f"asyncdp: {error}: a mistake of the simulator, not of the input"
        return _said([wrong, f"to see it again: {as_typed()}"], 3)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing in ("None", "asyncdp_sim"):
            raise
        return _said([f"asyncdp: {missing} is not installed: pip install {missing}"], 2)
    except Exception as error:
        machine = gave_way(error)
        if machine is None:
            raise
        command = next((word for word in sys.argv[1:] if word in COMMANDS), "")
        keeps = command in ("run", "sweep")  # others have nothing to continue from
        return _said([f"asyncdp: {machine if keeps else machine.brief}"], 4)
    return _said(Interrupted(NOTHING_KEPT).lines(), code) if code == INTERRUPTED else code


def _usage_text(error: Any) -> str:
    """Return in a line what is wrong with the words of a command, and how it is meant.

    The parser's own text, without its marks; or, for an option that is gone, what to type instead.
    An unknown option may be a field of the scenario, and a further word a setting without quotes.
    """
    option, context = getattr(error, "option_name", ""), error.ctx
    command = None if context is None else context.info_name
    text = str(error.format_message()).removeprefix("Invalid value: ")
    text = text.replace("Value error, ", "")  # pydantic's
    if context is not None and any(param.name == "settings" for param in context.command.params):
        if text.startswith("No such option"):
            field = _as_setting(option)
            if field != "":  # the field is meant, and no option that is spelled like it
                text = text.partition(" (Possible")[0] + field
        elif text.startswith("Got unexpected extra"):
            text += "; a value with spaces needs quotes: --set 'PATH=VALUE'"
    return " ".join(f"asyncdp: {instead_of_option(command, option) or text}".split())


def _as_setting(option: str) -> str:
    """Return how a field is set that somebody takes for an option; nothing for other options."""
    from asyncdp_sim.scenario.fields import fields

    name = option.lstrip("-").replace("-", "_")
    paths = dict.fromkeys(field.path for field in fields() if field.name == name)
    ways = " or ".join(f"--set {path}=VALUE" for path in paths)
    return f"; a field is set by {ways}" if ways != "" else ""


@cache
def _group() -> Any:
    """Return the commands as typer makes them of :data:`app`, once in a process."""
    return typer.main.get_command(app)


def _said(lines: Sequence[str], code: int) -> int:
    show(lines, err=True)
    return code
