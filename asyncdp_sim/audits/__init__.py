"""Attacks on a scenario's privacy, as a user runs them: lower bounds on ε beside its claims."""

from dataclasses import dataclass
from sys import float_info
from time import process_time
from typing import Any

import numpy as np

from asyncdp_sim.audits.check import COLUMNS, Check, Fact
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.eavesdropper import overhear
from asyncdp_sim.audits.facts import (
    budget_fact,
    charged_values_sent,
    largest_undercharge,
    ledger_fact,
    own_noise_fact,
    own_noise_fact_of_few_runs,
    same_noise_fact,
)
from asyncdp_sim.audits.neighbours import made_up, neighbours, queries_of, trial_runs
from asyncdp_sim.audits.observers import audit_models, audit_views
from asyncdp_sim.audits.one_run import Guessed, audit_once
from asyncdp_sim.audits.per_answer import audit_answer, noise_composes
from asyncdp_sim.audits.whole_run import audit_run, sums_hold
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.progress import Progress, beginning, counted
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import duration, html_table, number
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.replicates import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import require_room


@dataclass(frozen=True)
class Audit:
    """Results of the attacks on a scenario.

    Attributes
    ----------
    checks : tuple of Check
    pair : str
        Description of the neighbouring datasets of a whole run.
    confidence : float
        Joint confidence of all lower bounds.
    overlap : int
        κ: number of owners that may share a record.
    facts : tuple of Fact
        Findings without statistical uncertainty.
    guessed : Guessed, optional
        Result of canaries in one run; None if whole runs were attacked.
    left : float, optional
        Estimated seconds of an attack on whole runs; None if it was made.

    Examples
    --------
    >>> found = ad.Audit(checks=(), pair="one record is another", confidence=0.999)
    >>> found.lines()[0]
    'verdict: not refuted, not proven (all lower bounds hold jointly with confidence 0.999)'
    >>> found.to_frame().columns[2:5].tolist()
    ['epsilon_shown', 'epsilon_claimed', 'delta']
    """

    checks: tuple[Check, ...]
    pair: str

    confidence: float
    overlap: int = 1
    facts: tuple[Fact, ...] = ()
    guessed: Guessed | None = None
    left: float | None = None

    @property
    def exceeded(self) -> bool:
        """Whether any attack measures more than the stated ε."""
        by_attack = any(attack.exceeded for attack in self._attacks)
        return by_attack or any(fact.refutes for fact in self.facts)

    @property
    def _results(self) -> tuple[Check | Guessed | Fact, ...]:
        """All results, in the order of the report."""
        return (*self._attacks, *self.facts)

    @property
    def _attacks(self) -> tuple[Check | Guessed, ...]:
        return self.checks if self.guessed is None else (*self.checks, self.guessed)

    def to_frame(self) -> Any:
        """Return one row per attack and per fact, as a pandas frame."""
        import pandas as pd

        rows = [check.row() for check in self._results]
        frame = pd.DataFrame([[row.get(name) for name in COLUMNS] for row in rows], columns=COLUMNS)
        for key in ("unit", "meaning"):
            frame.attrs[f"{key}s"] = {name: column[key] for name, column in COLUMNS.items()}
        return frame

    def _repr_html_(self) -> str:
        shown = [("", "measured ε ≥", "stated ε", ""), *(check.cells() for check in self._results)]
        return html_table(shown, title="Audit", said=[*self._verdict_lines(), self.pair])

    @property
    def verdict(self) -> str:
        """The verdict on the stated ε, in a sentence."""
        result = "REFUTED, do not use the stated ε" if self.exceeded else "not refuted, not proven"
        sure = f"all lower bounds hold jointly with confidence {self.confidence:.12g}"
        return f"{result} ({sure})"

    def lines(self, *, details: bool = True) -> list[str]:
        """Return the verdict, the strongest attack, what to do, and then each attack.

        Without details, the datasets, the largest measurable ε, and after a first audit the attacks
        that measure nothing and the facts that refute nothing, are left out.
        """
        shared = []
        if self.overlap > 1:
            exception = f"a record that {self.overlap} owners share is not attacked"
            shared = [f"the stated ε is for one owner's copy of a record; {exception}"]
        return [
            *self._verdict_lines(),
            *([f"neighbouring datasets: {self.pair}"] if details else []),
            *(
                check.describe()
                for check in self.checks
                if details or self.left is None or check.epsilon > 0
            ),
            *(check.beside() for check in self.checks if check.finding.epsilon > 0),
            *([] if self.guessed is None else [self.guessed.describe()]),
            *self._facts(details or self.left is None),
            *([self.guessed.limits()] if details and self.guessed is not None else []),
            *([self._limits()] if details and self.left is not None else []),
            *shared,
        ]

    def _facts(self, all_of_them: bool) -> list[str]:
        """Return the facts, or those that refute and the number of the others."""
        if all_of_them:
            return [fact.describe() for fact in self.facts]
        refuting = [fact.describe() for fact in self.facts if fact.refutes]
        others = len(self.facts) - len(refuting)
        about = "sent answers, their noise and charges"
        return [*refuting, *([f"{about}: {others} checks refute nothing"] if others > 0 else [])]

    def _verdict_lines(self) -> list[str]:
        """Return the verdict, the attack that came nearest to refuting it, and what to do."""
        refuting = [fact.said for fact in self.facts if fact.refutes]
        strongest = max(
            # the claim is ε = 0 where δ alone suffices for an answer
            self._attacks,
            key=lambda each: each.epsilon / max(each.claim.epsilon, float_info.min),
            default=None,
        )
        if strongest is not None and (strongest.exceeded or len(refuting) == 0):
            attacked, measured, stated, _ = strongest.cells()
            refuting = [f"{attacked}, measured ε ≥ {measured}, stated {stated}"]
            if strongest.epsilon == 0:
                refuting = ["none measured an ε above 0"]
        return [
            f"verdict: {self.verdict}",
            *(f"strongest attack: {described}" for described in refuting[:1]),
            f"what to do: {self._advice()}",
        ]

    def _advice(self) -> str:
        """Return what to do after this verdict."""
        if self.exceeded:
            return "correct the scenario or the mechanism; each attack that refutes is marked below"
        if self.left is not None:
            seconds = duration(self.left)
            return f"attack whole runs too: --thorough (Python: thorough=True), {seconds}"
        if any(check.most <= check.claim.epsilon for check in self.checks):
            return "simulate more --runs (Python: runs=): so few cannot measure the stated ε"
        return "rely on the proof of the stated ε: asyncdp docs privacy"

    def _limits(self) -> str:
        """Return the largest measurable ε."""
        most = [f"{number(check.most)} ({check.what})" for check in self.checks]
        most += [] if self.guessed is None else [f"{number(self.guessed.most)} (canaries)"]
        return f"largest measurable ε: {', '.join(most)}"


