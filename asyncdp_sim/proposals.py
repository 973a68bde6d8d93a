"""A scenario around a table: blocks, owners, clip bound, step and length, each with its reason.

Step and length come of a :class:`~asyncdp_sim.forecasts.tune.Search` on rows drawn from the
public ones (:mod:`~asyncdp_sim.data.surrogates`): every owner has as many as it has.
"""

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any, Self

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.units import ROUNDS, SECONDS, in_unit
from asyncdp_sim.core.words import agreed, key_of, percent, toml_of
from asyncdp_sim.data.table_profile import HELD_OUT, TableLook
from asyncdp_sim.data.tables.encoded_columns import encoded, learned
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.file_form import MISSING

MOST_FEATURES = 10


def block(look: TableLook, folder: Path | None = None) -> list[str]:
    """Return the lines of ``[data]`` and ``[model]`` blocks and what they were chosen from.

    Paths load from ``folder``.

    Raises
    ------
    DataError
        If no feature is left, or the target has no numbers.
    """
    return _lines(look, n_features(look), folder, choice=None)


def _lines(
    look: TableLook, counts: tuple[int, int], folder: Path | None, **of_a_scenario: Any
) -> list[str]:
    """Return the lines of ``proposal.toml.j2``: two blocks, or with a choice a whole scenario."""
    template = Environment(
        loader=PackageLoader("asyncdp_sim", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template.filters |= {"toml": toml_of, "repr": repr, "in_unit": in_unit}
    path, public_path = (
        p if p is None or folder is None else os.path.relpath(p, folder)
        for p in (look.path, look.public_path)
    )
    features, independent = counts
    text = template.get_template("proposal.toml.j2").render(
        look=look,
        path=path,
        public_path=public_path,
        missing=[*MISSING, *look.missing],
        left_out=len(look.owners) - look.with_records(look.least),
        features=features,
        independent=independent,
        held_out=HELD_OUT,
        columns=list(_columns(look)),
        **of_a_scenario,
    )
    return _aligned(text)


def _columns(look: TableLook) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the encoding and a remark of each column; of the target where it has some."""
    for column in look.columns:
        is_target = column.name == look.target
        if is_target and column.type == "number" and len(column.suspicious) == 0:
            continue
        remarks = ["the target"] * is_target + [column.type]
        if column.missing > 0:
            remarks.append(f"{percent(column.missing)} missing")
        remarks += [f"{column.distinct} distinct", *column.suspicious]
        kind: Any = column.encoding.kind
        fields = column.encoding.model_dump(exclude_defaults=True, exclude={"kind"})
        encoding = kind if len(fields) == 0 else {"kind": kind, **fields}
        yield key_of(column.name), toml_of(encoding), " ".join("; ".join(remarks).split())


def n_features(look: TableLook) -> tuple[int, int]:
    """Return how many features are proposed, and how many columns are independent."""
    public = look.seen.tail(look.public).reset_index(drop=True)
    declared: dict[str, Encoding] = {column.name: column.encoding for column in look.columns}
    names = [column.name for column in look.columns if column.name != look.target]
    matrix, _ = encoded(public, learned(public[names], declared, look.form.decimal), 0)
    scale = matrix.std(axis=0)
    matrix = matrix[:, scale > 0] / scale[scale > 0]
    rank = int(np.linalg.matrix_rank(matrix - matrix.mean(axis=0))) if matrix.size > 0 else 0
    if rank == 0:
        raise DataError([Fault("", "a table", "no column of it can be a feature")], look.path)
    return min(MOST_FEATURES, rank), rank


def _aligned(text: str) -> list[str]:
    """Return lines of TOML with the comments behind tabs in one column in each paragraph."""
    lines = list[str]()
    for paragraph in text.rstrip("\n").split("\n\n"):
        pairs = [line.partition("\t")[::2] for line in paragraph.split("\n")]
        width = min(max((len(line) for line, comment in pairs if comment), default=0), 48)
        lines += [""] * (len(lines) > 0)
        lines += [
            f"{line:<{width}}  # {agreed(comment)}" if comment else line for line, comment in pairs
        ]
    return lines


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

    @property
    def rate(self) -> str:
        """The mean number of answers in a unit."""
        return f"{1 / self.every:.6g}" if self.every is not None else ""

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
    from asyncdp_sim.scenario import SCHEMA_LINE  # [data] alone needs none

    sizes = sorted(n for n in look.owners.values() if n >= look.least)
    if look.owner is None:
        sizes = [(look.rows - (look.public if look.public_path is None else 0)) // OWNERS] * OWNERS
        if sizes[0] == 0:
            rule = f"allowed are {OWNERS} private rows or more: one for each of {OWNERS} owners"
            raise SpecError([Fault("--owner", f"{look.rows} rows", rule)], look.path)
    proposed = partial(
        _lines,
        look,
        n_features(look),
        schema_line=SCHEMA_LINE,
        name=re.sub(r"[^a-z0-9]+", "-", Path(look.path).name.split(".")[0].lower()).strip("-"),
        seed=SEED,
        runs=RUNS,
        sizes=sizes,
        timing=timing,
        epsilon=epsilon,
    )

    def lines(folder: Path, choice: Choice) -> list[str]:
        whole_table = proposed(folder, choice=choice)
        return _of_sizes(look, whole_table) if of_sizes else whole_table

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
    public = Path(str(look.public_path)).stem.lower()  # its file lies beside those of the owners
    for name in (name for name, n in look.owners.items() if n >= look.least):
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "owner"
        numbered = (f"{slug}-{number}" for number in count(len(found) + 1))
        stem = next(stem for stem in chain([slug], numbered) if stem not in (*found, public))
        file = toml_of(f"{stem}.csv")
        own = _aligned(f"path = {file}\tnot read\nown_path = {file}\tthe rows of {name!r}")
        place = next(at for at, line in enumerate(lines) if line.startswith("path = "))
        command = shlex.join(["asyncdp", "forecast", f"{stem}.toml", "--as", name])
        head = f"# Save your rows as {stem}.csv beside this file and the public rows, and type"
        # The first line is SCHEMA_LINE, which editors look for above all comments.
        rest = [*lines[1:place], *own, *lines[place + 1 :]]
        found[stem] = [lines[0], head, f"# {command}", *rest]
    return found


def _of_sizes(look: TableLook, lines: Sequence[str]) -> list[str]:
    """Return lines with the number of rows of each owner in place of the table's rows."""
    sizes = {name: n for name, n in look.owners.items() if n >= look.least}
    owners = f"owner_column = {toml_of(look.owner)}"  # of public rows, if they have it
    lines = [owners if line.startswith("split = ") else line for line in lines]
    return [*lines, "", "[data.sizes]", *(f"{key_of(name)} = {n}" for name, n in sizes.items())]


def _chosen(
    look: TableLook,
    sizes: list[int],
    lines: Callable[[Path, Choice], list[str]],
    progress: Progress | None,
) -> Choice:
    """Return the best step and length on rows drawn from public ones, and a gradients' bound."""
    from asyncdp_sim.forecasts.population import population
    from asyncdp_sim.forecasts.tune import Search, StepLengthCap
    from asyncdp_sim.runs.replicates import processes
    from asyncdp_sim.scenario import Scenario, from_tables

    comment = f"{look.public} public rows drawn again for each owner"
    # Twice the mean number of answers, so that chance seldom spends an owner's budget before T.
    start = Choice(updates=UPDATES_EACH * len(sizes), answers=2 * UPDATES_EACH, said=comment)

    def written(choice: Choice) -> Scenario:
        return from_tables(tomllib.loads("\n".join(lines(Path.cwd(), choice))))[0]

    scenario = written(start)
    known = population(scenario, private=False)
    records = known.problem.records
    lengths = []
    for owner, x in enumerate(records.features):
        filled = np.flatnonzero(x.any(axis=1))  # others contribute nothing
        lengths.append(records.lengths_at(owner, filled, np.zeros((len(filled), scenario.numbers))))
    bound = float(np.median(np.concatenate(lengths)))
    start = replace(start, bound=float(f"{bound:.3g}"))
    known = population(written(start), private=False, dataset=known.dataset, like=known.problem)
    beginning(progress, "trying steps, lengths and caps")
    with processes(1) as alone:
        given = StepLengthCap(start.step, start.updates, start.answers)
        best = Search(known, MOST_RUNS, alone).best(given)
    return replace(start, step=best.step, updates=best.updates, answers=best.answers)
