"""Synchronous algorithms: a round's answers are averaged, then one step is taken along the mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from typing_extensions import override

from asyncdp_sim.learning.algorithms.central import start
from asyncdp_sim.learning.algorithms.kind import AlgorithmKind
from asyncdp_sim.learning.algorithms.moments import Initial
from asyncdp_sim.learning.algorithms.steps import Array, Indices, Steps, Turn, of_owners, project
from asyncdp_sim.streams import Scope


@dataclass(eq=False)
class GatheredState:
    """One model per replicate, and what this round has brought so far; advanced in place.

    Attributes
    ----------
    central : array (R, p)
        The model that is judged.
    model : array (R, p)
        θ, at which gradients are asked for.
    clipped : array of int (R,)
        Updates in which the projection onto Θ changed θ.
    turns, answers : list
        This round's answers, in the order of arrival.
    k : int
        Updates made.
    """

    central: Array
    model: Array
    clipped: Indices
    turns: list[Turn] = field(default_factory=list)
    answers: list[Array] = field(default_factory=list)
    k: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class GatheredSteps(Steps):
    """The numbers that all synchronous algorithms need.

    With A the owners that answered in a round, a step follows their weighted mean
    Σ_{A} n_i Q_i / Σ_{A} n_i, which is Σ (n_i/n) Q_i where all did (Collab, equation 5).

    Attributes
    ----------
    weights : array (N,)
        n_i/n.
    n_features : int
        p.
    sigma : float
        σ.
    trim : int
        Of each coordinate's answers, so many of the largest and of the smallest are left out
        (then the mean is not weighted); as few as leave at least one where a round has less.
    theta_max : float or None
        The box Θ.
    initial : str
        Where the model starts.
    """

    by_row: ClassVar[tuple[str, ...]] = ("weights", "sigma", "theta_max")
    answers_per_update = None  # the protocol says when a round is over,
    apply_at = "as-read"  # during which the model does not change

    weights: Array
    n_features: int
    sigma: float | Array
    trim: int = 0
    theta_max: float | Array | None
    initial: Initial

    @override
    def init(self, replicates: Sequence[Scope]) -> GatheredState:
        model = start(self.initial, replicates, self.n_features)
        project(model, self.theta_max)
        return GatheredState(model.copy(), model, np.zeros(len(replicates), dtype=np.int64))

    @override
    def query(self, state: GatheredState, turn: Turn) -> Array:
        return state.model[turn.replicates]

    @override
    def apply(self, state: GatheredState, turn: Turn, points: Array, answers: Array) -> None:
        state.turns.append(turn)
        state.answers.append(answers)

    def mean(self, state: GatheredState) -> Array:
        """Return the mean of this round's answers, shape (R, p), and forget them."""
        found = self._trimmed(state) if self.trim > 0 else self._weighted(state)
        state.turns, state.answers = [], []
        return found

    def _weighted(self, state: GatheredState) -> Array:
        total, weight = np.zeros_like(state.model), np.zeros((len(state.model), 1))
        for turn, answers in zip(state.turns, state.answers, strict=True):
            share = of_owners(self.weights, turn)
            total[turn.replicates] += share * answers
            weight[turn.replicates] += share
        weight[weight == 0] = 1  # a replicate without answers does not move
        return np.asarray(total / weight)

    def _trimmed(self, state: GatheredState) -> Array:
        shape = (len(state.answers), *state.model.shape)
        ranked = np.full(shape, np.nan)  # what is absent ranks last
        count = np.zeros(len(state.model), dtype=np.int64)
        for place, (turn, answers) in enumerate(zip(state.turns, state.answers, strict=True)):
            ranked[place, turn.replicates] = answers
            count[turn.replicates] += 1
        ranked.sort(axis=0)
        cut = np.minimum(self.trim, (np.maximum(count, 1) - 1) // 2)
        rank = np.arange(len(ranked))[:, None]
        kept = (rank >= cut) & (rank < count - cut)
        total = np.zeros_like(state.model)
        for used, answers in zip(kept, ranked, strict=True):  # a sum in one order for every shape
            total[used] += answers[used]
        return np.asarray(total / np.maximum(kept.sum(axis=0), 1)[:, None])

    def move(self, state: GatheredState, step: float | Array, rows: Indices | None) -> None:
        """Take θ ← Π_Θ[θ − step (σθ + mean)] in these replicates; count the update."""
        direction = self.sigma * state.model + self.mean(state)
        model = state.model - step * direction
        outside = project(model, self.theta_max)
        some = slice(None) if rows is None else rows
        if outside is not None:
            state.clipped[some] += outside[some]
        state.model[some] = model[some]
        state.k += 1


class GatheredKind(AlgorithmKind):
    """A synchronous algorithm, which steps along the mean of a round's answers."""

    updates_of = ("round",)
    one_model = True
    looks_at_models = True
    obfuscates = False

    @property
    @override
    def sums_suffice(self) -> bool:
        return True

    @property
    @override
    def answers_per_update(self) -> None:
        return  # as many as a round brings
