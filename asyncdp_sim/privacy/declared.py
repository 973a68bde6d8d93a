"""The fields of the privacy part of a scenario."""

from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy.accountants.kind import Accounting
from asyncdp_sim.privacy.budgets import Budget, Horizon
from asyncdp_sim.privacy.copies import OwnLearner
from asyncdp_sim.privacy.mechanisms import (
    LaplaceMechanism,
    Mechanism,
    Shape,
)
from asyncdp_sim.privacy.observers import Observer, ObserverKind, TranscriptObserver
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import Count, PerOwner, Spec, about

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]


class DeclaredPrivacy(Spec):
    """The privacy of a scenario, field by field, and what that means by itself."""

    epsilon: Annotated[
        PerOwner[Epsilon] | None,
        about(
            "ε_i: what each owner allows in the whole run, ∞ being no privacy: of all owners, or, "
            "as published (Collab), of one that plays the learner. Required unless the mechanism "
            "is none",
            "none",
            example=1.0,
        ),
    ] = None
    delta: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        about(
            "δ, required with Gaussian noise and with an accountant; the other mechanisms are pure "
            "and do not use it",
            "none",
            example=1e-06,
        ),
    ] = None
    mechanism: Annotated[
        Mechanism,
        about("Law of the noise; a table where it has fields of its own", example="laplace"),
    ] = LaplaceMechanism()
    noise: Annotated[
        Shape,
        about(
            "Each coordinate has its own draw (vector), or all have the same, which is not private "
            "(scalar-as-published; Laplace noise only)"
        ),
    ] = "vector"
    sensitivity: Annotated[
        Sensitivity | None,
        about(
            "Bound on a record's gradient that the noise is scaled for. Required unless the "
            "mechanism is none",
            example={"kind": "clip", "bound": 1.0},
        ),
    ] = None
    budget: Annotated[
        Budget, about("How ε_i is divided among an owner's answers", example={"kind": "horizon"})
    ] = Horizon()
    accountant: Annotated[
        Accounting | None,
        about(
            "How it is worked out what an owner's answers cost together: absent, by the "
            "mechanism's own rule (ε adds up; of Gaussian noise, its exact curve)",
            example="pld",
        ),
    ] = None
    sampling: Annotated[
        Annotated[float, Field(gt=0, lt=1)] | None,
        about(
            "q: the probability with which each of an owner's records is in an answer, drawn anew "
            "for each (Poisson sampling), who was drawn being hidden; an answer is the sum of "
            "their gradients over q n_i, and noise. Absent: all records are in every answer",
            "none",
            example=0.1,
        ),
    ] = None
    overlap: Annotated[
        Count,
        about(
            "κ: datasets that may hold one record. With κ > 1 every owner spends at most the "
            "least ε_i divided by κ; under Gaussian noise it is ρ of zero-concentrated privacy "
            "that is divided, and with an accountant δ as well as ε",
            "datasets",
        ),
    ] = 1
    grid: Annotated[
        Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
        about(
            "γ: distance of the grid of discrete Laplace noise, absent, the largest power of two "
            "≤ 2Ξ/(1024 p n_i), or the least that is not finer than 2⁻⁴⁰ of the noise",
            "of the gradient",
            domain="powers of two",
            example=0.0009765625,
        ),
    ] = None
    observer: Annotated[
        Observer | None,
        about(
            "Whom ε_i is against. Absent: transcript, whoever hears every answer, who sent it and "
            "when",
            example={"kind": "node"},
        ),
    ] = None
    learner: Annotated[
        OwnLearner | None,
        about(
            "Where every owner learns a model of its own, in N copies: whose copy this run is. "
            "ε_i is then for all copies together, and is divided among them",
            example={"owner": 1},
        ),
    ] = None

    @property
    def listener(self) -> ObserverKind:
        """Whom ε is against."""
        return TranscriptObserver() if self.observer is None else self.observer

    @property
    def norm(self) -> Norm:
        """The norm in which a record's gradient is bounded."""
        needed = self.mechanism.norm
        return needed if self.sensitivity is None else self.sensitivity.measured(needed)

    @property
    def hides(self) -> bool:
        """Whether anything is claimed to be hidden."""
        return not self.mechanism.exact

    @property
    def stated_delta(self) -> float | None:
        """δ at which every ε is stated, 0 of pure mechanisms; None where nothing is hidden."""
        return self._delta if self.hides else None

    @property
    def bounded(self) -> Sensitivity | None:
        """What bounds records' gradients; None where nothing is hidden, and nothing is bounded."""
        return self.sensitivity if self.hides else None

    @property
    def clip_bound(self) -> float | None:
        """The norm that record gradients are scaled down to, where they are."""
        return None if self.bounded is None else self.bounded.clip_bound

    @property
    def on_trust(self) -> bool:
        """Whether the bound is only declared."""
        return self.bounded is not None and not self.bounded.enforced

    @property
    def needs_delta(self) -> bool:
        """Whether ε is stated at a δ > 0."""
        return self.mechanism.needs_delta or self.accountant is not None

    @property
    def laplace_variance(self) -> bool:
        """Whether the variance of an answer is 2(2ΞK/(nε))², whatever ε, K and p are."""
        plain = self.accountant is None and self.sampling is None and self.budget.even
        return self.mechanism.laplace_variance and plain

    @property
    def _delta(self) -> float:
        return self.delta or 0.0 if self.needs_delta else 0.0
