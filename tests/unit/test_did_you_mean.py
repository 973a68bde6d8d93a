"""The question that a refusal of an unknown name asks."""

from asyncdp_sim.core.words import did_you_mean


def test_near_names_are_asked_for_and_far_ones_are_not() -> None:
    names = ["epsilon", "delta", "epsilons", "epsilon_true"]
    assert did_you_mean("epsilom", names) == "did you mean epsilon? "
    assert did_you_mean("epsilom", names, 2) == "did you mean epsilon or epsilons? "
    assert did_you_mean("epsilom", names, 3) == "did you mean epsilon, epsilons or epsilon_true? "
    assert did_you_mean("xyz", names, 3) == ""
