"""Learning inside the simulation: the definition that replay must equal."""

import copy
from typing import Any

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Asks, Steps
from asyncdp_sim.learning.replay import Gradients, Noise, Path
from asyncdp_sim.streams import Scope


class LiveLearning:
    """Trains one replicate while its network runs.

    Parameters
    ----------
    steps, gradients, noise
        The algorithm, the owners' answers, and what the mechanism adds to them.
    replicate : Scope
        The replicate's random streams.
    record_every : int
        Distance in k between recorded models, ≥ 1.
    asks : str
        Where gradients are taken.
    """

    def __init__(
        self,
        steps: Steps,
        gradients: Gradients,
        noise: Noise,
        replicate: Scope,
        record_every: int,
        asks: Asks = "average",
    ) -> None:
        self._ask = steps.query if asks == "average" else steps.central
        self._steps = steps
        self._gradients = gradients
        self._noise = noise
        self._source = replicate.generator("noise")
        self._record_every = record_every
        self._state = steps.init([replicate])
        self._asked: dict[int, tuple[Array, int]] = {}
        self._updates = 0
        self._held = 0
        self._models = [self._state.central.copy()]

    def read(self, owner: int, message: int) -> None:
        """Form the query for an owner (from 1) from the model as it is now."""
        self._asked[message] = self._ask(self._state, np.array([owner - 1])), self._updates

    def broadcast(self) -> object:
        """Return the state as it is now, and k."""
        return copy.deepcopy(self._state), self._updates

    def take(self, owner: int, message: int, sent: Any) -> None:
        """Form the query of this message from the state that was broadcast."""
        state, read_k = sent
        self._asked[message] = self._ask(state, np.array([owner - 1])), read_k

    def again(self, message: int, former: int) -> None:
        """Ask in this message what the former one asked."""
        self._asked[message] = self._asked[former]

    def forget(self, message: int) -> None:
        """Drop a query that will not be answered."""
        del self._asked[message]

    def apply(self, owner: int, message: int) -> None:
        """Take the owner's noisy answer to the query of this message; step where it is the last."""
        index = np.array([owner - 1])
        points, read_k = self._asked.pop(message)
        staleness = np.array([self._updates - read_k])
        answers = self._gradients.gradient(index, points)
        row = self._noise.rows(self._source, 1, self._steps.n_features)
        answers += row * self._noise.scale[index, None]
        if self._steps.apply_at == "current":
            points = self._steps.query(self._state, index)
        with np.errstate(over="ignore", invalid="ignore"):
            self._steps.apply(self._state, index, points, answers, staleness)
        self._held += 1
        if self._held < self._steps.answers_per_update:
            return
        self._held = 0
        self._updates += 1
        if self._updates % self._record_every == 0:
            self._models.append(self._state.central.copy())

    def path(self) -> Path:
        """Return where the model has gone so far."""
        return Path(
            updates=np.array([self._updates]),
            record_every=self._record_every,
            central=np.stack(self._models),
            final=self._state.central.copy(),
            clipped=self._state.clipped.copy(),
        )
