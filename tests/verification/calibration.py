"""Claims of forecasts of random scenarios, and runs that they are held against.

A mode is one function: of a scenario it makes claims, each with the scenario that it is about
(advice is about another than it was asked for), a figure of runs, its value, and the half-width
of its 95 % interval, or that it is exact. A new mode is a new row of :data:`MODES`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count as count_from
from itertools import islice
from math import ceil
from typing import Any

import numpy as np

from analysis.exact.learning import expected_psi
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import kind_of, member, members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision.forecast import Forecast
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.results.manifest import digest
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.fields import examples_of
from tests.tables import table

from .zscores import score

Fields = dict[str, Any]
FIRST = 10_001
"""Number of the first replicate that claims are held against: none that a forecast looks at."""
PILOT, MOST = 300, 60_000


@dataclass(frozen=True)
class Claim:
    """A figure of runs as it was forecast.

    Attributes
    ----------
    about : Scenario
        Whose runs.
    figure : str
        "psi" or "time", at the end of a run, on average.
    value : float
    half_width : float or None
        Of a 95 % interval; None where the value is said to be exact.
    """

    about: Scenario
    figure: str
    value: float
    half_width: float | None


@dataclass(frozen=True)
class Check:
    """A claim beside what runs gave.

    Attributes
    ----------
    claim : Claim
    mode : str
    number : int
        Of the scenario.
    mean, error : float
        Of runs, and its standard error.
    z : float
        How many standard errors they are apart, the claim's own included.
    """

    claim: Claim
    mode: str
    number: int
    mean: float
    error: float
    z: float

    @property
    def exact(self) -> bool:
        return self.claim.half_width is None

    @property
    def covered(self) -> bool:
        """Whether the runs are in the claim's interval, widened by their own error."""
        return abs(self.z) <= 1.96

    @property
    def width(self) -> float:
        """Half-width over what runs gave."""
        return (self.claim.half_width or 0.0) / (abs(self.mean) or 1.0)

    def describe(self) -> str:
        half = self.claim.half_width
        told = "exactly" if half is None else f"± {half:.3g}"
        return (
            f"{self.number:3} {self.mode} {self.claim.figure}: {self.claim.value:.4g} {told}; "
            f"runs {self.mean:.4g} ± {1.96 * self.error:.3g}; z = {self.z:.2f}"
        )


def _claims(given: Scenario, found: Forecast) -> list[Claim]:
    half = found.psi_half_width if found.psi_half_width > 0 else None
    time = found.time_half_width if found.time_half_width > 0 else None
    return [
        Claim(given, "psi", found.psi, half),
        Claim(given, "time", found.time, time),
    ]


def by_default(given: Scenario) -> list[Claim]:
    """A forecast, which is simulated runs."""
    return _claims(given, forecast(given))


def by_moments(given: Scenario) -> list[Claim]:
    """Exact moments, or moments that are exact given the order of the updates."""
    found = expected_psi(population(given, private=False))
    if isinstance(found, list):
        return []
    half = found.half_width if found.half_width > 0 else None
    return [Claim(given, "psi", float(found.psi[-1]), half)]


MODES: dict[str, Callable[[Scenario], list[Claim]]] = {
    "by default": by_default,
    "by exact moments": by_moments,
}


def check(given: Scenario, number: int, error: float = 0.01, pilot: int = PILOT) -> Iterator[Check]:
    """Yield every mode's claims beside runs, as many as exact claims need.

    Parameters
    ----------
    given : Scenario
    number : int
    error : float
        Relative standard error of runs that are held against what is exact, at most.
    pilot : int
        Runs of every scenario at least.
    """
    seen: dict[str, dict[str, np.ndarray]] = {}
    for mode, of in MODES.items():
        for claim in of(given):
            runs = seen.setdefault(
                digest(claim.about.plain()), {"psi": np.zeros(0), "time": np.zeros(0)}
            )
            _extend(claim.about, runs, pilot)
            first = 0
            if claim.half_width is None:
                # by fresh runs: those that say how many it takes lean where figures are skewed
                enough = _enough(runs[claim.figure], claim.value, error)
                _extend(claim.about, runs, pilot + max(pilot, enough))
                first, enough = pilot, _enough(runs[claim.figure], claim.value, error)
                _extend(claim.about, runs, pilot + enough)
            yield _judged(claim, mode, number, runs[claim.figure][first:])


def _enough(values: np.ndarray, value: float, error: float) -> int:
    """Return how many runs like these have a mean that is known to ``error``, some to spare."""
    spread = float(values.std(ddof=1)) / (abs(value) or 1.0)
    return min(MOST, ceil(1.15 * (spread / error) ** 2))


