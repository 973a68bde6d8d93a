"""Forecasts from second moments that owners released, played releases, and how far they are off."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.surrogates.moments import Release, gaussian_rows, mended, noise, read_release
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.played_release import play
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.uncertainty import _by_moments, may_be_off
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.files import dump
from tests.cli.command import Command

ORACLE = pytest.mark.oracle(
    "forecasts from released second moments, and the noise of a played release",
    "the forecast from the records, where there is no noise; the declared noise",
    source="ψ is a function of second moments and n_i alone, where nothing is clipped",
    setting="forecasts alone, which take no private row; small tables",
    kinds="DeclaredMoments",
)

OWNERS, EACH, PUBLIC, P = 4, 400, 300, 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of four unlike owners, and public rows that do not tell them apart."""
    g, place = np.random.default_rng(11), tmp_path_factory.mktemp("released")
    own = np.repeat([-0.6, -0.2, 0.2, 0.6], EACH)
    for name, slope in (("t", own), ("p", g.permutation(np.resize(own, PUBLIC)))):
        x = g.normal(size=(len(slope), P))
        y = x @ [1.0, -2.0, 0.5] + slope * x[:, 0] + g.normal(size=len(slope))
        frame = pd.DataFrame(dict(zip("abc", x.T, strict=True)) | {"y": y})
        if name == "t":
            frame["who"] = np.repeat(["n", "e", "s", "w"], EACH)
        frame.to_parquet(place / f"{name}.parquet")
    return place


def scenario(folder, stand_in: Any = None, **parts: Any) -> Scenario:
    data = {"kind": "table", "path": str(folder / "t.parquet"), "target": "y", "features": P,
            "public_path": str(folder / "p.parquet"), "public_records": PUBLIC,
            "preprocessing": "pca", "owner_column": "who"}  # fmt: skip
    if stand_in is not None:
        data["stand_in"] = {"kind": "moments", "path": str(stand_in)}
    raw: dict[str, Any] = {
        "id": "released",
        "run": {"updates": 30},
        "owners": {"count": OWNERS},
        "data": data,
        "model": {"kind": "ridge", "regularisation": 1e-3},
        "algorithm": {"kind": "async-gossip", "rho": 0.5},
        "privacy": {"epsilon": 40.0, "sensitivity": {"kind": "declared", "bound": 30.0}},
    }
    return Scenario.model_validate(raw | parts)


def released(folder, name: str, epsilon: float | None, *, seed: int = 0, law: str = "laplace"):
    """Write what owners release of their real records, as a library outside would; bound 12, L1."""
    held = scenario(folder).data.build(OWNERS, None, Streams(0))
    g, owners = np.random.default_rng(seed), []
    for owner, x, y in zip(held.owner_names, held.features, held.targets, strict=True):
        z = np.column_stack([x, y])
        assert np.abs(z).sum(axis=1).max() < 20
        scale = 0.0 if epsilon is None else 2 * 20.0**2 / (len(z) * epsilon)
        noisy = z.T @ z / len(z) + noise("laplace", scale * 2**0.5, P + 1, g)
        owners.append({"name": owner, "records": len(z), "deviation": scale * 2**0.5,
                       "moments": noisy.tolist()})  # fmt: skip
    told = {"epsilon": epsilon} if epsilon is not None else {}
    made = Release.model_validate(
        {"schema": 1, "features": P, "bound": 20.0, "norm": "l1", "owners": owners,
         "law": "none" if epsilon is None else law} | told
    )  # fmt: skip
    out = folder / name
    out.write_text(made.model_dump_json(by_alias=True, exclude_none=True), "utf-8")
    return out


@ORACLE
def test_moments_without_noise_forecast_what_the_records_do(folder):
    """ψ is a function of second moments and n_i alone, where nothing is clipped."""
    file = released(folder, "exact.json", None)
    truth = forecast(scenario(folder), moments="own", private=True)
    found = forecast(scenario(folder, file), redraws=1)
    assert found.psi == pytest.approx(truth.psi, rel=1e-9)
    assert found.noise_free == pytest.approx(truth.noise_free, rel=1e-9)
    assert (found.psi_half_width, found.not_for_release) == (0.0, False)
    off = found.may_be_off
    assert off.psi_half_width == pytest.approx(0.0, abs=1e-9)
    assert off.left_out[0].startswith("the moments are second moments without noise, which are not")
    bare = {"public_path": None, "public_records": 0, "preprocessing": "none", "drop": ["who"]}
    without = forecast(scenario(folder, file).replace(data=bare), redraws=1)  # nothing public
    assert without.psi == pytest.approx(truth.psi, rel=1e-9)
    alike = forecast(scenario(folder), redraws=1)  # public rows do not tell that owners are unlike
    assert alike.noise_free < 0.5 * truth.noise_free
    assert alike.may_be_off.left_out[0].startswith("owners are assumed to be alike")


