"""The steps of an algorithm, seen from what drives them: a state, queries, answers, updates."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Scope

if TYPE_CHECKING:
    from asyncdp_sim.learning.algorithms.kind import LocalSteps


Asks = Literal["average", "central"]
"""Where gradients are taken: at the owner's (θ_L + θ_i)/2, or at θ_L."""


def project(model: Array, theta_max: float | Array | None) -> Bools | None:
    """Project models (r, p) onto Θ in place; return which were outside, None if none were."""
    if theta_max is None:
        return None
    size = np.abs(model)
    if size.max() <= (theta_max if isinstance(theta_max, float) else np.min(theta_max)):
        return None
    outside: Bools = (size.max(axis=1, keepdims=True) > theta_max)[:, 0]
    if np.count_nonzero(outside) == 0:
        return None
    np.clip(model, -theta_max, theta_max, out=model)
    return outside


class Gradients(Protocol):
    """Mean record gradients, one owner (from 0) and one point per row."""

    def gradient(self, owners: Ints, points: Array) -> Array:
        """Return the gradients, shape (r, p)."""


@dataclass(frozen=True, eq=False)
class Setting:
    """The numbers of a scenario that algorithms are filled in with.

    Attributes
    ----------
    weights : array (N,)
        n_i/n.
    n_features, horizon : int
        p and T.
    sigma : float
        σ.
    theta_max : float or None
        The box Θ.
    shares : array (N,), optional
        π_i, each owner's share of the updates, where it is known.
    protocol : Protocol, optional
        How owners and learner talk, for algorithms that need to know.
    noise : array (N,), optional
        How large each owner's noise is; absent, answers are exact.
    lateness : tuple of array, optional
        P(staleness = 0), P(staleness = 1) … of each owner's answers, where it is known.
    domain : optional
        The bounded domain that records are brought into: its ``row_norm`` and ``target_max``.
    """

    weights: Array
    n_features: int
    horizon: int
    sigma: float
    theta_max: float | None
    shares: Array | None = None
    protocol: Any = None
    noise: Array | None = None
    domain: Any = None
    lateness: tuple[Array, ...] | None = None

    @property
    def n_owners(self) -> int:
        """N."""
        return len(self.weights)

    def overcounted(
        self, selection: str, weight: Callable[[Ints], Array] | None = None
    ) -> Array | None:
        """Return Nπ_i or Nπ_i E[w(s) | i], by which steps are divided, (N,); None if by nothing.

        Raises
        ------
        SpecError
            If it is asked for, and π_i or the law of the staleness are not here.
        """
        if selection == "uniform":
            return None
        remedy = "it needs each owner's share of the updates, which has no formula here"
        if self.shares is None:
            raise SpecError([Fault("algorithm.selection", selection, remedy)])
        often = self.n_owners * self.shares
        if selection == "inverse-rate" or weight is None:
            return often
        if self.lateness is None:
            remedy = "it needs the law of each owner's staleness, which has no formula here"
            raise SpecError([Fault("algorithm.selection", selection, remedy)])
        mean_weights = [float(law @ weight(np.arange(len(law)))) for law in self.lateness]
        return np.asarray(often * np.array(mean_weights))


@dataclass(eq=False, slots=True)
class AnswerBatch:
    """One answer of each replicate that has one.

    Attributes
    ----------
    owners : array of int (r,)
        Whose answers, from 0.
    staleness : array of int (r,), optional
        Updates between the read and the use; none were made where absent.
    peers : array of int (r,), optional
        Whose model was read, where there are several; see ``peer`` of a trace.
    rows : array of int (r,), optional
        The replicates, from 0, in rising order; all of them where absent.
    numbers : array of int (r,), optional
        How many answers each owner had released before this one, where noise depends on it.
    replicates : array of int (r,)
        The replicates, from 0, whether there are ``rows`` or not.
    index : slice or array of int (r,)
        The same as an index: a slice, which copies nothing, where they are all.
    """

    owners: Ints
    staleness: Ints | None = None
    peers: Ints | None = None
    rows: Ints | None = None
    numbers: Ints | None = None
    replicates: Ints = field(init=False)
    index: slice | Ints = field(init=False)

    def __post_init__(self) -> None:
        self.replicates = np.arange(len(self.owners)) if self.rows is None else self.rows
        self.index = slice(None) if self.rows is None else self.rows


