"""A scenario around a table: blocks, owners, clip bound, step and length, each with its reason.

Step and length come of a :class:`~asyncdp_sim.forecasts.advice.tune.Search` on rows drawn from the
public ones (:mod:`~asyncdp_sim.data.surrogates`): every owner has as many as it has.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.units import ROUNDS, SECONDS, in_unit
from asyncdp_sim.core.words import agreed, key_of, percent, toml_of
from asyncdp_sim.data.column_profile import ColumnLook
from asyncdp_sim.data.table_profile import HELD_OUT, TableLook
from asyncdp_sim.data.tables.encoded_columns import encoded
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.file_form import MISSING

MOST_FEATURES = 10


def block(look: TableLook, folder: Path | None = None) -> list[str]:
    """Return the lines of ``[data]`` and ``[model]`` blocks and what they were chosen from.

    Raises
    ------
    DataError
        If no feature is left, or the target has no numbers.
    """
    return [*commented(chosen_from(look)), "", *data_lines(look, folder), "", *model_lines(look)]


def chosen_from(look: TableLook) -> tuple[str, str]:
    """Return the line above all tables that says what settings were chosen from."""
    return f"chosen_from = {text(look.basis)}", "rows from which these settings were chosen"


def data_lines(look: TableLook, folder: Path | None = None) -> list[str]:
    """Return the lines of a ``[data]`` block, whose paths load from ``folder``.

    Raises
    ------
    DataError
        If no feature is left, or the target has no numbers.
    """
    return [*commented(*_fields(look, folder)), "", "[data.columns]", *commented(*_columns(look))]


def model_lines(look: TableLook) -> list[str]:
    """Return the lines of a ``[model]`` block, by what the target is."""
    count = len(look.classes)
    last = look.classes[-1] if count > 0 else ""
    kinds = {
        0: [('kind = "ridge"', "least squares")],
        2: [('kind = "logistic"', f"of two classes; {last!r} is the positive one")],
    }
    several = [
        ('kind = "softmax"', f"multinomial logistic regression; {last!r} is the reference"),
        (f"classes = {count}", "of the target"),
    ]
    shared = [
        ("intercept = true", "a column of ones, one of the features"),
        ("regularisation = 1e-3", "σ, a choice"),
    ]
    return ["[model]", *commented(*kinds.get(count, several), *shared)]


def _fields(look: TableLook, folder: Path | None) -> Iterator[tuple[str, str]]:
    path, public = (
        p if p is None or folder is None else os.path.relpath(p, folder)
        for p in (look.path, look.public_path)
    )
    yield "[data]", ""
    yield 'kind = "table"', ""
    yield f"path = {text(path)}", f"{look.rows} rows"
    if public is not None:
        yield f"public_path = {text(public)}", f"{look.public} rows, no owner's"
    yield f"target = {text(look.target)}", "the column to predict"
    if len(look.classes) == 0:
        yield '# unit = "days"', "its unit, used when errors are reported: please fill in"
    if not look.path.endswith(".parquet"):
        yield f"separator = {text(look.form.separator)}", "between cells"
        yield f"decimal = {text(look.form.decimal)}", "decimal mark"
        yield f"charset = {text(look.form.charset)}", "text encoding"
    if look.owner is not None:
        left = len(look.owners) - look.with_records(look.least)
        least = f", least = {look.least}" if left > 0 else ""
        out = f"; {left} with fewer records are left out" if left > 0 else ""
        yield f"split = {{ column = {text(look.owner)}{least} }}", f"owner of each row{out}"
    for column in look.columns:
        if column.dropped == "person":
            yield f"# person = {text(column.name)}", "if its values are persons: rows stay together"
    if len(look.missing) > 0:
        words = toml_of([*MISSING, *look.missing])
        yield f"missing = {words}", "texts that mean a missing cell"
    where = "the last of the file" if public is None else "the rows of public_path"
    if look.public_seed is not None:
        where = "chosen at random"
    yield f"public_records = {look.public}", f"{where}; they are not private"
    if look.public_seed is not None:
        yield f"public_seed = {look.public_seed}", "seed of that choice"
    yield 'preprocessing = "pca"', "columns centred and scaled by public rows"
    features, most = n_features(look)
    comment = f"{most} independent columns of the public rows, and a column of ones"
    yield f"features = {features + 1}", comment
    yield f"held_out = {HELD_OUT}", "share of every owner's rows on which models are scored"


def _columns(look: TableLook) -> Iterator[tuple[str, str]]:
    for column in look.columns:
        comments = [
            column.type,
            *([f"{percent(column.missing)} missing"] if column.missing > 0 else []),
        ]
        if column.name != look.target:
            yield (
                f"{key_of(column.name)} = {_inline(column.encoding)}",
                _comment_on(column, comments),
            )
        elif column.type != "number" or len(column.suspicious) > 0:
            yield (
                f"{key_of(column.name)} = {_inline(column.encoding)}",
                _comment_on(column, ["the target", *comments]),
            )


def _comment_on(each: ColumnLook, said: Sequence[str]) -> str:
    """Return the comment on a column: these remarks, and what is suspicious of it."""
    return "; ".join([*said, f"{each.distinct} distinct", *each.suspicious])


@lru_cache(maxsize=1)
def n_features(look: TableLook) -> tuple[int, int]:
    """Return how many features are proposed, and how many columns are independent."""
    matrix = matrix_of(look)
    rank = int(np.linalg.matrix_rank(matrix - matrix.mean(axis=0))) if matrix.size > 0 else 0
    if rank == 0:
        raise DataError([Fault("", "a table", "no column of it can be a feature")], look.path)
    return min(MOST_FEATURES, rank), rank


def matrix_of(look: TableLook) -> Array:
    """Return the public rows as numbers, scaled."""
    public = look.seen.tail(look.public).reset_index(drop=True)
    declared: dict[str, Encoding] = {column.name: column.encoding for column in look.columns}
    names = [column.name for column in look.columns if column.name != look.target]
    matrix, _, _ = encoded(public, names, declared, 0, look.form.decimal)
    scale = matrix.std(axis=0)
    return np.asarray(matrix[:, scale > 0] / scale[scale > 0])


def _inline(encoding: Encoding) -> str:
    """Return an encoding as TOML has it in one line."""
    fields: dict[str, Any] = encoding.model_dump(exclude_defaults=True, exclude={"kind"})
    return text(encoding.kind) if len(fields) == 0 else toml_of({"kind": encoding.kind, **fields})


def text(value: str | None) -> str:
    """Return a text as TOML has it."""
    return toml_of(value or "")


def commented(*lines: tuple[str, str]) -> list[str]:
    """Return TOML lines with their comments behind them, aligned; none behind an empty comment."""
    pairs = [(line, agreed(" ".join(comment.split()))) for line, comment in lines]
    width = min(max((len(line) for line, comment in pairs if comment), default=0), 48)
    return [f"{line:<{width}}  # {comment}" if comment else line for line, comment in pairs]


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
RUNS, MOST_RUNS = 10, 20
SEED = 1
UPDATES_EACH = 4
"""Updates for each owner that tuning starts from."""
ROUNDS_OF_ANSWERS = Timing()


@dataclass(frozen=True)
class Choice:
    """Numbers that are chosen on rows drawn from the public ones.

    Attributes
    ----------
    step : float
        Nρ/(T²σ), the step of an update, > 0.
    updates : int
        T.
    answers : int
        Most answers of an owner, which share its budget.
    bound : float
        Clip bound: the median length of a public row's gradient at θ = 0.
    said : str
        The rows on which these are chosen, for the comments of the scenario.
    """

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
    *,
    of_sizes: bool = False,
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
        Receives what is done, of how much.
    timing : Timing
        How soon; absent, rounds of answers.
    of_sizes : bool
        Whether the scenario has the number of rows of each owner in place of the table.

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
    lines = partial(_lines_of_sizes if of_sizes else _lines, look, epsilon, sizes, timing)
    return lines(folder, _chosen(look, sizes, lines, progress))


def sheets(lines: Sequence[str], look: TableLook) -> dict[str, list[str]]:
    """Return the lines of a scenario for each owner's own machine, by the name of its file.

    Parameters
    ----------
    lines : sequence of str
        Of :func:`whole`, of sizes, for the folder of the sheets.
    look : TableLook
        With owners, and public rows in a file of their own.
    """
    found = dict[str, list[str]]()
    for name in (name for name, n in look.owners.items() if n >= look.least):
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "owner"
        stem = stem if stem not in found else f"{stem}-{len(found) + 1}"
        own = commented(
            (f"path = {text(f'{stem}.csv')}", "not read"),
            (f"own_path = {text(f'{stem}.csv')}", f"the rows of {name!r}"),
        )
        place = next(at for at, line in enumerate(lines) if line.startswith("path = "))
        command = shlex.join(["asyncdp", "forecast", f"{stem}.toml", "--as", name])
        head = f"# Save your rows as {stem}.csv beside this file and the public rows, and type"
        # The first line is SCHEMA_LINE, which editors look for above all comments.
        rest = [*lines[1:place], *own, *lines[place + 1 :]]
        found[stem] = [lines[0], head, f"# {command}", *rest]
    return found


def _lines_of_sizes(look: TableLook, *given: Any) -> list[str]:
    """Return lines with the number of rows of each owner in place of the table's rows."""
    sizes = {name: n for name, n in look.owners.items() if n >= look.least}
    owners = f"owner_column = {text(look.owner)}"  # of public rows, if they have it
    lines = [owners if line.startswith("split = ") else line for line in _lines(look, *given)]
    return [*lines, "", "[data.sizes]", *(f"{key_of(name)} = {n}" for name, n in sizes.items())]


