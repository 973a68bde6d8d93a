"""The picture of sampling: noise is hardly ever less for it, and ψ is drawn against passes."""

from pathlib import Path

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.studies.subsampling import ANSWERS, FIGURE, noise_over_whole
from asyncdp_sim.results import Sweep
from asyncdp_sim.sweeps import sweep
from scenarios import entry

FEW = (
    "run.replicates=2",
    "run.updates=20",
    "owners.records=60",
    "privacy.budget.answers=7",
    "data.public_records=200",
)


@pytest.mark.long
def test_noise_of_samples_is_hardly_less_at_best() -> None:
    for q in (0.3, 0.1):
        larger = noise_over_whole({"sampling": q, "epsilon": 1.0, "delta": 1e-6})
        assert min(larger) > 0.999
        assert larger[0] == max(larger)
    page = {1: 1.780, 10: 1.025, 100: 1.000}  # docs/privacy/subsampling.md, q = 0.1
    told = dict(zip(ANSWERS, larger, strict=True))
    assert {k: told[k] for k in page} == pytest.approx(page, abs=1.5e-3)


@pytest.mark.long
def test_psi_is_drawn_against_passes_over_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asyncdp_sim.figures.studies.subsampling.ANSWERS", (1,))
    sweep(entry("value-of-subsampling").scenario(FEW), tmp_path / "sampled", workers=1)
    picture = FIGURE.picture(Sweep.read(tmp_path / "sampled"))
    table = picture.table
    learned = table["panel"] == "psi"
    ends = [
        table["x"][learned & (table["line"] == name)][-1] for name in ("all records", "q = 0.1")
    ]
    assert ends == pytest.approx([20 / 3, 2 / 3])
    assert set(table["line"][~learned]) == {"q = 0.3", "q = 0.1", "q = 0.03", "q = 0.01"}
    assert "less than a thousandth below 1 at best" in picture.caption
    assert picture.label.text.startswith("Private as claimed: ε = 1 per owner")


def test_a_sweep_of_something_else_is_no_picture(tmp_path: Path) -> None:
    settings = (*FEW, 'sweep."privacy.epsilon"=[1.0]', "sweep.variant=[{name='a'}]")
    sweep(entry("value-of-subsampling").scenario(settings), tmp_path / "other", workers=1)
    with pytest.raises(ResultError, match="none of variants with Gaussian noise"):
        FIGURE.picture(Sweep.read(tmp_path / "other"))
