"""A whole scenario around a table: owners, clip bound, step and length, each with its reason.

Step and length come of :func:`~asyncdp_sim.forecasts.advice.tune.tune` on rows drawn from the
public ones (:mod:`~asyncdp_sim.data.surrogates`): every owner has as many as it has.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.units import ROUNDS, SECONDS, in_unit
from asyncdp_sim.data.table_profile import TableLook
from asyncdp_sim.forecasts.advice.tune import tune
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.proposals.block import (
    chosen_from,
    commented,
    data_lines,
    model_lines,
    text,
)
from asyncdp_sim.scenario import SCHEMA_LINE, Scenario, load


@dataclass(frozen=True)
class Timing:
    """The pace of owners: how often they can answer, how long that takes, when they are online.

    Attributes
    ----------
    unit : str or None
        Of all times; None where nothing is said of the clock.
    every, exchange : float or None
        Mean time between an owner's answers, and time that an exchange takes, in that unit.
    online : float or None
        The share of its ticks at which an owner is online.
    """

    unit: str | None = None
    every: float | None = None
    exchange: float | None = None
    online: float | None = None

    @classmethod
    def read(
        cls,
        every: tuple[float, str] | None,
        exchange: tuple[float, str] | None,
        online: float | None,
    ) -> Self:
        """Return the pace of durations with units; all times are in the unit of ``every``."""
        if every is None:
            return cls(online=online)
        number, unit = every
        if exchange is None:
            return cls(unit, number, None, online)
        length, other = exchange
        return cls(unit, number, length * SECONDS[other] / SECONDS[unit], online)

    def run_lines(self) -> list[tuple[str, str]]:
        """Return what stands in [run]."""
        if self.unit is None:
            return []
        return [(f'time_unit = "{self.unit}"', "unit of printed times")]

    def tables(self) -> list[str]:
        """Return [clock], [latency] and [availability], of which something is said."""
        return [line for table in self._tables() for line in ("", *table)]

    def _tables(self) -> Iterator[list[str]]:
        if self.every is not None:
            comment = in_unit(f"every {self.every:.6g} units", self.unit)
            rate = (f"rate = {1 / self.every:.6g}", f"an owner can answer {comment} on average")
            yield ["[clock]", *commented(('kind = "poisson"', "at random"), rate)]
        if self.exchange is not None:
            value = f"{self.exchange:.6g}"
            law = f'answer = {{ kind = "constant", value = {value} }}'
            comment = in_unit(f"an exchange takes {value} units", self.unit)
            yield ["[latency]", *commented((law, comment))]
        if self.online is not None:
            share = (f"probability = {self.online:g}", "share of its ticks that an owner is online")
            yield ["[availability]", *commented(('kind = "bernoulli"', ""), share)]

    def describe(self) -> str:
        """Return what times mean."""
        if self.unit is None:
            return f'time: {ROUNDS}; --every "1 day" sets it to days'
        return f"time: in {self.unit}s"


OWNERS = 10
"""Owners where no column says whose the rows are."""
RUNS = 10
SEED = 1
UPDATES_EACH = 4
"""Updates for each owner that tuning starts from."""
ROUNDS_OF_ANSWERS = Timing()


@dataclass(frozen=True)
class Choice:
    """Numbers that are chosen on rows drawn from the public ones."""

    step: float = 1.0
    updates: int = 1
    answers: int = 1
    bound: float = 1.0
    said: str = ""


def whole(
    look: TableLook,
    epsilon: float,
    folder: Path,
    progress: Progress | None = None,
    timing: Timing = ROUNDS_OF_ANSWERS,
) -> list[str]:
    """Return the lines of a scenario, whose paths load from ``folder``.

    Parameters
    ----------
    look : TableLook
        With a target, public rows, and two owners or more where a column names them.
    epsilon : float
        ε of every owner.
    folder : Path
    progress : Progress, optional
        Told how far it has come.
    timing : Timing
        How soon; absent, rounds of answers.

    Raises
    ------
    DataError
        If the table has no feature, or too few rows.
    SpecError
        If no step is found.
    """
    sizes = sorted(n for n in look.owners.values() if n >= look.least)
    if look.owner is None:
        sizes = [(look.rows - (look.public if look.public_path is None else 0)) // OWNERS] * OWNERS
        if sizes[0] == 0:
            rule = f"allowed are {OWNERS} private rows or more: one for each of {OWNERS} owners"
            raise SpecError([Fault("--owner", f"{look.rows} rows", rule)], look.path)
    lines = partial(_lines, look, epsilon, sizes, timing)
    return lines(folder, _chosen(look, sizes, lines, progress))


def _lines(
    look: TableLook,
    epsilon: float,
    sizes: list[int],
    timing: Timing,
    folder: Path,
    choice: Choice,
) -> list[str]:
    name = re.sub(r"[^a-z0-9]+", "-", Path(look.path).name.split(".")[0].lower()).strip("-")
    owners_comment = f"no column names the owner: {OWNERS} owners in the order of the file"
    if look.owner is not None:
        owners_comment = f"values of {look.owner!r} with enough records"
    records = [] if look.owner is not None else [(f"records = {sizes[0]}", "records of each owner")]
    return [
        SCHEMA_LINE,
        *commented(
            ("schema = 1", ""),
            (f"id = {text(name or 'table')}", ""),
            chosen_from(look),
        ),
        "",
        "[run]",
        *commented(
            (f"seed = {SEED}", ""),
            (f"replicates = {RUNS}", "independent runs"),
            (f"updates = {choice.updates}", f"T, by tuning on {choice.said}"),
            ("alone = true", "compute each owner's own model too"),
            *timing.run_lines(),
        ),
        "",
        "[owners]",
        *commented((f"count = {len(sizes)}", owners_comment), *records),
        *timing.tables(),
        "",
        *data_lines(look, folder),
        "",
        *model_lines(look),
        "",
        "[algorithm]",
        *commented(
            ('kind = "async-gossip"', ""),
            (f"step = {choice.step:.3g}", f"of an update, by tuning on {choice.said}"),
        ),
        "",
        "[privacy]",
        *commented(
            (f"epsilon = {epsilon:g}", "budget of every owner for the whole run, as given"),
            (
                f'budget = {{ kind = "per-owner-cap", answers = {choice.answers} }}',
                "answers of an owner that share it, enough for T",
            ),
            (
                f'sensitivity = {{ kind = "clip", bound = {choice.bound:.3g} }}',
                "the median gradient of a public row at θ = 0",
            ),
        ),
    ]


def _chosen(
    look: TableLook,
    sizes: list[int],
    lines: Callable[[Path, Choice], list[str]],
    progress: Progress | None,
) -> Choice:
    """Return the best step and length on rows drawn from public ones, and a gradients' bound."""
    comment = f"{look.public} public rows drawn anew for each owner"
    start = Choice(updates=UPDATES_EACH * len(sizes), answers=2 * UPDATES_EACH, said=comment)
    with TemporaryDirectory() as place:
        file = Path(place, "scenario.toml")

        def written(choice: Choice) -> Scenario:
            file.write_text("\n".join(lines(file.parent, choice)), encoding="utf-8")
            return load(file)[0]

        scenario = written(start)
        records = population(scenario, private=False).problem.records
        lengths = []
        for owner, x in enumerate(records.features):
            filled = np.flatnonzero(x.any(axis=1))  # others contribute nothing
            lengths.append(
                records.lengths_at(owner, filled, np.zeros((len(filled), scenario.numbers)))
            )
        bound = float(np.median(np.concatenate(lengths)))
        start = replace(start, bound=float(f"{bound:.3g}"))
        best = tune(written(start), replicates=RUNS, progress=progress).best.setting
    return replace(start, step=best.step, updates=best.updates, answers=best.answers)