def of_rows(number: float | Array, rows: Ints) -> float | Array:
    """Return an algorithm's number in these rows: itself, or a column (r, 1).

    A number may differ from row to row, where cells of a sweep learn together. It is then a column
    (R, 1), and a table of owners is one (R, N); with one cell they are a float and an array (N,).
    """
    return number[rows] if isinstance(number, np.ndarray) else number


def of_owners(table: Array, turn: AnswerBatch) -> Array:
    """Return the owners' numbers in the rows of a turn, (r, 1) or as :func:`per_row` has them."""
    if table.ndim == 1:
        return per_row(table, turn.owners)
    return table[turn.replicates, turn.owners][:, None]


def per_row(table: Array, owners: Ints) -> Array:
    """Return numbers (N,) of these owners, (r, 1), or (1, 1) of a :func:`shared` one."""
    return table[:1, None] if table.strides == (0,) else table.take(owners)[:, None]


def shared(table: Array) -> Array:
    """Return owners' numbers (N,), as one number with stride 0 where all are equal.

    Owners of one size share their step and the scale of their noise, and a number for all rows is
    multiplied in half the time.
    """
    first = table[:1]
    return np.broadcast_to(first, table.shape) if np.all(table == first) else table


def power(base: float, exponent: float | Array) -> float | Array:
    """Return base^exponent, by scalars alone: powers of arrays round otherwise."""
    if isinstance(exponent, np.ndarray):
        return np.array([[base**value] for value in exponent.ravel().tolist()])
    return float(base**exponent)


class Algorithm(ABC):
    """An algorithm with its numbers filled in; the state belongs to the caller.

    A state is made by :meth:`init`, and stepped by :meth:`apply`, one answer of each replicate, and
    :meth:`update`, after the last answer of an update.
    """

    by_row: ClassVar[tuple[str, ...]] = ()
    """Fields, of a dataclass, that may be another number in each row: see :func:`of_rows`."""
    n_features: int
    """p, the coordinates of a model."""
    answers_per_update: int | None
    """How many answers make one update; None where the protocol decides each time."""
    apply_at: Literal["current", "as-read"]
    """Where a stale answer's step is taken from."""
    several_servers: bool = False
    """Each client answers by random streams of its own, and servers step one by one."""

    answers_once: bool = False
    """Each owner draws one answer and repeats it, whenever it is asked."""

    local: "LocalSteps | None" = None
    """How far an owner goes by itself before it answers; None where it answers with a gradient."""

    @property
    def answer_size(self) -> int:
        """How many numbers an answer has: those of a gradient."""
        return self.n_features

    def answered_with(self, gradients: Gradients) -> Gradients:
        """Return what owners answer with, given their gradients: these, as a rule."""
        return gradients

    @abstractmethod
    def init(self, replicates: Sequence[Scope]) -> Any:
        """Return the state at k = 0, in Θ, one row per replicate.

        Its ``central`` (R, p) is the model that is judged, its ``clipped`` (R,) counts the updates
        in which a projection onto Θ changed a model.
        """

    @abstractmethod
    def query(self, state: Any, turn: AnswerBatch) -> Array:
        """Return the points that are sent to the owners, shape (r, p), copies of what they are."""

    def central(self, state: Any, turn: AnswerBatch) -> Array:
        """Return the central models, shape (r, p): what a broadcast sends."""
        return self.query(state, turn)

    @abstractmethod
    def apply(self, state: Any, turn: AnswerBatch, points: Array, answers: Array) -> None:
        """Take one answer for each replicate of the turn; may overwrite points and answers."""

    def besides(self, state: Any, turn: AnswerBatch) -> AnswerBatch | None:  # noqa: ARG002
        """Return whose answers this turn needs though they do not arrive in it, if any.

        Asked where ``answers_once`` holds.
        """
        return None

    def put_in(self, state: Any, turn: AnswerBatch, answers: Array) -> None:  # noqa: B027
        """Take the answers of owners that :meth:`besides` named."""

    def update(self, state: Any, rows: Ints | None = None) -> None:  # noqa: B027
        """Complete an update of the answers taken since the last one, in these replicates.

        There is nothing to do where every answer is an update.
        """

    def advance_server(self, state: Any, server: int) -> None:  # noqa: B027
        """Let a server (from 0) make its next step, where there are several."""