def _judged(claim: Claim, mode: str, number: int, values: np.ndarray) -> Check:
    mean, error = float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)
    if claim.half_width is None and error > 0:
        return Check(claim, mode, number, mean, error, score(mode, values, claim.value).z)
    total = np.hypot(error, (claim.half_width or 0.0) / 1.96)
    apart = mean - claim.value
    rounding = 1e-9 * abs(mean)
    z = apart / total if total > rounding else float(abs(apart) > rounding) * np.inf
    return Check(claim, mode, number, mean, error, float(np.nan_to_num(z, nan=0.0)))


def _extend(about: Scenario, runs: dict[str, np.ndarray], need: int) -> None:
    """Run more replicates, by blocks: they are the same in any."""
    for first in range(len(runs["psi"]), need, 4000):
        numbers = range(FIRST + first, FIRST + min(need, first + 4000))
        curve = run(about, numbers=numbers).learned.curve
        last = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
        runs["psi"] = np.concatenate([runs["psi"], curve["relative_fitness"][last]])
        runs["time"] = np.concatenate([runs["time"], curve["time"][last]])


def scenarios(seed: int, count: int) -> Iterator[Scenario]:
    """Draw scenarios over all protocols and their algorithms in turn; every other one clips.

    From the stream ``("calibration", number)``. What does not fit together is drawn again.
    """
    numbers = count_from(1)
    for place in range(count):
        for number in islice(numbers, TRIED):
            source = Streams(seed).generator("calibration", number)
            try:
                found = parse(Scenario, _drawn(place, seed, source))
            except SpecError:
                continue
            yield found
            break
        else:
            raise AssertionError(f"nothing that is drawn for {KINDS[place % len(KINDS)]} fits")


TRIED = 300
"""Draws of one place after which none can be expected to fit."""


TABLE = table(__file__, "calibration.toml")
OFTEN = tuple(map(tuple, TABLE["often"]))
"""Protocols and algorithms as often as there are exact figures to hold against runs."""
KINDS = OFTEN + tuple(
    (next(kind_of(each) for each in members(Protocol) if algorithm.runs_on(each)), kind)
    for kind, algorithm in ((kind_of(each), each) for each in members(AnyAlgorithm))
    if all(kind != often for _, often in OFTEN)
)
"""Those, and every other algorithm of the union."""


