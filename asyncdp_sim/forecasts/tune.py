"""The best step, length and cap on answers of a run, by simulated runs of many steps at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from math import ceil, inf, isfinite, log
from typing import Any

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning
from asyncdp_sim.core.words import number
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts import contest
from asyncdp_sim.forecasts.population import FEWEST, Population, affordable, population
from asyncdp_sim.learning.objectives.records import ABREAST
from asyncdp_sim.runs.replicates import Workers, processes
from asyncdp_sim.scenario import Scenario

POWERS = range(-3, ABREAST - 3)
"""Powers of a factor between steps that are compared: as many as fill a product of gradients up."""
FAR, NEAR, CLOSE = 4.0, 2.0, 1.25
"""Factors between steps: first; while K is doubled and halved; with the best K."""
LEAST, SHARE = 6, 0.1
"""Simulated runs of a choice while K is sought, at least, and for more of them the share of light
work that those with one K may take."""
LENGTHS = 16
"""Lengths of a run that are compared, about."""
PAYS, PAYS_DOUBLED = 0.01, 0.1
"""A choice pays that lowers the mean ψ by more than this share; also one of twice or half the K,
beyond which longer runs with shorter steps hardly differ."""
SMALLEST = 1e-30
"""The step below which none is sought that converges; none is sought above 1 over it."""


@dataclass(frozen=True)
class StepLengthCap:
    """A choice of the step, T and K.

    Attributes
    ----------
    step : float
        Of an update, Nρ/(T²σ).
    updates : int
        T.
    answers : int
        K, answers that share each budget.
    """

    step: float
    updates: int
    answers: int

    def __str__(self) -> str:
        """Return the choice."""
        return f"step = {number(self.step)}, T = {self.updates}, K = {self.answers}"

    def into(self, scenario: Scenario) -> Scenario:
        """Return the scenario with this choice."""
        privacy = scenario.privacy
        budget = privacy.budget.sized(self.answers)
        changed: dict[str, Any] = {
            "algorithm": scenario.algorithm.model_copy(update={"step": self.step, "rho": None}),
            "run": scenario.run.model_copy(update={"updates": self.updates}),
        }
        if budget is not privacy.budget:
            changed["privacy"] = privacy.model_copy(update={"budget": budget})
        return scenario.model_copy(update=changed)


@dataclass(frozen=True)
class Choices:
    """Choices of the step, T and K that a scenario may have.

    Attributes
    ----------
    owners : int
        N.
    capped : bool
        Whether K is a choice; else it is T.
    longest : int
        The largest T.
    """

    owners: int
    capped: bool
    longest: int

    def nearest(self, answers: float) -> int:
        """Return the nearest K."""
        most = ceil(self.longest / self.owners) if self.capped else self.longest
        return min(max(round(answers), 1), most)

    def longest_with(self, answers: int, step: float) -> StepLengthCap:
        """Return the choice with this K and step of which all updates can be made, and no more."""
        length = min(answers * self.owners, self.longest) if self.capped else answers
        return StepLengthCap(step, length, answers)


@dataclass(frozen=True, eq=False)
class SimulatedChoice:
    """A choice with what it came to in simulated runs, all of them those of the other choice."""

    setting: StepLengthCap
    simulated: contest.Played

    def __str__(self) -> str:
        """Return both."""
        return f"{self.setting}: {self.simulated}"


@dataclass(frozen=True, eq=False)
class Design(contest.Advice):
    """The best choice that was found, and the scenario's own.

    Attributes
    ----------
    given, best : SimulatedChoice
        One and the same where no better choice was found. No run had a part in the choosing.
    tried : int
        Choices that were compared.
    at_limit : bool
        Whether the best T is the largest that is tried.
    """

    given: SimulatedChoice
    best: SimulatedChoice
    tried: int
    at_limit: bool

    @property
    def ratio(self) -> tuple[float, float]:
        """How many times as large the scenario's own mean ψ is, and the half width of that."""
        return self.given.simulated.over(self.best.simulated)

    def lines(self, file: str = "FILE") -> list[str]:
        """Return the design in words.

        Parameters
        ----------
        file : str
            The scenario and its settings, as typed.
        """
        best, as_given = self.best.simulated, self.given.simulated
        if best is as_given:
            lines = [
                f"best      as given, {self.best}",
                "better    none: no better choice was found",
            ]
        else:
            lines = [
                f"best      {self.best}",
                f"given     {self.given}",
                f"better    {as_given.against(best, 'as given', 'of the best')}",
            ]
        limit = "limit     T is the longest that is tried: a longer run may be better"
        return [
            *lines,
            f"runs      {len(best.final)} of each choice, with the same networks and noise; ± is "
            "the longer half of a 95 % interval",
            f"search    {self.tried} choices of the step and K, each at its best T, compared by "
            "other simulated runs",
            *([limit] if self.at_limit else []),
            *self.source(f"{file} --tune"),
        ]


