"""A small neural network: one hidden layer, and a fitness that is not convex."""

from collections.abc import Sequence
from typing import Annotated, Literal

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.objectives.logistic import LogisticLoss
from asyncdp_sim.learning.objectives.losses import Array, Loss
from asyncdp_sim.learning.objectives.models import ModelKind
from asyncdp_sim.learning.objectives.objective import Objective, Records
from asyncdp_sim.learning.objectives.perceptron.fitness import PerceptronObjective
from asyncdp_sim.learning.objectives.perceptron.network import Perceptron
from asyncdp_sim.learning.objectives.perceptron.records import PerceptronRecords
from asyncdp_sim.learning.objectives.rows import Norm
from asyncdp_sim.learning.objectives.squared import SQUARED
from asyncdp_sim.spec import Count, about


class MLP(ModelKind):
    """A multilayer perceptron, z = w₂ᵀ tanh(W₁x + b₁) + b₂, ℓ = φ(z, y) (Collab, Remark 1).

    θ has p = H(``data.features`` + 2) + 1 coordinates, thresholds included, which the regulariser
    holds too; :class:`~asyncdp_sim.learning.objectives.perceptron.network.Perceptron` has their
    layout. f is not convex: θ* is the best of several local minima, and ψ < 0 says that a run
    found a better model. No theorem of the papers and no formula for quadratic losses speaks of it.
    """

    augmented = True
    linear = False
    quadratic = False

    kind: Literal["mlp"] = "mlp"
    hidden: Annotated[Count, about("H: hidden units", "units")]
    loss: Annotated[
        Literal["squared", "logistic"],
        about("φ(z, y): (y − z)², without ½ (squared), or ln(1 + e^{−yz}) of labels ±1 (logistic)"),
    ] = "squared"

    @property
    @override
    def phi(self) -> Loss:
        return SQUARED if self.loss == "squared" else LogisticLoss()

    @override
    def start_faults(self, initial: str | None) -> list[Fault]:
        # hidden units that start alike have gradients that are alike, too
        if initial in ("uniform", None):
            return []
        allowed = "allowed is uniform with model.kind = mlp: hidden units must start apart"
        return [Fault("algorithm.initial", initial, allowed)]

    @override
    def numbers(self, features: int) -> int:
        return Perceptron(features, self.hidden).numbers

    @override
    def predictions(self, rows: Array, theta: Array) -> Array:
        net = self._net([rows])
        return net.outputs(rows, theta, net.active(rows, theta))

    @override
    def objective(self, features: Sequence[Array], targets: Sequence[Array]) -> Objective:
        net = self._net(features)
        return PerceptronObjective(net, features, targets, self.phi, self.sigma, self.theta_max)

    @override
    def records(
        self, features: Sequence[Array], targets: Sequence[Array], clip: float | None, norm: Norm
    ) -> Records:
        return PerceptronRecords(self._net(features), features, targets, self.phi, clip, norm)

    def _net(self, features: Sequence[Array]) -> Perceptron:
        return Perceptron(features[0].shape[1] - 1, self.hidden)

    @override
    def gradient_bound(
        self, row_norm: float, target_max: float, n_features: int, norm: Norm
    ) -> float | None:
        """Return Ξ over Θ and all records of ‖x‖ ≤ ``row_norm``, |y| ≤ ``target_max``.

        It is an upper bound: sup|φ'| times that of ‖∂z/∂θ‖, each over its own worst case. It
        holds for ‖θ‖_∞ ≤ max(θ_max, 1), so that models may start in [0, 1)ᵖ whatever Θ is.

        Parameters
        ----------
        row_norm, target_max : float
        n_features : int
            d.
        norm : str
            Of ‖x‖ and ‖∇ℓ‖.

        Returns
        -------
        float or None
            None where Θ is the whole space: w₂ multiplies the gradient of W₁.
        """
        if self.theta_max is None:
            return None
        net, box = Perceptron(n_features, self.hidden), max(self.theta_max, 1.0)
        steepest = float(self.phi.steepest(net.reach(box), target_max))
        return steepest * float(net.longest(box, self.longest(row_norm, norm), norm))