def _drawn(place: int, seed: int, source: np.random.Generator) -> Fields:
    """Return a raw scenario of a few owners that learns at a pace that is neither nil nor wild."""
    protocol, algorithm = KINDS[place % len(KINDS)]
    clips = (place // len(KINDS) + place % len(KINDS)) % 2 == 1

    def one(*choices: Any) -> Any:
        return choices[int(source.integers(len(choices)))]

    n, p, updates = int(source.integers(2, 6)), int(source.integers(1, 4)), one(20, 30, 50)
    sigma, pace = one(0.05, 0.2), float(source.uniform(0.03, 0.2))
    records = source.integers(100, 500, size=n).tolist()
    bound = one(1.0, 3.0, 6.0)
    rate = one(1.0, source.uniform(0.5, 2.0, size=n).round(3).tolist())
    sensitivity: Fields = {"kind": "clip" if clips else "declared", "bound": bound}
    privacy: Fields = {
        "epsilon": float(source.uniform(0.5, 6)),
        "mechanism": one("laplace", "laplace", "discrete-laplace", "gaussian"),
        "sensitivity": sensitivity,
        "budget": one(
            {"kind": "horizon"},
            {"kind": "horizon"},
            {"kind": "per-owner-cap", "answers": max(2, int(updates * one(0.6, 1.2) / n))},
            {"kind": "until-spent", "answers": max(2, int(updates * 1.3 / n))},
        ),
    }
    if privacy["mechanism"] == "gaussian":
        privacy["delta"] = 1e-5
    plain = not clips and source.random() < 0.75  # so that exact moments apply to enough
    channel: Fields = {"kind": "ideal"}
    channel |= one({}, {}, {"loss": 0.2}, {"loss": source.uniform(0, 0.4, size=n).tolist()})
    channel |= one({}, {}, {"loss_query": 0.1}, {"loss": {"to_bad": 0.1, "to_good": 0.3}})
    channel |= one({}, {"retransmissions": 1})
    availability = one(
        {"kind": "always"},
        {"kind": "always"},
        {"kind": "bernoulli", "probability": 0.6},
        {
            "kind": "on-off",
            "on": {"kind": "exponential", "mean": 4.0},
            "off": {"kind": "exponential", "mean": 2.0},
        },
    )
    fields: Fields = {
        "id": "calibration",
        "run": {"seed": seed + place, "updates": updates, "record_every": updates},
        "owners": {"count": n, "records": records},
        "data": {
            "kind": "gaussian",
            "features": p,
            "condition": float(one(1.0, 4.0)) if p > 1 else 1.0,
            "heterogeneity": one(0.0, 0.3),
        },
        "model": {"kind": "ridge", "regularisation": sigma} | one({}, {"theta_max": 20.0}),
        "clock": {"kind": one("poisson", "poisson", "gamma"), "rate": rate},
        "availability": availability,
        "channel": channel,
        "compute": one({"kind": "none"}, {"kind": "constant", "value": 0.1}, SLOW),
        "protocol": {"kind": protocol},
        "algorithm": {"kind": algorithm},
        "privacy": privacy,
    }
    fields["protocol"] |= _protocols(protocol, one)
    if plain:
        fields["clock"]["kind"] = "poisson"
        fields["protocol"] = {"kind": "request"} if protocol == "request" else fields["protocol"]
        fields["protocol"].pop("deadline", None)
        privacy["budget"] = one({"kind": "horizon"}, privacy["budget"])
        lossy = {"loss": 0.1} if protocol == "request" else {}
        fields["channel"] = {"kind": "ideal"} | one({}, lossy)
        online = {"kind": "bernoulli", "probability": 0.6}
        fields["availability"] = one({"kind": "always"}, online)
        if protocol == "rounds":
            fields["availability"] = {"kind": "always"}
            privacy["budget"] = {"kind": "horizon"}
    if fields["clock"]["kind"] == "gamma":
        fields["clock"]["cv"] = 0.5
    fields["run"]["replicates"] = 100
    fields["algorithm"] |= _steps(algorithm, updates, sigma, pace, one)
    if protocol in ("gossip", "servers"):
        fields["availability"], fields["channel"] = {"kind": "always"}, {"kind": "ideal"}
    if protocol in ("gossip", "servers", "rounds"):
        del fields["clock"]
    if algorithm == "polar":  # obfuscated, not private
        fields["model"]["theta_max"] = 5.0
        fields["privacy"] = {"mechanism": "none"}
    if member(AnyAlgorithm, algorithm).answers_once:
        privacy["budget"] = {"kind": "per-owner-cap", "answers": 1}
    if algorithm == "noisy-statistics":
        privacy["sensitivity"] = {
            "kind": "domain",
            "row_norm": 3.0,
            "target_max": 3.0,
            "rows": "l1",
        }
        privacy["budget"] = {"kind": "per-owner-cap", "answers": 1}
        privacy["mechanism"] = "laplace"
        privacy.pop("delta", None)
        fields["model"]["theta_max"] = 5.0
        fields["run"] |= {"updates": 1, "record_every": 1}
    return fields


SLOW: Fields = {"kind": "exponential", "mean": 0.3}


def _protocols(kind: str, one: Callable[..., Any]) -> Fields:
    if kind == "request":
        again = {"busy": "retry", "retry": {"kind": "exponential", "mean": 0.3}}
        return one({}, {}, {}, {"busy": "queue"}, again, {"timeout": 0.5})
    if kind == "push":
        return one({}, {"own_tick": "overlap"})
    if kind == "broadcast":
        return {"interval": 1.0, "superseded": one("apply", "discard")}
    if kind == "rounds":
        return one({}, {}, {"deadline": 0.8})
    if kind == "servers":
        return {
            "count": 2,
            "window": 2,
            "read": "client-averaged",
            "exchange": {"kind": "constant", "value": 0.05},
        }
    return {"graph": {"kind": "complete"}, "clock": {"kind": "poisson", "rate": 1.0}}


def _steps(kind: str, updates: int, sigma: float, pace: float, one: Callable[..., Any]) -> Fields:
    if kind in ("async-gossip", "gossip-graph"):
        found = {"rho": pace * updates**2 * sigma}
        return found | one({}, {"initial": "uniform"})
    if kind == "collab-1":
        return {"rho": pace * updates**2 / 4}
    if kind == "fedasync":
        return {"step": pace, "mixing": 0.6}
    if kind == "fedbuff":
        return {"step": pace, "server_step": 1.0, "buffer": 2}
    if kind == "polar":
        weights = {"weight_total": 2.0, "weight_bound": 6.0, "additive_bound": 0.1}
        return {"step": pace, "exponent": 0.75} | weights
    if kind in ("collab-2", "parameter-server"):
        return {"step": pace}
    example: Fields = examples_of(member(AnyAlgorithm, kind))[0].model_dump(exclude_none=True)
    return example
