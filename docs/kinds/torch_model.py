"""A PyTorch network as a model: gradients of single records, each clipped by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch.func import functional_call, grad, vmap

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.learning.objectives.losses import SQUARED, positive
from asyncdp_sim.learning.objectives.models import ModelKind


def tensor(values):
    """Return values as a tensor of its own."""
    return torch.from_numpy(np.array(values))


class Net:
    """Any module with one output, as a function of one vector θ."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module.double()
        self.shapes = {name: each.shape for name, each in module.named_parameters()}
        self.size = sum(shape.numel() for shape in self.shapes.values())

    def output(self, theta, rows):
        """Return z, shape (n,), for rows (n, d)."""
        parts = theta.split([shape.numel() for shape in self.shapes.values()])
        named = zip(self.shapes.items(), parts, strict=True)
        parameters = {name: part.view(shape) for (name, shape), part in named}
        return functional_call(self.module, parameters, (rows,)).squeeze(-1)

    def loss(self, theta, row, target):
        """Return ℓ = (y − z)² of one record."""
        return (self.output(theta, row[None])[0] - target) ** 2


@dataclass(frozen=True, eq=False)
class TorchRecords:
    """The owners' records, whose gradients are clipped one by one before their mean is taken."""

    net: Net
    features: Sequence[np.ndarray]
    targets: Sequence[np.ndarray]
    clip: float | None = None
    norm: Literal["l1", "l2"] = "l1"
    linear: None = None

    @cached_property
    def as_one(self):
        """All records as those of one owner: few of them are measured together."""
        features, targets = np.concatenate(self.features), np.concatenate(self.targets)
        return replace(self, features=(features,), targets=(targets,))

    def each(self, owner, theta, rows=slice(None)):
        """Return ∇ℓ of records of one owner at θ, shape (m, p), and their lengths."""
        x, y = tensor(self.features[owner][rows]), tensor(self.targets[owner][rows])
        of_each = vmap(grad(self.net.loss), in_dims=(None, 0, 0))
        found = of_each(tensor(theta), x, y).numpy()
        return found, np.linalg.norm(found, ord=1 if self.norm == "l1" else 2, axis=1)

    def gradient(self, owners, points):
        """Return the mean (clipped) gradient, one owner and point per row, each by itself."""
        return np.array([self._mean(i, theta) for i, theta in zip(owners, points, strict=True)])

    def _mean(self, owner, theta):
        found, lengths = self.each(owner, theta)
        if self.clip is not None:
            found = found * np.minimum(1.0, self.clip / np.maximum(lengths, 1e-300))[:, None]
        return found.mean(axis=0)

    def sampled(self, owners, points, uniforms):
        """Return the mean gradient over records ⌊u n_i⌋ of each row's owner, unclipped."""
        numbers = zip(owners, uniforms, strict=True)
        picked = [(u * len(self.targets[i])).astype(int) for i, u in numbers]
        rows = zip(owners, points, picked, strict=True)
        return np.array([self.each(i, theta, some)[0].mean(axis=0) for i, theta, some in rows])

    def included(self, owners, points, uniforms, probability):
        """Return Σ ∇ℓ/(q n_i), clipped, over records j with uniforms[:, j] < q."""
        found = np.empty(points.shape)
        for row, (i, theta) in enumerate(zip(owners, points, strict=True)):
            n = len(self.targets[i])
            some = np.flatnonzero(uniforms[row, :n] < probability)
            gradients, lengths = self.each(i, theta, some)
            if self.clip is not None:
                shrink = np.minimum(1.0, self.clip / np.maximum(lengths, 1e-300))
                gradients = gradients * shrink[:, None]
            found[row] = gradients.sum(axis=0) / (probability * n)
        return found

    def lengths_at(self, owner, rows, points):
        """Return ‖∇ℓ‖ of records, each at its own point."""
        places = np.arange(len(self.targets[owner]))[rows]
        pairs = zip(places, points, strict=True)
        return np.array([self.each(owner, theta, [row])[1][0] for row, theta in pairs])

    def ceilings(self, owner, rows, centres, radius):  # noqa: ARG002
        """Return NaN: no bound over a ball of models is known, so all are looked at."""
        return np.full((len(self.targets[owner][rows]), len(centres)), np.nan)

    def gradient_bound(self, theta_max):  # noqa: ARG002
        """Return None: nothing bounds the gradients of all networks."""
        return


