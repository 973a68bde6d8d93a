"""A release of second moments that is played: on synthetic records alone, to try what one is worth.

Never from private rows: the noise comes from a seed, and anybody with the seed can subtract it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.surrogates.moments import OwnerMoments, Release
from asyncdp_sim.forecasts.population import Population, population
from asyncdp_sim.privacy.mechanisms import OwnerBudgets, RecordSensitivity
from asyncdp_sim.results.write import write_into
from asyncdp_sim.scenario import Scenario

Array = npt.NDArray[np.float64]
HEAD = """\
# Second moments of {what}, with noise from a seed, for practice. Anybody with
# the seed can subtract the noise: never release moments of real records in this way.
"""


def play(
    scenario: Scenario, epsilon: float, bound: float | None = None, *, together: bool = False
) -> Release:
    """Play the release of second moments on a scenario's synthetic records or stand-in.

    z = (x, y) of each record is scaled down to ‖z‖ ≤ B; the upper triangle of the mean of zzᵀ has
    a norm of at most B² for each record, so that replacing one of n moves it by at most 2B²/n, and
    gets the noise of the scenario's mechanism for one answer at ε.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep; with Laplace or Gaussian noise.
    epsilon : float
        ε > 0 of the release.
    bound : float, optional
        B > 0; absent, the median norm of the synthetic records.
    together : bool
        Whether one release is of all owners together, as a trusted party would make it.

    Raises
    ------
    DataError
        If there are private rows alone.
    SpecError
        If the mechanism is neither.
    """
    data = population(scenario, "own", private=False)
    privacy, seed = scenario.privacy, scenario.run.seed
    norm = privacy.mechanism.norm
    rows = _rows(data)
    order = 1 if norm == "l1" else 2
    norms = np.concatenate([np.linalg.norm(z, ord=order, axis=1) for z in rows])
    limit = float(f"{np.median(norms):.3g}") if bound is None else bound
    rows = [np.concatenate(rows)] if together else rows
    inside = [_scaled_down(z, limit, order) for z in rows]
    records = np.array([len(z) for z in inside], dtype=float)
    width = inside[0].shape[1]
    upper = np.triu_indices(width)
    size = len(upper[0])
    once = OwnerBudgets(np.ones(len(inside), np.int64), np.full(len(inside), epsilon), None,
                     privacy.delta or 0.0)  # fmt: skip
    noise = None
    if privacy.hides:
        influence = RecordSensitivity(limit**2, records, size)
        noise = privacy.mechanism.noise(influence, once, "vector", privacy.grid)
    law = None if noise is None or noise.added is None else noise.added.split(",")[0]
    if noise is None or law not in ("laplace", "gaussian"):
        domain = "a release is played with laplace or gaussian noise"
        raise SpecError([Fault("privacy.mechanism", repr(privacy.mechanism.kind), domain)])
    streams = Streams(seed).within("forecast", "played-release")
    exact = np.array([(z.T @ z / len(z))[upper] for z in inside])
    drawn = np.concatenate([noise.rows(streams.generator(i), 1, size) for i in range(len(inside))])
    noisy = noise.add_noise(np.arange(len(inside)), exact, drawn)
    names: tuple[str | None, ...] = (None,) if together else _names(data)
    owners = tuple(
        OwnerMoments(
            name=name, records=len(z), deviation=float(deviation), moments=_square(values, width)
        )
        for name, z, deviation, values in zip(
            names, inside, np.sqrt(noise.variance), noisy, strict=True
        )
    )
    asked: dict[str, Any] = {"schema": 1, "features": scenario.data.features, "law": law}
    asked |= {
        "bound": limit,
        "norm": norm,
        "epsilon": epsilon,
        "delta": privacy.stated_delta or None,
    }
    return Release(**asked, played_on=data.words, owners=owners)


def write_played(release: Release, out: Path) -> None:
    """Write a release that was played as a TOML file.

    Raises
    ------
    SpecError
        If its name does not end in .toml.
    """
    import tomli_w  # only where a file is written

    if out.suffix != ".toml":
        raise SpecError([Fault("--out", repr(str(out)), "allowed is a name that ends in .toml")])
    raw = release.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = HEAD.format(what=release.played_on) + tomli_w.dumps(raw)
    write_into(out.absolute().parent, out.name, text)


def _rows(known: Population) -> list[Array]:
    """Return (x, y) of the owners' records, those without a target left out."""
    data = known.dataset
    pairs = zip(data.features, data.targets, strict=True)
    return [np.column_stack([x, y])[~np.isnan(y)] for x, y in pairs]


def _scaled_down(rows: Array, limit: float, order: int) -> Array:
    norms = np.linalg.norm(rows, ord=order, axis=1)
    return np.asarray(rows * np.minimum(1.0, limit / np.maximum(norms, 1e-300))[:, None])


def _names(known: Population) -> tuple[str, ...]:
    return known.dataset.owner_names or tuple(map(str, known.participants.numbers))


def _square(values: Array, size: int) -> tuple[tuple[float, ...], ...]:
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = values
    return tuple(map(tuple, (matrix + np.triu(matrix, 1).T).tolist()))