def audit(
    scenario: Scenario,
    *,
    answers: int,
    runs: int,
    confidence: float,
    workers: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Attack a scenario's mechanism, answer by answer, and the whole scenario end to end.

    The results are lower bounds on ε. One above the claim refutes it, with the given confidence;
    one below the claim proves nothing.

    Parameters
    ----------
    scenario : Scenario
        If it has a sweep, the base cell runs.
    answers : int
        Answers on each side of the first attack, ≥ 4.
    runs : int
        Runs on each side of the second, ≥ 4.
    confidence : float
        In (0, 1), of all attacks together. A Gaussian claim is attacked by its μ = 1/z, from
        which all its (ε, δ) follow.
    workers : int
        Number of processes, ≥ 1. Results do not depend on it.
    progress : Progress, optional
        Receives what is done, of how much.

    Raises
    ------
    SpecError
        If the scenario claims no finite ε, so that there is nothing to refute.
    DataError
        If a data file is not what the scenario says, or an optimum is not found.
    """
    scenario = _base_with_claim(scenario)
    privacy = scenario.privacy
    beginning(progress, f"choosing {privacy.noun}s that differ")
    pairs = [neighbours(scenario)]
    if pairs[0].error is not None:  # nothing is left to be drawn
        sentence = f"changing one {privacy.noun} stops the run: {pairs[0].error}"
        ended = Fact(sentence, refutes=True)
        return Audit((), pairs[0].words, confidence, privacy.overlap, (ended,))
    dataset, problem = build_dataset(scenario), pairs[0].first
    synthetic = made_up(scenario, dataset, prepare(scenario, dataset))
    if synthetic is not None:
        pairs.append(synthetic.pair())
    models, meetings = privacy.listener.sees_models, privacy.listener.sees_meetings
    doubt = (1 - confidence) / (1 + models + meetings + len(pairs))  # so many bounds, one verdict
    beginning(progress, "attacking single answers")
    answer = audit_answer(scenario, dataset, problem, synthetic, answers, doubt)
    advance = counted(progress, "attacking whole runs", 2 * runs * len(pairs))
    names = ("the whole run", "run"), (f"the whole run with a synthetic {privacy.noun}", "made-up")
    with processes(workers) as at_work:
        attacked = [
            audit_run(
                scenario, pair, runs, doubt,
                what=title, stream=stream, workers=at_work, advance=advance,
            )
            for pair, (title, stream) in zip(pairs, names, strict=False)
        ]  # fmt: skip
    parts = [part for _, several in attacked for part in several]
    facts = (
        budget_fact(scenario, np.max([part.most_sent for part in parts], axis=0)),
        ledger_fact(scenario, max(part.undercharge for part in parts)),
        own_noise_fact(sum(part.n_without_own_noise for part in parts)),
        same_noise_fact(scenario, problem),
        *sums_hold(scenario, [part.fewest_summed for part in parts]),
        *noise_composes(scenario, problem, privacy.divisors(dataset.records), owed(scenario)),
    )
    of_observers = [audit_models(scenario, doubt)] if models else []
    of_observers += audit_views(scenario, doubt) if meetings else []
    checks = (answer, *(check for check, _ in (*attacked, *of_observers)))
    words = "; ".join(pair.words for pair in pairs)
    facts = (*facts, *(fact for _, fact in of_observers))
    if privacy.mechanism.composition == "own":
        kind = privacy.mechanism.kind
        unchecked = f"the stated ε is that of mechanism {kind}; no second computation checks it"
        facts = (*facts, Fact(unchecked, refutes=False))
    return Audit(checks, words, confidence, privacy.overlap, facts)


def first_audit(
    scenario: Scenario,
    *,
    answers: int | None = None,
    canaries: int | None = None,
    confidence: float,
    progress: Progress | None = None,
) -> Audit:
    """Attack a scenario's single answers, and one training whose data hold canaries.

    A canary is a record that a coin decides. Answers in sums show none: these are attacked alone.
    Whole runs on two tables are left to :func:`audit`; a few on one table are run here. Their
    queries are those at which records are chosen, their answers are compared with each other, and
    they show how long whole runs take.

    Parameters
    ----------
    scenario, confidence, progress
        As for :func:`audit`.
    answers : int, optional
        Answers on each side, ≥ 4. Absent: 10⁶, or fewer where an answer has many numbers.
    canaries : int, optional
        How many, ≥ 1. Absent: as many as there is room for, up to 1000.

    Raises
    ------
    SpecError
        If the scenario claims no finite ε, or if there is no room for so many canaries.
    DataError
        As :func:`audit`.
    """
    scenario = _base_with_claim(scenario)
    listener = scenario.privacy.listener
    if listener.sees_sums and canaries is not None:
        hint = "canaries need single answers, which are not seen here: allowed is 'transcript'"
        raise SpecError([Fault("privacy.observer.kind", "'aggregate'", hint)])
    beginning(progress, "attacking single answers")
    dataset = build_dataset(scenario)
    problem = prepare(scenario, dataset)
    began = process_time()
    views = trial_runs(scenario, problem)
    seconds = (process_time() - began) / len(views)
    queries = queries_of(views)
    synthetic = made_up(scenario, dataset, problem, queries)
    doubt = (1 - confidence) / (1 if listener.sees_sums else 2)
    if answers is None:
        answers = int(np.clip(_NUMBERS // problem.task.steps.answer_size, *_ANSWERS))
    answer = audit_answer(scenario, dataset, problem, synthetic, answers, doubt)
    guessed, noun = None, scenario.privacy.noun
    words = f"one {noun} moves an answer by the whole bound"
    if not listener.sees_sums:
        beginning(progress, "training once with canaries")
        guessed = audit_once(scenario, canaries, doubt, queries)
        words += f"; a fair coin chooses each of {guessed.canaries} canary {noun}s from two"
    claims = owed(scenario)
    facts = (
        budget_fact(scenario, np.max(list(map(charged_values_sent, views)), axis=0)),
        own_noise_fact_of_few_runs(problem, views),
        ledger_fact(scenario, largest_undercharge(problem, claims, views)),
        *noise_composes(scenario, problem, scenario.privacy.divisors(dataset.records), claims),
    )
    left = _attack_seconds(scenario, seconds, RUNS)
    return Audit((answer,), words, confidence, scenario.privacy.overlap, facts, guessed, left)


def expected_seconds(scenario: Scenario, runs: int) -> float:
    """Return about how many seconds of one processor :func:`audit` takes for its runs.

    Raises
    ------
    SpecError, DataError
        As :func:`audit`.
    """
    scenario = _base_with_claim(scenario)
    problem = prepare(scenario, build_dataset(scenario))
    scope = Streams(scenario.run.seed).within("audit", "trial run")
    began = process_time()
    overhear(scenario.network, problem.task, scope)
    return _attack_seconds(scenario, process_time() - began, runs)


def _attack_seconds(scenario: Scenario, seconds_of_run: float, runs: int) -> float:
    """Return the seconds of so many runs on each side of each pair of datasets."""
    pairs = 1 if scenario.privacy.on_trust else 2
    return seconds_of_run * 2 * runs * pairs


def _base_with_claim(scenario: Scenario) -> Scenario:
    """Return the base cell of a scenario.

    Raises
    ------
    SpecError
        If it claims no finite ε, or this machine has too little memory for it.
    """
    scenario = scenario.base()
    require_room(scenario)
    privacy, hint = scenario.privacy, "allowed is a scenario that claims a finite ε: nothing is"
    if not privacy.hides:
        value = repr(privacy.mechanism.kind)
        raise SpecError([Fault("privacy.mechanism", value, f"{hint} claimed without noise")])
    if np.isinf(privacy.epsilons(scenario.owners.count)).all():
        raise SpecError([Fault("privacy.epsilon", "inf", f"{hint} claimed where ε = ∞")])
    return scenario


RUNS = 1000
"""Whole runs on each side, where nothing else is asked for."""
_ANSWERS = (20_000, 1_000_000)
"""Single answers on each side, at least and at most, where nothing else is asked for."""
_NUMBERS = 20_000_000
"""About how many numbers all answers of an attack have, which takes some seconds."""
