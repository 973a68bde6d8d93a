from asyncdp_sim.sweeps.told import gathered

SHORT = "{} of 8 replicates ended before T = 50 updates ({} to {}): the time horizon was reached"
RELEASED = "; of {} answers released {}"


def test_what_every_cell_says_is_said_once() -> None:
    assert gathered([["a"], ["a"]]) == ["a"]
    several = [["b 1"], ["b 2", "c"], ["b 1", "c"], ["b 1"], ["b 1", "c"]]
    assert gathered(several) == ["cells 0, 2 to 4: b 1", "cell 1: b 2", "cells 1, 2, 4: c"]


def test_runs_that_ended_early_are_one_note_per_reason() -> None:
    spent = SHORT.format(8, 3, 4).replace("the time horizon was reached", "budgets are spent")
    first = SHORT.format(8, 9, 20) + RELEASED.format(200, "100 collided")
    second = SHORT.format(2, 3, 12) + RELEASED.format(100, "10 collided, 40 were turned away")
    assert gathered([["data"], ["data", first], ["data", spent], ["data", second]]) == [
        "data",
        "cells 1, 3: 2 to 8 of 8 replicates ended before T = 50 updates (3 to 20): the time "
        "horizon was reached; of the answers released 10 to 50 % collided, 0 to 40 % were turned "
        "away",
        f"cell 2: {spent}",
    ]


def test_a_note_of_one_kind_of_run_keeps_its_numbers() -> None:
    said = SHORT.format(8, 3, 4) + RELEASED.format(200, "100 collided")
    assert gathered([[said], [said]]) == [said]
    assert gathered([[said], []]) == [f"cell 0: {said}"]
    plain = [[SHORT.format(8, 3, 4)], [SHORT.format(8, 3, 5)]]
    assert gathered(plain) == [f"cells 0, 1: {SHORT.format(8, 3, 5)}"]


def test_targets_that_were_reached_sooner_or_later_are_one_note() -> None:
    said = "{} of 8 replicates reached run.target, after {} to {} updates"
    cells = [[said.format(8, 12, 40)], [said.format(5, 9, 31)]]
    both = "cells 0, 1: 5 to 8 of 8 replicates reached run.target, after 9 to 40 updates"
    assert gathered(cells) == [both]


def test_many_notes_that_differ_in_numbers_are_one() -> None:
    norms = ["9.5", "83.25", "1.2e+03", "70", "71", "72"]
    said = [[f"the bound 5 on an L1 norm is exceeded: {norm} at owner 3"] for norm in norms]
    assert gathered([*said, []]) == [
        "cells 0 to 5: the bound 5 on an L1 norm is exceeded: 9.5 to 1.2e+03 at owner 3"
    ]
    assert len(gathered(said[:5])) == 5


def test_cells_without_a_result_say_nothing() -> None:
    assert gathered([["a"], None]) == ["cell 0: a"]
