"""Algorithms with their numbers filled in: states, queries, answers, steps and updates.

Arrays have a leading axis of rows: the replicates of one cell, or those of several cells, one cell
after another.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Scope

Asks = Literal["average", "central"]
"""Where gradients are taken: at the owner's (θ_L + θ_i)/2, or at θ_L."""


def project(model: Array, theta_max: float | Array | None) -> Bools | None:
    """Project models (r, p) onto Θ in place; return which were outside, None if none were."""
    if theta_max is None:
        return None
    size = np.abs(model)
    if size.max(initial=0.0) <= (theta_max if isinstance(theta_max, float) else np.min(theta_max)):
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
    """The numbers of a scenario that an algorithm is filled in with.

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
        The protocol, for algorithms whose steps depend on it.
    noise : array (N,), optional
        Scale of each owner's noise; absent, answers are exact.
    lateness : tuple of array, optional
        P(staleness = 0), P(staleness = 1) … of each owner's answers, where it is known.
    domain : optional
        The domain that records are clipped to, with its ``row_norm`` and ``target_max``.
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
        """Return Nπ_i or Nπ_i E[w(s) | i], by which steps are divided, (N,).

        Parameters
        ----------
        selection : str
            "uniform" divides by nothing, and returns None.
        weight : callable, optional
            w, of whole numbers s.

        Raises
        ------
        SpecError
            If π_i or the law of the staleness is needed and not known.
        """
        if selection == "uniform":
            return None
        remedy = "it needs each owner's share of the updates, which has no formula here"
        if self.shares is None:
            raise SpecError([Fault("algorithm.selection", selection, remedy)])
        # an owner whose answers are all lost takes no step, whatever divides it
        often = np.where(self.shares > 0, self.n_owners * self.shares, 1.0)
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
        The owner of each answer, from 0.
    staleness : array of int (r,), optional
        Updates between the read and the use; absent, there were none.
    peers : array of int (r,), optional
        The peer whose model was read, where there are several; see ``peer`` of a trace.
    rows : array of int (r,), optional
        The replicates, from 0, in rising order; absent, all of them.
    numbers : array of int (r,), optional
        How many answers each owner had released before this one, where noise depends on it.
    replicates : array of int (r,)
        The replicates, from 0, also where ``rows`` is absent.
    index : slice or array of int (r,)
        The replicates as an index: where they are all, a slice, which copies nothing.
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


def rows_column(number: float | Array, rows: Ints) -> float | Array:
    """Return an algorithm's number in these rows: a float, or a column (r, 1).

    Where cells of a sweep learn together, a number may differ between their rows. It is a column
    (R, 1) then, and a table of owners' numbers has shape (R, N). Otherwise the number is a float,
    and the table has shape (N,).
    """
    return number[rows] if isinstance(number, np.ndarray) else number


def owners_column(table: Array, batch: AnswerBatch) -> Array:
    """Return the owners' numbers in the rows of a batch, a column (r, 1)."""
    if table.ndim == 1:
        return table.take(batch.owners)[:, None]
    return table[batch.replicates, batch.owners][:, None]


def power(base: float, exponent: float | Array) -> float | Array:
    """Return base^exponent, computed number by number, since powers of arrays round differently."""
    if isinstance(exponent, np.ndarray):
        return np.array([[base**value] for value in exponent.ravel().tolist()])
    return float(base**exponent)


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """E steps of owner i from the model θ that it received, and their sum, which it sends.

    x_0 = θ, then x ← Π_Θ[x_e] and x_{e+1} = x − (ησ x + s_i Q_e) with Q_e the noisy gradient at x;
    the owner sends (θ − x_E)/u. The projection costs no privacy: x_e depends on the owner's records
    only through noisy gradients.

    Attributes
    ----------
    count : int
        E ≥ 2.
    step : array (N,)
        s_i.
    shrink : float
        1 − ησ.
    theta_max : float or None
        The box Θ.
    unit : float
        u.
    """

    by_row: ClassVar[tuple[str, ...]] = ("step", "shrink", "theta_max", "unit")

    count: int
    step: Array
    shrink: float | Array
    theta_max: float | Array | None
    unit: float | Array = 1.0

    def sent(self, batch: AnswerBatch, points: Array, ask: Callable[[Array], Array]) -> Array:
        """Return the answers of owners that received the models ``points`` (r, p), shape (r, p).

        ``ask`` returns the owners' noisy gradients at points (r, p), which it does not change.
        """
        local, step, rows = points, owners_column(self.step, batch), batch.replicates
        shrink = rows_column(self.shrink, rows)
        bound = None if self.theta_max is None else rows_column(self.theta_max, rows)
        for made in range(self.count):
            if made > 0:
                project(local, bound)
            local = shrink * local - step * ask(local)
        return np.asarray((points - local) / rows_column(self.unit, rows))


