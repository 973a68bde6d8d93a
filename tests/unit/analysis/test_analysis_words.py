from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import Result
from analysis.direct import spread
from analysis.labels import Label, label
from analysis.words import number, numbers


def made(privacy: dict[str, Any], *warnings: str, **summary: Any) -> Result:
    standard = {"private": True, "epsilon_true": 1.0, "not_for_release": False}
    scenario = {"privacy": {"epsilon": 1.0} | privacy}
    said = {"scenario": scenario, "summary": standard | summary, "warnings": list(warnings)}
    return Result(Path("made"), said)


EXCEEDED = "not private: the declared bound 5 on a record gradient's L1 norm is exceeded: 53 at …"
SCALAR = "not private: noise scalar-as-published: one draw on all coordinates is not private"


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([made({})], "Private as claimed: ε = 1 per owner over the run."),
        (
            [made({"sensitivity": {"kind": "declared", "bound": 5.0}})],
            "Private as claimed: ε = 1 per owner over the run, if the declared bound Ξ = 5 holds.",
        ),
        (
            [made({"delta": 1e-6})],
            "Private as claimed: ε = 1 per owner over the run, δ = 1e-06.",
        ),
        (
            [made({}, EXCEEDED, "another", private=False, epsilon_true=10.6, not_for_release=True)],
            "NOT PRIVATE as claimed (ε = 1 per owner over the run): the declared bound 5 on a "
            "record gradient's L1 norm is exceeded. True ε = 10.6. "
            "NOT FOR RELEASE: private records were read.",
        ),
        (
            [made({}, SCALAR, EXCEEDED, private=False, epsilon_true="inf")],
            "NOT PRIVATE as claimed (ε = 1 per owner over the run): noise scalar-as-published; "
            "the declared bound 5 on a record gradient's L1 norm is exceeded. True ε = ∞.",
        ),
        (
            [
                made({}, EXCEEDED, private=False, epsilon_true=2.0),
                made({"epsilon": [0.1, 0.05]}, EXCEEDED, private=False, epsilon_true=7.0),
                made({"epsilon": 10.0}, epsilon_true=10.0, timing_accounted=False),
            ],
            "NOT PRIVATE as claimed (ε = 0.1, 1, 10 per owner over the run) in 2 of 3 cells: the "
            "declared bound 5 on a record gradient's L1 norm is exceeded. "
            "True ε = 7, 2, 10, respectively. Timing not accounted.",
        ),
    ],
)
def test_the_label_says_what_is_and_what_is_not(results: list[Result], said: str) -> None:
    private = said.startswith("Private")
    assert label(results) == Label(said, private)


def test_a_manifest_that_does_not_say_private_is_not() -> None:
    assert not label([made({}, private=None)]).private


def test_names_are_spread_and_keep_their_order() -> None:
    assert spread([0.9, 0.1], 0.05) == [0.9, 0.1]
    np.testing.assert_allclose(spread([0.5, 0.5, 0.5, 0.9], 0.1), [0.4, 0.5, 0.6, 0.9])
    drawn = spread(list(np.random.default_rng(3).random(12)), 0.06)
    assert np.diff(sorted(drawn)).min() >= 0.06 - 1e-12


def test_numbers_are_short() -> None:
    shown = [number(x) for x in (250000, 0.1, 1132.6, float("inf"), 1e-5)]
    assert shown == ["250,000", "0.1", "1,133", "∞", "1e-05"]
    assert numbers([3, 1, 1]) == "1, 3"
    assert numbers(range(1, 9)) == "1 to 8"