def told(asked: Scenario) -> tuple[float, float]:
    """Return ψ by moments, and how far it may be off."""
    known = population(asked, None, private=False)
    psi, off = _by_moments(known, None), may_be_off(known, None)
    assert psi is not None
    assert off is not None
    return psi, off.psi_half_width


@pytest.mark.long
def test_its_half_width_covers_what_noise_makes(folder):
    """Eight releases differ from the truth as much as each says, in the root mean square."""
    known = population(scenario(folder), "own", private=True)
    truth, found = _by_moments(known, None), []
    for seed in range(8):
        found.append(told(scenario(folder, released(folder, f"{seed}.json", 150.0, seed=seed))))
    psi, half = np.array(found).T
    assert np.mean(np.abs(psi - truth) <= half) >= 0.7
    assert 0.4 < np.sqrt(np.mean(np.square(psi - truth))) / (np.median(half) / 2.31) < 1.7
    assert np.std(psi) > 0.02 * truth


@pytest.mark.long
def test_that_of_public_rows_covers_which_rows_are_public(folder, tmp_path):
    """Eight public files of like rows: forecasts differ as much as each says."""
    g, found = np.random.default_rng(2), []
    for draw in range(8):
        x = g.normal(size=(100, P))
        y = x @ [1.0, -2.0, 0.5] + g.normal(size=100) * np.exp(0.5 * g.normal(size=100))
        file = tmp_path / f"{draw}.parquet"
        pd.DataFrame(dict(zip("abc", x.T, strict=True)) | {"y": y}).to_parquet(file)
        data = {"public_path": str(file), "public_records": 100}
        found.append(told(scenario(folder).replace(data=data)))
    psi, half = np.array(found).T
    assert 0.4 < np.std(psi, ddof=1) / (np.median(half) / 2.31) < 1.7


def test_a_matrix_is_mended_to_the_nearest_and_rows_have_its_moments():
    g = np.random.default_rng(3)
    matrix = np.diag([3.0, 1.0, -0.5])
    turn, _ = np.linalg.qr(g.normal(size=(3, 3)))
    found, raised = mended(turn @ matrix @ turn.T, 0.25)
    assert raised == 1
    assert found == pytest.approx(turn @ np.diag([3.0, 1.0, 0.25]) @ turn.T)
    x, y = gaussian_rows(found, 40, g)
    z = np.column_stack([x, y])
    assert z.T @ z / 40 == pytest.approx(found, abs=1e-12)
    few = [np.column_stack(gaussian_rows(found, 4, g)) for _ in range(4000)]
    assert np.mean([z.T @ z / 4 for z in few], axis=0) == pytest.approx(found, abs=0.15)


@ORACLE
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_played_release_has_the_noise_it_declares_and_is_none_of_real_rows(folder, law):
    privacy = {"mechanism": law, "delta": 1e-6 if law == "gaussian" else None}
    plain = scenario(folder).replace(privacy=privacy)
    made = play(plain, 1.0, 2.0)
    exact = play(plain, 1e5, 2.0)
    assert (made.law, made.epsilon, made.bound) == (law, 1.0, 2.0)
    assert [owner.name for owner in made.owners] == ["e", "n", "s", "w"]
    upper = np.triu_indices(P + 1)
    apart = np.array([(a - b)[upper] for a, b in zip(made.matrices(), exact.matrices(),
                                                     strict=True)])  # fmt: skip
    deviation = made.owners[0].deviation
    if law == "laplace":  # b = 2B²/(nε)
        assert deviation == pytest.approx(2 * 2.0**2 / EACH * 2**0.5)
    assert np.sqrt(np.mean(np.square(apart))) / deviation == pytest.approx(1.0, abs=0.35)
    assert all(np.trace(m) <= 2.0**2 + 1e-3 for m in exact.matrices())
    [pooled] = play(plain, 1.0, 2.0, together=True).owners
    assert (pooled.name, pooled.records) == (None, OWNERS * EACH)
    assert pooled.deviation == pytest.approx(deviation / OWNERS)
    other = folder / f"spoilt-{law}.parquet"
    frame = pd.read_parquet(folder / "t.parquet")
    frame[["a", "b", "y"]] = 1e6
    frame.to_parquet(other)
    assert play(plain.replace(data={"path": str(other)}), 1.0, 2.0) == made