class Algorithm(ABC):
    """An algorithm with its numbers filled in; the state belongs to the caller.

    A state is made by :meth:`init`, and stepped by :meth:`apply`, one answer of each replicate, and
    :meth:`update`, after the last answer of an update.
    """

    by_row: ClassVar[tuple[str, ...]] = ()
    """Fields of a dataclass that may differ between rows: see :func:`rows_column`."""
    n_features: int
    """p, the coordinates of a model."""
    answers_per_update: int | None
    """How many answers make one update; None where the protocol decides each time."""
    apply_at: Literal["current", "as-read"]
    """Whether a stale answer's step starts from the model as it is now, or as it was read."""
    several_servers: bool = False
    """Whether each client has random streams of its own, and servers step one by one."""
    answers_once: bool = False
    """Whether each owner draws one answer, and repeats it whenever it is asked again."""
    local: LocalSteps | None = None
    """The steps of an owner before it answers; None where it answers with a gradient."""

    @property
    def answer_size(self) -> int:
        """Numbers in an answer: by default as many as in a gradient."""
        return self.n_features

    def answered_with(self, gradients: Gradients) -> Gradients:
        """Return what takes the place of owners' gradients in their answers: by default these."""
        return gradients

    @abstractmethod
    def init(self, replicates: Sequence[Scope]) -> Any:
        """Return the state at k = 0, whose models are in Θ, one row per replicate.

        Its ``central`` (R, p) is the model that is judged; its ``clipped`` (R,) counts the updates
        in which a projection onto Θ changed a model.
        """

    @abstractmethod
    def query(self, state: Any, batch: AnswerBatch) -> Array:
        """Return the points that are sent to the owners, shape (r, p), as copies."""

    def central(self, state: Any, batch: AnswerBatch) -> Array:
        """Return the central models, shape (r, p): what a broadcast sends."""
        return self.query(state, batch)

    def asked(self, state: Any, batch: AnswerBatch, asks: Asks) -> Array:
        """Return the points at which gradients are taken, shape (r, p)."""
        return self.query(state, batch) if asks == "average" else self.central(state, batch)

    @abstractmethod
    def apply(self, state: Any, batch: AnswerBatch, points: Array, answers: Array) -> None:
        """Take one answer for each replicate of the batch; may overwrite points and answers."""

    def partners(self, state: Any, batch: AnswerBatch) -> AnswerBatch | None:  # noqa: ARG002
        """Return further owners whose answers this batch needs, if any.

        It is called only if ``answers_once`` holds.
        """
        return None

    def put_in(self, state: Any, batch: AnswerBatch, answers: Array) -> None:  # noqa: B027
        """Take the answers of the owners that :meth:`partners` returned."""

    def update(self, state: Any, rows: Ints | None = None) -> None:  # noqa: B027
        """Complete an update with the answers since the last one, in these replicates (None: all).

        By default nothing is done, which is right where every answer is an update.
        """

    def advance_server(self, state: Any, server: int) -> None:  # noqa: B027
        """Let a server (from 0) make its next step, if there are several servers."""


class Wrapped(Algorithm):
    """A base of classes that do what an algorithm does, and something more.

    Parameters
    ----------
    steps : Algorithm
        The algorithm, to which every call is passed.
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
    def query(self, state: Any, batch: AnswerBatch) -> Array:
        return self.steps.query(state, batch)

    @override
    def central(self, state: Any, batch: AnswerBatch) -> Array:
        return self.steps.central(state, batch)

    @override
    def apply(self, state: Any, batch: AnswerBatch, points: Array, answers: Array) -> None:
        self.steps.apply(state, batch, points, answers)

    @override
    def partners(self, state: Any, batch: AnswerBatch) -> AnswerBatch | None:
        return self.steps.partners(state, batch)

    @override
    def put_in(self, state: Any, batch: AnswerBatch, answers: Array) -> None:
        self.steps.put_in(state, batch, answers)

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

    def repeated(self, batch: AnswerBatch) -> AnswerBatch:
        """Return a batch of one cell's replicates as one of all cells' rows."""
        if self.cells == 1:
            return batch
        return AnswerBatch(
            np.tile(batch.owners, self.cells),
            self._tiled(batch.staleness),
            self._tiled(batch.peers),
            None if batch.rows is None else self.rows(batch.rows),
            self._tiled(batch.numbers),
        )

    def rows(self, replicates: Ints) -> Ints:
        """Return the rows of replicates in all cells, in rising order."""
        first = np.arange(self.cells) * self.replicates
        return (first[:, None] + replicates).ravel()

    def places(self, batch: AnswerBatch) -> Ints:
        """Return cN + i for owner i, from 0, in a row of cell c, shape (r,)."""
        if self.cells == 1:
            return batch.owners
        return batch.replicates // self.replicates * self.owners + batch.owners

    def by_cell(self, points: Array) -> Array:
        """Return points (Cm, p) by cell, shape (C, m, p): a view of them."""
        return points.reshape(self.cells, -1, points.shape[1])

    def _tiled(self, values: Ints | None) -> Ints | None:
        return None if values is None else np.tile(values, self.cells)