Compared = tuple[float, StepLengthCap]
"""The mean ψ of a choice, and the choice."""


@dataclass(frozen=True, eq=False)
class Search:
    """A search for the step, T and K of least expected ψ.

    Choices with one K share simulated networks and noise: their steps are rows of one fold, whose
    curves have all lengths. The number of steps fills the products of gradients up.

    Attributes
    ----------
    known : Population
        The data of the runs.
    replicates : int
        Runs of a choice at most.
    workers : Workers
    tried : set of StepLengthCap
        Choices of the step and K that were compared, each with the largest T.
    """

    known: Population
    replicates: int
    workers: Workers
    tried: set[StepLengthCap] = field(default_factory=set)

    @cached_property
    def choices(self) -> Choices:
        """The choices that the scenario may have."""
        own = self.known.scenario
        capped = not own.privacy.budget.follows_updates
        return Choices(own.owners.count, capped, contest.longest(own, self.known.dataset))

    def runs(self, updates: float, least: int = FEWEST) -> int:
        """Return how many runs of so many updates, of all choices, are light work."""
        known = self.known
        return affordable(known.scenario, known.dataset, updates, self.replicates, least)

    def best(self, given: StepLengthCap) -> StepLengthCap:
        """Return the best choice of a search that starts from the given one."""
        start = given.updates / self.choices.owners if self.choices.capped else given.updates
        answers = self.choices.nearest(ceil(start))
        rows = [self._with_steps(answers, given.step, FAR)]
        while (step := _beyond(rows[-1])) is not None:
            rows.append(self._with_steps(answers, step, FAR))
        psi, at = min(chain(*rows), key=_psi)  # the first of equals, where nothing is learned
        by_answers = dict[int, float]()
        for factor in (1.0, NEAR, 1 / NEAR):
            while (answers := self.choices.nearest(factor * at.answers)) not in by_answers:
                least, other = min(self._with_steps(answers, at.step, NEAR), key=_psi)
                by_answers[answers] = least
                if least < (1 - PAYS_DOUBLED) * psi or factor == 1.0:
                    psi, at = least, other
        caps = [0, *sorted(by_answers), 0]
        place = caps.index(at.answers)
        less, more = (by_answers.get(caps[by], inf) for by in (place - 1, place + 1))
        shift = NEAR ** _vertex(less, psi, more)
        answers = self.choices.nearest(shift * at.answers)
        return min(self._with_steps(answers, at.step / shift, CLOSE), key=_psi)[1]

    def _with_steps(self, answers: int, step: float, factor: float) -> list[Compared]:
        """Return choices with this K and steps around this one, each at its best T."""
        settings = [self.choices.longest_with(answers, factor**power * step) for power in POWERS]
        self.tried.update(settings)
        length = settings[0].updates
        every = ceil(length / LENGTHS) if self.choices.capped else length
        updates = len(settings) * length
        runs = self.runs(updates) if factor == CLOSE else self.runs(updates / SHARE, LEAST)
        numbers = range(contest.CHOOSING, contest.CHOOSING + runs)
        row = list[Compared]()
        lengths, curves = self.played(settings, numbers, every)
        for setting, curve in zip(settings, curves, strict=True):
            psi = curve.mean(axis=0)
            at = int(psi.argmin())
            row.append((float(psi[at]), replace(setting, updates=int(lengths[at]))))
        return row

    def played(
        self, settings: Sequence[StepLengthCap], numbers: Sequence[int], every: int
    ) -> tuple[Ints, list[Array]]:
        """Return lengths (J,), and ψ (R, J) of these runs of choices with one K and one T."""
        scenarios = [setting.into(self.known.scenario) for setting in settings]
        options: Any = {"like": self.known.problem, "workers": self.workers}
        return contest.along(scenarios, numbers, every, self.known.dataset, **options)

    def ends(self, setting: StepLengthCap, numbers: Sequence[int]) -> Array:
        """Return ψ at the end of these runs of a choice."""
        return self.played([setting], numbers, setting.updates)[1][0][:, -1]


