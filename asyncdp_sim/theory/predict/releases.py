"""The law by which owners release answers, of which some are lost, until their budgets end."""

from dataclasses import dataclass
from math import ceil, fsum, log2, sqrt

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.theory.formulas.channels import delivered, mean_attempts

SPREADS = 40.0
"""So many standard deviations above its mean no count is ever met, skewed as it may be."""


@dataclass(frozen=True, eq=False)
class Releases:
    """Answers that owners release to a learner that serves them one by one, until a budget ends.

    Exchanges have independent owners, i with probability rate_i/Σ rate. Every transmission of
    owner i is lost with probability l_i on its own; an exchange ends with the first that arrives,
    which is an update, or after R of them. They are one answer sent again, or an answer each
    ("fresh"). Exchanges in which no answer is released may come between; they do not matter.

    Attributes
    ----------
    rate : array (N,)
        > 0, in proportion to how often an answer of owner i is ready to be sent.
    loss : array (N,)
        l_i in [0, 1), one of them < 1.
    attempts : int
        R ≥ 1.
    fresh : bool
        Whether every transmission is an answer of its own.
    """

    rate: Array
    loss: Array
    attempts: int = 1
    fresh: bool = False

    @property
    def chosen(self) -> Array:
        """π_i, in proportion to rate_i (1 − l_i^R), shape (N,)."""
        used = self._used
        return used / fsum(used.tolist())

    @property
    def per_update(self) -> Array:
        """Mean answers that each owner releases per update of the learner, shape (N,)."""
        answers = [self._answers(loss) for loss in self.loss.tolist()]
        return np.asarray(self.rate * answers / fsum(self._used.tolist()))

    def _answers(self, loss: float) -> float:
        """Return the mean number of answers of an exchange."""
        return mean_attempts(loss, self.attempts) if self.fresh else 1.0

    @property
    def _used(self) -> Array:
        return self.rate * [delivered(loss, self.attempts) for loss in self.loss.tolist()]

    def silent_by(self, answers: Ints, updates: int) -> float:
        """Return a bound on P(some owner is silent before update T), by a sum over owners.

        Owner i, if its budget did not end, would release as many answers until the last exchange
        before update T's as Σ_{k<T} X_k + L: X_k from one update to the next, that one included,
        L in vain before update T. With u the rate of others' updates, and x(z) and f(z) owner i's
        rate of exchanges that end in an update and in vain, each with z to the power of its
        answers,

            E z^X = (u + x(z))/(u + x(1) + f(1) − f(z)),
            E z^L = (u + x(1))/(u + x(1) + f(1) − f(z)),

        from which probabilities follow by a discrete Fourier transform. Where nothing is lost the
        count is binomial with parameters T − 1 and π_i.

        Parameters
        ----------
        answers : array of int (N,)
            K_i ≥ 1.
        updates : int
            T ≥ 1.
        """
        kinds = zip(self.rate.tolist(), self.loss.tolist(), answers.tolist(), strict=True)
        by_kind: dict[tuple[float, float, int], float] = {}
        total = fsum(self._used.tolist())
        chances = []
        for kind in kinds:
            if kind not in by_kind:
                by_kind[kind] = self._silent(*kind, total, updates)
            chances.append(by_kind[kind])
        return min(1.0, fsum(chances))

    def _silent(self, rate: float, loss: float, answers: int, total: float, updates: int) -> float:
        """Return P(an owner releases K answers before update T)."""
        tries, vain = self.attempts, loss**self.attempts
        wasted = rate * vain / total * (tries if self.fresh else 1)  # released between updates
        mean, gap = (
            updates * rate / total * self._answers(loss),
            wasted + (tries if self.fresh else 1),
        )
        size = 2 ** ceil(log2(2 * mean + SPREADS * (sqrt(mean * gap) + gap)))
        if answers >= size:
            return 0.0
        z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
        if self.fresh:
            arrived = sum(loss ** (g - 1) * (1 - loss) * z**g for g in range(1, tries + 1))
            lost = vain * z**tries
        else:
            arrived, lost = (1 - vain) * z, vain * z
        used = rate * (1 - vain)
        until = total + rate * (vain - lost)
        law = ((total - used + rate * arrived) / until) ** (updates - 1) * total / until
        chance = np.fft.irfft(law, size)
        return float(max(0.0, chance[answers:].sum()))