def test_none_is_played_of_private_rows(folder, tmp_path, monkeypatch, capsys):
    command = Command(monkeypatch, capsys)
    file = tmp_path / "s.toml"
    file.write_text(dump(scenario(folder), tmp_path), "utf-8")
    out = tmp_path / "m.toml"
    said = command("play-release", file, "-o", out, "--epsilon", 1, "--private")
    assert (said.code, len(said.lines)) == (2, 1)
    assert "never simulated on private rows, because anyone with the seed can subtract" in said.err
    bare = scenario(folder).replace(data={"public_path": None, "public_records": 0,
                                          "preprocessing": "none"})  # fmt: skip
    with pytest.raises(DataError, match="without public rows needs --private"):
        play(bare, 1.0)
    with pytest.raises(SpecError, match="laplace or gaussian noise"):
        play(scenario(folder, privacy={"mechanism": "none"}), 1.0)
    assert not out.exists()
    printed = command.done("play-release", file, "-o", out, "--epsilon", 1).out
    assert "not a real release" in printed
    assert "Anybody with\n# the seed can subtract the noise" in out.read_text("utf-8")
    assert read_release(str(out)).played_on == "rows drawn from the table's public ones"
    again = command("play-release", file, "-o", out, "--epsilon", 1)
    assert again.lines[0].startswith(f"{file}: --out: given an existing path")
    told = command.done(
        "forecast", "--details", file, "--set", "data.stand_in.kind=moments",
        "--set", f"data.stand_in.path={out}",
    ).out  # fmt: skip
    assert "Gaussian rows with the second moments that owners released" in told
    assert "the moments are a simulated release from rows drawn from" in told
    assert "draws of the release's noise" in told


WRONG = (
    ({"owners": []}, "owners"),
    ({"law": "cauchy"}, "law"),
    ({"epsilon": None}, "epsilon"),
    ({"bound": -1.0}, "bound"),
    ({"features": 2}, "moments"),
    ({"extra": 1}, "extra"),
    ({"schema": 2}, "schema"),
)


def test_a_wrong_file_is_one_line_a_fault(folder, tmp_path):
    good = {
        "schema": 1, "features": 1, "bound": 2.0, "norm": "l1", "law": "laplace", "epsilon": 1.0,
        "owners": [{"records": 9, "deviation": 0.1, "moments": [[1.0, 0.2], [0.2, 1.0]]}],
    }  # fmt: skip
    path = tmp_path / "m.json"
    path.write_text(json.dumps(good), "utf-8")
    assert read_release(str(path)).features == 1
    skew = {"owners": [good["owners"][0] | {"moments": [[1.0, 0.2], [0.3, 1.0]]}]}
    ragged = {"owners": [good["owners"][0] | {"moments": [[1.0, 0.2], [0.3]]}]}
    twice = {"owners": good["owners"] * 2}
    for change, named in (*WRONG, (skew, "moments"), (ragged, "moments"), (twice, "name")):
        path.write_text(json.dumps(good | change), "utf-8")
        with pytest.raises(DataError) as caught:
            read_release(str(path))
        for line in caught.value.lines():
            assert line.startswith("data.stand_in.path: given m.json with "), line
        assert named in caught.value.lines()[0]
    path.write_text("{", "utf-8")
    for wrong in (path, tmp_path / "none.toml", tmp_path):
        with pytest.raises(DataError, match=r"^data.stand_in.path: given '"):
            read_release(str(wrong))
    with pytest.raises(DataError, match="moments of 3 features"):
        forecast(scenario(folder, released(folder, "three.json", None)).replace(
            data={"features": 2}))  # fmt: skip
