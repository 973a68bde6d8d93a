"""Exchanges that begin at ticks of owners' clocks, and for which networks they are known."""

from collections.abc import Iterator
from math import fsum

import numpy as np
from typing_extensions import override

from asyncdp_sim.network.protocols import Push, Request
from asyncdp_sim.theory.formulas import queueing
from asyncdp_sim.theory.predict.facts import Array, Facts
from asyncdp_sim.theory.prediction import Prediction, Unknown, each_of

ENDLESS = "the queue grows without bound"


class RequestFacts(Facts):
    """Exchanges that a locked learner gets through."""

    fresh = "as the lock has it"
    protocol: Request

    @property
    @override
    def waits(self) -> str:
        said = {"queue": "requests wait in a queue", "retry": "refused requests are sent again"}
        return "" if self.instant else said.get(self.protocol.busy, "")

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, and what becomes of requests, and the load of a channel."""
        queues = self.protocol.queues and not self.instant
        found = list(self._queue() if queues else self._locked())
        yield from found
        yield from self._alone(found[0])

    @override
    def waiting(self) -> Iterator[Prediction]:
        if not self.protocol.queues:
            said = "a request that is served is served at once"
            value = None if self.slow_requests else 0.0
            yield Prediction("mean_waiting", value, said, self.slow_requests)
            return
        said = "Pollaczek–Khinchine: ΛE[S²]/(2(1−ρ'))"
        reason = self.slow_requests or self.disturbed
        if not reason and self.instant:
            yield Prediction("mean_waiting", 0.0, "service takes no time, so nobody waits")
            return
        reason = reason or self._not_open
        if reason or self.rates is None:
            yield Prediction("mean_waiting", None, said, reason)
            return
        wait = queueing.fifo_wait(fsum(self.rates), *self.moments())
        yield Prediction("mean_waiting", wait.mean, said)

    @override
    def answers(self, updates: float) -> tuple[float, ...] | None:
        """Return the rates of the ticks, where all queue: each has its update in the end."""
        return self.rates if self.protocol.queues and not self.protocol.one_each else None

    def _locked(self) -> Iterator[Prediction]:
        said = "locked learner that refuses, Poisson clocks, any law of the service"
        reason = self.disturbed or self.slow_requests or self.waits
        names = ("throughput", "utilisation", "refusal_rate")
        if reason or self.rates is None:
            return each_of(names, Unknown(reason), said)
        found = queueing.refusing_unequal(self.rates, self.services)
        values = (found.update_rate, found.busy_fraction, found.refusal_probability)
        return each_of(names, values, said)

    def _queue(self) -> Iterator[Prediction]:
        """Yield throughput and utilisation of the open queue.

        Requests may take time: a Poisson process displaced by independent times is one.
        """
        said = "open first-come-first-served queue (M/G/1), every tick a request, Poisson clocks"
        reason = self.disturbed or self._busy_channel or self._not_open
        names = ("throughput", "utilisation")
        if reason or self.rates is None:
            return each_of(names, Unknown(reason), said)
        total = fsum(self.rates)
        return each_of(names, (total, total * self.moments()[0]), said)

    @property
    def _busy_channel(self) -> str:
        """Why requests meet each other on their way to the learner, if they may."""
        channel = self.network.channel.contended
        return "" if channel is None or channel.request_airtime is None else "requests take airtime"

    @property
    def _not_open(self) -> str:
        """Why the queue is no open M/G/1, if it is not."""
        if self.protocol.one_each:
            return "waiting owners do not ask again (own_tick)"
        load = fsum(self.rates or ()) * self.moments()[0]
        return f"{ENDLESS} (ρ' = {load:.3g} ≥ 1)" if load >= 1 else ""

    def _alone(self, throughput: Prediction) -> Iterator[Prediction]:
        """Yield the load of a channel that the lock keeps to one answer at a time."""
        airtime = self.network.airtime
        said = "the lock leaves the channel to one answer at a time"
        if airtime is None:
            return iter(())
        rate = throughput.value
        found = Unknown(throughput.reason) if rate is None else (0.0, rate * airtime)
        return each_of(("collision_rate", "offered_load"), found, said)


class PushFacts(Facts):
    """Jobs of owners that nobody locks out."""

    entangled = ""
    protocol: Push

    @override
    def occupied(self, sending: Array, receiving: Array) -> Array | None:
        """Return the shares of jobs that start at every tick: M/G/∞, whose stages are Poisson.

        So many of an owner's jobs are in each stage, independently of the others, that nobody is in
        it with chance e^(−λ E[stage]).
        """
        if not self.overlap or self.rates is None:
            return None
        rates = np.array(self.rates)
        stages = np.stack([sending, self.network.mean_times("compute"), receiving])
        none = np.exp(-rates * np.cumsum(stages, axis=0))
        return -np.diff(np.concatenate([np.ones((1, self.n_owners)), none]), axis=0).T

    @override
    def predictions(self) -> Iterator[Prediction]:
        said = "N idle-or-busy owners, λ/(1+λm) each"
        if self.overlap:
            said = "every tick starts a job"
        if self.network.clock.saturated:
            said = "always-busy owners, 1/m each"
            reason = self.can_lose_messages or self.spent()
            value = None if reason else fsum(1 / service for service in self.services)
            yield Prediction("throughput", value, said, reason)
            return
        reason = self.disturbed
        if reason or self.rates is None:
            yield Prediction("throughput", None, said, reason)
            return
        yield Prediction("throughput", fsum(self.flows(self.services)), said)