def _lines(
    look: TableLook,
    epsilon: float,
    sizes: list[int],
    timing: Timing,
    folder: Path,
    choice: Choice,
) -> list[str]:
    from asyncdp_sim.scenario import SCHEMA_LINE

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
    from asyncdp_sim.forecasts.advice.tune import Search, StepLengthCap  # [data] alone needs none
    from asyncdp_sim.forecasts.population import population
    from asyncdp_sim.runs.replicates import processes
    from asyncdp_sim.scenario import Scenario, load

    comment = f"{look.public} public rows drawn again for each owner"
    # Twice the mean number of answers, so that chance seldom spends an owner's budget before T.
    start = Choice(updates=UPDATES_EACH * len(sizes), answers=2 * UPDATES_EACH, said=comment)
    with TemporaryDirectory() as place:
        file = Path(place, "scenario.toml")

        def written(choice: Choice) -> Scenario:
            file.write_text("\n".join(lines(file.parent, choice)), encoding="utf-8")
            return load(file)[0]

        scenario = written(start)
        known = population(scenario, private=False)
        records = known.problem.records
        lengths = []
        for owner, x in enumerate(records.features):
            filled = np.flatnonzero(x.any(axis=1))  # others contribute nothing
            lengths.append(
                records.lengths_at(owner, filled, np.zeros((len(filled), scenario.numbers)))
            )
        bound = float(np.median(np.concatenate(lengths)))
        start = replace(start, bound=float(f"{bound:.3g}"))
        known = population(written(start), private=False, dataset=known.dataset, like=known.problem)
        beginning(progress, "trying steps, lengths and caps")
        with processes(1) as alone:
            given = StepLengthCap(start.step, start.updates, start.answers)
            best = Search(known, MOST_RUNS, alone).best(given)
    return replace(start, step=best.step, updates=best.updates, answers=best.answers)
