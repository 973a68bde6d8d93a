import pytest

from asyncdp_sim.theory.formulas.channels import delivered, lost_in_bursts, mean_attempts
from tests.together import together


def bursts(attempts, *numbers):
    names = ("to_bad", "to_good", "loss_good", "loss_bad")
    return lost_in_bursts(attempts, **dict(zip(names, numbers, strict=True)))


@together
@pytest.mark.parametrize("loss", [0.0, 0.2, 0.9, 1.0])
@pytest.mark.parametrize("attempts", [1, 2, 7])
def test_by_summing_over_outcomes(loss, attempts):
    arrives = [loss**r * (1 - loss) for r in range(attempts)]
    sent = sum(r * p for r, p in enumerate(arrives, 1)) + attempts * loss**attempts
    assert delivered(loss, attempts) == pytest.approx(sum(arrives), abs=1e-15)
    assert mean_attempts(loss, attempts) == pytest.approx(sent, rel=1e-14)


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_losses_that_do_not_come_in_bursts(attempts):
    """The state matters to nothing, or is drawn anew every time."""
    for chain in ((0.1, 0.3, 0.4, 0.4), (0.25, 0.75, 0.2, 1.0)):
        assert bursts(attempts, *chain) == pytest.approx(1 - delivered(0.4, attempts), rel=1e-13)


def test_bursts_by_hand():
    assert bursts(1, 0.1, 0.3, 0.05, 0.8) == pytest.approx(0.75 * 0.05 + 0.25 * 0.8)
    assert bursts(4, 0.2, 0.0, 0.3, 1.0) == 1
    assert bursts(1, 1.0, 1.0, 1.0, 0.0) == 0.5
    assert bursts(2, 1.0, 1.0, 1.0, 1.0) == 1  # answers of two attempts keep the state
