"""Laws of which any number of fresh rows can be drawn: the truth that verdicts are held against."""

from dataclasses import dataclass, replace

import numpy as np

from asyncdp_sim import decision
from asyncdp_sim.decision.rows import probabilities

SIGMA = 1e-3


@dataclass(frozen=True, eq=False)
class Law:
    """Owners whose targets are linear in x with noise, or classes by the logistic law.

    Attributes
    ----------
    classes : int
        0 of numbers.
    away : float
        How far an owner's true model is from the joint models' mean, in each coordinate.
    noise : float
        Deviation of a joint model's coordinates: that of privacy.
    persons : int
        Rows of one person, who have one x and one deviation of y in common.
    """

    classes: int = 0
    away: float = 0.0
    noise: float = 0.3
    persons: int = 1
    columns: int = 8

    @property
    def scale(self) -> np.ndarray:
        return 10.0 ** np.linspace(-1, 2, self.columns)

    @property
    def common(self) -> np.ndarray:
        """What joint models are around: the law of owners that are alike."""
        return replace(self, away=0.0).truth

    @property
    def truth(self) -> np.ndarray:
        generator = np.random.default_rng(11)
        shape = (max(1, self.classes - 1), self.columns)
        common = generator.standard_normal(shape) * 0.6
        return (common + self.away * generator.choice([-1.0, 1.0], shape)) / self.scale

    def joint(self, generator: np.random.Generator, count: int) -> decision.LinearModels:
        noise = generator.standard_normal((count, *self.common.shape)) * self.noise / self.scale
        return decision.LinearModels(self.common + noise, np.zeros((count, len(self.common))))

    def rows(self, generator: np.random.Generator, count: int) -> decision.OwnRows:
        persons = np.arange(count) // self.persons
        names = persons[-1] + 1
        x = generator.standard_normal((names, self.columns))[persons] * self.scale
        z = x @ self.truth.T
        if self.classes == 0:
            own = generator.standard_normal(count)
            if self.persons > 1:
                own = 0.3 * own + generator.standard_normal(names)[persons]
            return decision.OwnRows(x, z[:, 0] + own, 0, persons)
        chances = probabilities(z).cumsum(axis=1)
        y = (chances < generator.random((count, 1))).sum(axis=1)
        return decision.OwnRows(
            x, np.minimum(y, self.classes - 1).astype(float), self.classes, persons
        )


def met(rows: decision.OwnRows, joint: decision.LinearModels) -> decision.JointModels:
    """Return joint models as an owner of these rows meets them."""
    return decision.JointModels(joint.scores(rows.columns), joint)


def judge_by_cross_validation(rows, joint, sigma, generator, **options) -> decision.Gain:
    """Return the gain judged on the owner's own rows, each of which is left out in turn."""
    [gain] = decision.CrossValidation(rows, sigma, generator, **options).judge(joint)
    return gain


def judge_fresh(rows, joint, fresh, as_is, sigma, generator, **options) -> decision.Gain:
    """Return the gain judged on rows apart, which the joint models predict ``as_is``."""
    [gain] = decision.FreshRows(rows, fresh, sigma, generator, **options).judge(joint, as_is)
    return gain


def on_fresh_rows(law: Law, seed: int, count: int, apart: int, runs: int) -> decision.Gain:
    """Return the gain of a new owner, judged on rows apart."""
    generator = np.random.default_rng([seed, 1])
    rows, others = law.rows(generator, count), law.rows(generator, apart)
    joint = law.joint(generator, runs)
    as_is = joint.scores(others.columns)
    return judge_fresh(
        rows, met(rows, joint), others, as_is, SIGMA, generator, own_best="linear"
    )  # fmt: skip


def true_gain(law: Law, count: int, draws: int) -> tuple[float, float]:
    """Return the mean gain over new owners of the law with so many rows, and its standard error."""
    values = [
        on_fresh_rows(law, 10_000 + seed, count, 3_000, 3).gain.value for seed in range(draws)
    ]
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(draws))