@dataclass(frozen=True, eq=False)
class TorchObjective:
    """f, and the best of a few minima, which is no proof that there is no better one."""

    net: Net
    features: Sequence[np.ndarray]
    targets: Sequence[np.ndarray]
    sigma: float
    theta_max: None = None
    smoothness: None = None
    second_moments: None = None
    judge: None = None

    @property
    def n_features(self):
        """P."""
        return self.net.size

    @property
    def n_owners(self):
        """N."""
        return len(self.targets)

    @cached_property
    def records(self):
        """n_i."""
        return np.array([len(y) for y in self.targets], dtype=np.int64)

    @property
    def weights(self):
        """n_i/n."""
        return self.records / self.records.sum()

    @cached_property
    def _all(self):
        return tuple(tensor(np.concatenate(each)) for each in (self.features, self.targets))

    def _fitness(self, theta):
        x, y = self._all
        return self.sigma / 2 * theta @ theta + ((self.net.output(theta, x) - y) ** 2).mean()

    @cached_property
    def optimum(self):
        """θ*: the best of five descents whose starts never change."""
        starts = torch.Generator().manual_seed(0)
        found = [self._descent(starts) for _ in range(5)]
        return min(found, key=lambda theta: float(self.excess(theta, 0.0)))

    def _descent(self, starts):
        theta = torch.randn(self.net.size, generator=starts, dtype=torch.float64)
        theta.requires_grad_(True)
        descent = torch.optim.LBFGS([theta], max_iter=500, line_search_fn="strong_wolfe")

        def closure():
            descent.zero_grad()
            value = self._fitness(theta)
            value.backward()
            return value

        descent.step(closure)
        return theta.detach().numpy()

    @cached_property
    def least(self):
        """f(θ*)."""
        return positive(float(self.excess(self.optimum, 0.0)))

    def excess(self, theta, least=None):
        """Return f(θ) − f(θ*) for points (…, p), each by itself."""
        least = self.least if least is None else least
        points = np.array(theta).reshape(-1, self.net.size)
        with torch.no_grad():
            found = [float(self._fitness(tensor(each))) - least for each in points]
        return np.array(found).reshape(np.shape(theta)[:-1])

    def gradient(self, owners, points):
        """Return owner i's mean record gradient, one owner and point per row."""
        return TorchRecords(self.net, self.features, self.targets).gradient(owners, points)


class TorchNet(ModelKind):
    """Two layers with ``hidden`` units and tanh between them, by PyTorch."""

    intercept = False  # layers have thresholds of their own
    linear = False
    quadratic = False

    kind: Literal["torch-net"] = "torch-net"
    hidden: int = 4
    theta_max: None = None

    @property
    def phi(self):
        """φ(z, y) = (y − z)²."""
        return SQUARED

    def start_faults(self, initial):
        """Hidden units that start alike stay alike."""
        if initial in ("uniform", None):
            return []
        return [Fault("algorithm.initial", initial, "allowed is uniform: units must start apart")]

    def net(self, features):
        """Return the network for so many features."""
        layers = torch.nn.Linear(features, self.hidden), torch.nn.Linear(self.hidden, 1)
        return Net(torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1]))

    def numbers(self, features):
        """Return p."""
        return self.net(features).size

    def predictions(self, rows, theta):
        """Return z for rows and one model."""
        with torch.no_grad():
            return self.net(rows.shape[1]).output(tensor(theta), tensor(rows)).numpy()

    def objective(self, features, targets):
        """Return f over the owners' records."""
        return TorchObjective(self.net(features[0].shape[1]), features, targets, self.sigma)

    def records(self, features, targets, clip, norm):
        """Return the records' gradients, clipped where that is asked for."""
        return TorchRecords(self.net(features[0].shape[1]), features, targets, clip, norm)

    def gradient_bound(self, row_norm, target_max, n_features, norm):  # noqa: ARG002
        """Return None: a domain of records does not bound this network's gradients."""
        return