class Wrapped(Algorithm):
    """An algorithm as it is, for a class that does something besides.

    Parameters
    ----------
    steps : Algorithm
        The algorithm.
    """

    def __init__(self, steps: Algorithm) -> None:
        self.steps = steps
        self.n_features = steps.n_features
        self.answers_per_update = steps.answers_per_update
        self.apply_at = steps.apply_at
        self.several_servers = steps.several_servers
        self.answers_once = steps.answers_once
        self.local = steps.local

    @property
    @override
    def answer_size(self) -> int:
        return self.steps.answer_size

    @override
    def answered_with(self, gradients: Gradients) -> Gradients:
        return self.steps.answered_with(gradients)

    @override
    def init(self, replicates: Sequence[Scope]) -> Any:
        return self.steps.init(replicates)

    @override
    def query(self, state: Any, turn: AnswerBatch) -> Array:
        return self.steps.query(state, turn)

    @override
    def central(self, state: Any, turn: AnswerBatch) -> Array:
        return self.steps.central(state, turn)

    @override
    def apply(self, state: Any, turn: AnswerBatch, points: Array, answers: Array) -> None:
        self.steps.apply(state, turn, points, answers)

    @override
    def besides(self, state: Any, turn: AnswerBatch) -> AnswerBatch | None:
        return self.steps.besides(state, turn)

    @override
    def put_in(self, state: Any, turn: AnswerBatch, answers: Array) -> None:
        self.steps.put_in(state, turn, answers)

    @override
    def update(self, state: Any, rows: Ints | None = None) -> None:
        self.steps.update(state, rows)

    @override
    def advance_server(self, state: Any, server: int) -> None:
        self.steps.advance_server(state, server)


@dataclass(frozen=True)
class CellRows:
    """The rows of several cells: the replicates of the first, then those of the second, ….

    Attributes
    ----------
    cells, replicates, owners : int
        C, R and N. Row r of cell c is row cR + r of all.
    """

    cells: int
    replicates: int
    owners: int

    def repeated(self, turn: AnswerBatch) -> AnswerBatch:
        """Return a turn of one cell's replicates as one of all cells' rows."""
        if self.cells == 1:
            return turn
        return AnswerBatch(
            np.tile(turn.owners, self.cells),
            self._tiled(turn.staleness),
            self._tiled(turn.peers),
            None if turn.rows is None else self.rows(turn.rows),
            self._tiled(turn.numbers),
        )

    def rows(self, replicates: Ints) -> Ints:
        """Return the rows of replicates in all cells, in rising order."""
        first = np.arange(self.cells) * self.replicates
        return (first[:, None] + replicates).ravel()

    def places(self, turn: AnswerBatch) -> Ints:
        """Return cN + i for owner i, from 0, in a row of cell c, shape (r,)."""
        return turn.replicates // self.replicates * self.owners + turn.owners

    def _tiled(self, values: Ints | None) -> Ints | None:
        return None if values is None else np.tile(values, self.cells)
