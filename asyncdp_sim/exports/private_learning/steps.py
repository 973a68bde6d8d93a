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

    ``x`` (n, p) and ``y`` (n,) are the rows that :func:`table.read` returns: finite, and at most
    ``table.LARGEST`` in size. ``point`` is (p,) and finite. If ‖x‖ underflows to 0, the slope is
    not clipped, but with such ``y`` a gradient of so small an ``x`` is far shorter than Ξ.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        z = np.array([float(row @ point) for row in x])
        if model["loss"] == "ridge":
            slope = 2 * (z - y)
        elif model["loss"] == "logistic":
            slope = -y / (1 + np.exp(y * z))  # which may be ∞: the slope is 0
        else:  # "svm": no other model is exported
            slope = -y * (y * z < 1)
        most = model["bound"] / np.linalg.norm(x, ord=model["norm"], axis=1)
        slope = np.clip(slope, -most, most)
        slope[~np.isfinite(slope)] = 0.0
        return [math.fsum(column) / len(y) for column in (x * slope[:, None]).T]


class ServerSteps:
    """The server's model and its steps, by the numbers of the plan's algorithm.

    ``numbers`` always has ``kind``, ``central`` and ``copies`` (the models at the start: (p,), and
    (N, p) or empty), and ``box`` (a model's least and largest coefficient, or None). Besides:

    - in rounds ``weights`` (N,), ``sigma``, ``rate``, ``exponent`` and ``lead`` (1/√T in
      collab-2, otherwise None);
    - otherwise ``apply_at``, ``shrink`` (N,) and ``step`` (N,); in async-gossip
      ``shrink_central``; in fedasync and fedbuff ``fresh`` (T,), the weight of an answer by its
      staleness; in fedasync ``mixing``; in fedbuff ``server_step`` and ``buffer``.

    ``state`` is one of a checkpoint, or empty at the start. It consists of lists and numbers:
    ``central`` is the model that is learned, ``model`` the one that queries are formed of (another
    one in collab-2 only, which learns an average of its models), ``copies`` are the owners'
    models, ``k`` counts updates, and ``sum`` and ``weight`` are of the answers that are gathered
    for the next update (their number, in fedbuff).
    """

    def __init__(self, numbers: dict, state: dict) -> None:
        self._numbers, central = numbers, numbers["central"]
        begun = {"central": central, "model": central, "copies": list(numbers["copies"])}
        self.state = state or {**begun, "k": 0, "sum": [0.0] * len(central), "weight": 0.0}

    def query(self, owner: int) -> np.ndarray:
        """Return the point at which an owner (from 0) is asked for its gradient."""
        model = np.array(self.state["model"])
        return (self.state["copies"][owner] + model) * 0.5 if self.state["copies"] else model

    def take(self, owner: int, point: np.ndarray, answer: np.ndarray, staleness: int) -> None:
        """Take an owner's answer at a point that was read so many updates ago."""
        n, state = self._numbers, self.state
        if "weights" in n:  # in rounds
            return self._gather(n["weights"][owner] * answer, n["weights"][owner])
        theta = self.query(owner)
        point = theta if n["apply_at"] == "current" else point
        # The owner's model after its step; in fedbuff, whose shrink is negative, the step alone.
        local = n["shrink"][owner] * point - n["step"][owner] * answer
        if n["kind"] == "async-gossip":
            state["copies"][owner] = self._box(local)
            self._move(n["shrink_central"] * point)
        elif n["kind"] == "fedasync":
            self._move(theta + n["mixing"] * n["fresh"][staleness] * (local - theta))
        else:  # fedbuff
            self._gather(n["fresh"][staleness] * local, 1.0)
            if state["weight"] == n["buffer"]:
                self._move(theta + n["server_step"] * self._mean())

    def end_round(self) -> None:
        """Complete the update of a round's answers."""
        n, k, lead = self._numbers, self.state["k"] + 1, self._numbers["lead"]
        theta, average = np.array(self.state["model"]), np.array(self.state["central"])
        self._move(theta - n["rate"] * k ** -n["exponent"] * (n["sigma"] * theta + self._mean()))
        if lead is not None:  # collab-2 learns the average of its models before each step
            average = (k - 1) / (lead + k) * average + (lead + 1) / (lead + k) * theta
            self.state["central"] = average.tolist()

    def gather_anew(self) -> None:
        """Forget the answers of a round that was not ended."""
        self.state |= {"sum": [0.0] * len(self.state["central"]), "weight": 0.0}

    def _move(self, model: np.ndarray) -> None:
        """Make a model, projected into the box, the central one; nothing is gathered any more."""
        central, k = self._box(model), self.state["k"] + 1
        self.state |= {"central": central, "model": central, "k": k}
        self.gather_anew()

    def _gather(self, answer: np.ndarray, weight: float) -> None:
        self.state["sum"] = (self.state["sum"] + answer).tolist()
        self.state["weight"] += weight

    def _mean(self) -> np.ndarray:
        return np.array(self.state["sum"]) / self.state["weight"]

    def _box(self, model: np.ndarray) -> list[float]:
        return np.clip(model, *self._numbers["box"]).tolist()
