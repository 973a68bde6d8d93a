import pytest

from asyncdp_sim.theory.formulas.exchanges import broadcast
from tests.theory.broadcast import clean_given, no_collision_given, responders


def test_two_answers_by_hand():
    assert no_collision_given(2, 0.2, 1.0) == pytest.approx(0.8**2)
    assert clean_given(2, 1.0, 5.0) == pytest.approx(0.64)  # one clean, both clean


@pytest.mark.parametrize(
    ("n", "q", "d"), [(1, 0.4, 0.2), (6, 0.5, 0.05), (40, 0.1, 0.5), (9, 1, 0)]
)
def test_over_all_numbers_of_listeners(n, q, d):
    answers, law = broadcast(n, q, 3 * d, 3.0), responders(n, q)
    clean = sum(m * clean_given(m, d, 1.0) * law[m] for m in range(1, n + 1))
    assert answers.mean_begun == pytest.approx(n * q)
    assert answers.mean_clean == pytest.approx(clean, rel=1e-12)
