"""The algorithms: the gradient that a client answers with, and the steps that the server takes.

NumPy alone. The client must trust :func:`gradient`, whose clipping its noise is scaled for; the
server's steps see noisy answers only, and owners need not trust them for their privacy.
"""

import math

import numpy as np


def gradient(x: np.ndarray, y: np.ndarray, point: np.ndarray, model: dict) -> list[float]:
    """Return the mean of the records' gradients, each clipped to norm ≤ Ξ, at any point.

    A gradient is φ'(θᵀx, y) x, so that clipping it to Ξ is clipping its slope to ±Ξ/‖x‖. Sums are
    exact but for a last rounding, so that no record's rounding depends on another record.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = np.array([float(row @ point) for row in x])
        if model["loss"] == "ridge":
            slope = 2 * (z - y)
        elif model["loss"] == "huber":
            slope = np.clip(z - y, -model["delta"], model["delta"])
        elif model["loss"] == "logistic":
            small = np.exp(-np.abs(y * z))
            slope = -y * np.where(y * z > 0, small, 1.0) / (1 + small)
        else:  # svm
            slope = -y * (y * z < 1)
        most = model["bound"] / np.linalg.norm(x, ord=model["norm"], axis=1)
        slope = np.clip(slope, -most, most)
        slope[~np.isfinite(slope)] = 0.0
        return [math.fsum(column) / len(y) for column in (x * slope[:, None]).T]


class ServerSteps:
    """The server's model and its steps.

    Parameters
    ----------
    numbers : dict
        The plan's ``algorithm``.
    state : dict
        As :attr:`state` of a learner before; empty to begin.

    Attributes
    ----------
    state : dict
        ``central`` is the model, ``k`` counts its updates; lists and numbers, for a checkpoint.
    """

    def __init__(self, numbers: dict, state: dict) -> None:
        self.numbers = numbers
        self._kind = numbers["kind"]
        central = list(numbers["central"])
        begun = {"central": central, "model": list(central), "copies": numbers.get("copies")}
        self.state = state or {**begun, "k": 0, "sum": [0.0] * len(central), "weight": 0.0, "m": 0}

    def query(self, owner: int) -> np.ndarray:
        """Return the point at which an owner (from 0) is asked for its gradient."""
        if self._kind == "async-gossip":
            return (np.array(self.state["copies"][owner]) + np.array(self.state["central"])) * 0.5
        return np.array(self.state["model"])

    def take(self, owner: int, point: np.ndarray, answer: np.ndarray, staleness: int) -> None:
        """Take an owner's answer at a point that was read so many updates ago."""
        n, state = self.numbers, self.state
        if self._kind == "async-gossip":
            if n["apply_at"] == "current":
                point = self.query(owner)
            copy = n["shrink_copy"][owner] * point - n["step"][owner] * answer
            state["copies"][owner] = self._box(copy)
            self._move(n["shrink_central"] * point)
        elif self._kind == "fedasync":
            local = n["shrink"] * point - n["step"][owner] * answer
            local = point + (local - point) / n["often"][owner]
            theta, weight = self.query(owner), n["mixing"] * self._weight(staleness)
            self._move(theta + weight * (local - theta))
        elif self._kind == "fedbuff":
            step = (n["shrink"] * point + n["step"][owner] * answer) / n["often"][owner]
            self._gather(step * self._weight(staleness), 1.0)
            if state["m"] == n["buffer"]:
                total = np.array(state["sum"])
                self._move(self.query(owner) - n["server_step"] / n["buffer"] * total)
        else:
            self._gather(n["weights"][owner] * answer, n["weights"][owner])

    def end_round(self) -> None:
        """Complete an update of a round's answers; without answers there is none."""
        state, n = self.state, self.numbers
        if state["m"] == 0 or "weights" not in n:
            return
        k, theta = state["k"] + 1, self.query(0)
        mean = np.array(state["sum"]) / state["weight"]
        steps = {"collab-1": lambda: n["rate"] / k, "collab-2": lambda: n["rate"] / math.sqrt(k)}
        step = steps.get(self._kind, lambda: n["rate"] * k ** -n["exponent"])()
        average = np.array(state["central"])
        self._move(theta - step * (n["sigma"] * theta + mean))
        if self._kind == "collab-2":
            lead = n["lead"]
            average = (k - 1) / (lead + k) * average + (lead + 1) / (lead + k) * theta
            state["central"] = average.tolist()

    def _move(self, model: np.ndarray) -> None:
        """Make a model, projected into the box, the central one; nothing is gathered any more."""
        self.state["central"] = self.state["model"] = self._box(model)
        empty = {"sum": [0.0] * len(model), "weight": 0.0, "m": 0}
        self.state |= {**empty, "k": self.state["k"] + 1}

    def _gather(self, answer: np.ndarray, weight: float) -> None:
        state = self.state
        state["sum"] = (np.array(state["sum"]) + answer).tolist()
        state["weight"], state["m"] = state["weight"] + weight, state["m"] + 1

    def _box(self, model: np.ndarray) -> list[float]:
        most = self.numbers["theta_max"]
        return (model if most is None else np.clip(model, -most, most)).tolist()

    def _weight(self, staleness: int) -> float:
        kind, exponent = self.numbers["weighting"], self.numbers["exponent"]
        if kind == "polynomial":
            return (1.0 + staleness) ** -exponent
        late = max(staleness - self.numbers["patience"], 0.0)
        return 1 / (exponent * late + 1) if kind == "hinge" else 1.0
