"""Runs whose models overflow: ψ is infinite, in every table and word, and nothing warns."""

import numpy as np
import pytest

from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sentences.result import result_lines
from tests.one_in import one_in
from tests.tables import table
from tests.unit.scenario.test_out_of_range import scenario

STEPS = table(__file__, "ways.toml")["diverging"]
MORE = {"run": {"updates": 60, "alone": True}, "data": {"held_out": 0.2}, "owners": {"records": 20}}


@one_in(2, "learning", ["replay", "live"])
@one_in(2, "bound", ["clip", "declared"])
@pytest.mark.parametrize("parts", STEPS.values(), ids=STEPS)
def test_a_run_that_diverges_is_told_as_such(parts, bound, learning, tmp_path):
    trusted = {"privacy": {"sensitivity": {"kind": bound, "bound": 1.0}}}
    raw = scenario(3, MORE, {"run": {"learning": learning}}, trusted, parts)
    found = run(parse(Scenario, raw))
    final = found.learned.curve["relative_fitness"][-1]
    assert np.isnan(final) or final == np.inf or final > 1e30
    write(found, tmp_path / "out")
    assert any(line.startswith("ψ at the end") for line in result_lines(tmp_path / "out"))


def test_psi_overflows_before_f_does():
    """f(θ*) is below 1, so that f is finite at a model where ψ is not."""
    server = {"kind": "fedasync", "step": 1e152, "mixing": 1.0}
    declared = {"privacy": {"sensitivity": {"kind": "declared", "bound": 1.0}}}
    few = {"run": {"updates": 1}, "data": {"noise": 0.01}}
    curve = run(parse(Scenario, scenario(3, few, declared, {"algorithm": server}))).learned.curve
    assert curve["relative_fitness"][-1] == np.inf
    assert np.isfinite(curve["fitness"][-1])
