"""The commands: what each is called, where it lives, and its line in ``asyncdp --help``.

A command is imported when it is called: help needs names and lines alone.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup


class Command(NamedTuple):
    """Where a command lives, and what it does, in the words that its docstring begins with."""

    module: str
    does: str


COMMANDS = {
    "list": Command("catalogue", "List the scenarios that come with the package, by name."),
    "new": Command("catalogue", "Write a commented scenario to start from."),
    "check": Command("checking", "Validate scenarios, and say in words what they mean."),
    "forecast": Command(
        "forecasting", "Say how good, how soon, and who profits, without training."
    ),
    "run": Command("running", "Simulate one scenario and learn; write a result directory."),
    "sweep": Command("sweeping", "Run every cell of a sweep, or those that are left."),
    "plot": Command("plotting", "Draw the figures of results into DIR/figures."),
    "report": Command("reporting", "Write one page of a result or a sweep."),
    "compare": Command("comparing", "Compare results with each other, and their scenarios."),
    "replay": Command("replaying", "Make a result or a sweep again, and compare all of it."),
    "audit": Command("auditing", "Attack a scenario's privacy, for lower bounds on its ε."),
    "describe": Command("describing", "Say what a field, kind or column means."),
    "schema": Command("describing", "Print the JSON schema of scenario files, for editors."),
    "data": Command("table", "Look at a table, and propose a scenario's [data] for it."),
    "import": Command("importing", "Turn networks that others measured into scenarios."),
    "play-release": Command("table", "Play a release of second moments on synthetic records."),
}
"""In the order of ``asyncdp --help``; a test holds each line equal to its command's docstring."""


class OnCall(Mapping[str, Any]):
    """Commands by name, each made of its function when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            command = COMMANDS[name]
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            module = import_module(f"{__package__}.{command.module}")
            alone.command(name)(getattr(module, f"{name.replace('-', '_')}_command"))
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LateGroup(TyperGroup):
    """The group of all commands, which lists them without importing any."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = OnCall()

    def format_commands(self, _context: Any, formatter: Any) -> None:
        """Write each command's name and line, as they stand in the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.does) for name, command in COMMANDS.items()])