def _psi(compared: Compared) -> float:
    return compared[0]


def _beyond(row: Sequence[Compared]) -> float | None:
    """Return a step to go on from if the best step of a row is at an end of it.

    That is the largest of about the best: where steps are so short that nothing is learned, all are
    alike. Where learning diverges with all steps, it is shorter than any.

    Raises
    ------
    SpecError
        If no step is found with which learning converges.
    """
    steps = [setting.step for _, setting in row]
    if not isfinite(min(row, key=_psi)[0]):
        if steps[0] < SMALLEST:
            why = "no step with which learning converges was found"
            raise SpecError([Fault("algorithm.step", "any of those tried", why)])
        return steps[0] / FAR**POWERS.stop
    most = (1 + PAYS) * min(row, key=_psi)[0]
    place = max(place for place, (psi, _) in enumerate(row) if psi <= most)
    ends = 0 < place < len(row) - 1 or not SMALLEST < steps[place] < 1 / SMALLEST
    return None if ends else steps[place]


def _vertex(before: float, at: float, after: float) -> float:
    """Return where a parabola through the logarithms of these, at -1, 0 and 1, is least.

    0 where the middle is not less than both.
    """
    if not (0 < at < min(before, after) and max(before, after) < inf):
        return 0.0
    before, after = log(before / at), log(after / at)
    return (before - after) / (2 * (before + after))


def tune(
    scenario: Scenario,
    *,
    private: bool = False,
    replicates: int = contest.REPLICATES,
    workers: int = 1,
    progress: Progress | None = None,
    dataset: Dataset | None = None,
) -> Design:
    """Find the step, T and K of least expected ψ, of asynchronous gossip.

    The cost is the mean ψ of simulated runs (:class:`Search`). K, where a cap names it, is at least
    T/N: all T updates can be made. Everything else stays.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read; if not, all is on its twin.
    replicates : int
        Runs of a choice at most, ≥ 2; fewer where they would take long.
    workers : int
        Processes for runs, ≥ 1; never change a result.
    progress : Progress, optional
        Receives the progress.
    dataset : Dataset, optional
        The records, where they are at hand already.

    Raises
    ------
    SpecError
        If the algorithm is another, or learning diverges whatever the step is.
    DataError
        As :func:`~asyncdp_sim.forecasts.forecast.forecast`.
    """
    asked = scenario.base()
    data = population(asked, private=private, dataset=dataset)
    own = data.scenario
    updates = own.run.updates
    step = own.algorithm.step_of(own.owners.count, updates, own.model.sigma)
    if own.privacy.participation is not None:
        scope = "the best step, T and K are sought without limits on participation"
        raise SpecError([Fault("privacy.participation", "a table", scope)])
    if step is None or own.algorithm.one_on_one is None:
        scope = "the best step, T and K are sought for async-gossip alone"
        raise SpecError([Fault("algorithm.kind", repr(own.algorithm.kind), scope)])
    given = StepLengthCap(step, updates, max(own.network.answers_allowed))
    beginning(progress, "trying steps, lengths and caps")
    with processes(workers) as at_work:
        search = Search(data, replicates, at_work)
        best = search.best(given)
        first = contest.CHOOSING + replicates
        others = range(first, first + search.runs(best.updates + given.updates))
        psi, psi_given = (search.ends(choice, others).mean() for choice in (best, given))
        shown = [best, given] if psi < (1 - PAYS) * psi_given else [given]
        runs = search.runs(sum(choice.updates for choice in shown))
        plays = {choice: partial(search.ends, choice) for choice in shown}
        played = contest.afresh(plays, runs, progress)
    results = [SimulatedChoice(*pair) for pair in played.items()]
    return Design(
        given=results[-1],
        best=results[0],
        tried=len(search.tried | {given}),
        at_limit=shown[0].updates == search.choices.longest,
        **contest.advice_on(data, asked, asked if len(shown) == 1 else best.into(asked)),
    )
