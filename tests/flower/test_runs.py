"""Real runs of exported apps over Flower on 127.0.0.1, whose parties are killed in between.

Needs the extra ``flower``: ``python -m pytest -m flower tests/flower``.
"""

from pathlib import Path

import pytest

from asyncdp_sim.exports.flower import export_flower
from tests.flower.loopback import Loopback
from tests.unit.exports.banks import BANKS, banks
from tests.unit.exports.test_flower import ALGORITHMS

pytestmark = pytest.mark.flower
T = {"async-gossip": 3, "fedasync": 4, "fedbuff": 2, "collab-1": 2, "collab-2": 2,
     "parameter-server": 2}  # fmt: skip


@pytest.mark.parametrize(("name", "updates"), T.items(), ids=T)
def test_a_run_goes_on_after_everything_was_killed(tmp_path: Path, name: str, updates: int) -> None:
    scenario = banks(tmp_path).replace(**ALGORITHMS[name], run={"updates": updates})
    export_flower(scenario, tmp_path / "app")
    with Loopback(tmp_path / "app", tmp_path) as network:
        network.start_run()
        network.wait(lambda: network.updates() > 0)
        for party in ("run", "link", *BANKS):
            assert network.kill(party) > 0
        made = network.updates()
        assert made < updates
        network.start_link()
        for bank in BANKS:
            network.start_node(bank)
        printed = network.finished_run()
        assert f"starts at update {made} of {updates}" in printed
        assert f"update {updates} of {updates}: all updates are made" in printed
        _budgets_hold(network, 15)


def test_killed_clients_nodes_and_links_cost_answers_and_exceed_no_budget(tmp_path: Path) -> None:
    scenario = banks(tmp_path).replace(
        protocol={"timeout": 25.0},
        privacy={"budget": {"kind": "per-owner-cap", "answers": 4}},
    )
    export_flower(scenario, tmp_path / "app")
    with Loopback(tmp_path / "app", tmp_path) as network:
        run = network.start_run()
        network.wait(lambda: network.updates() > 0)
        network.wait(lambda: any(network.kill(bank, "flwr-clientapp") for bank in BANKS))
        network.wait(lambda: network.updates() > 2)
        assert network.kill("west") > 0
        network.start_node("west")
        network.wait(lambda: network.updates() > 4)
        assert network.kill("link") > 0
        network.wait(lambda: run.poll() is not None)
        assert run.returncode != 0
        network.start_link()
        assert "no owner has budget left" in network.finished_run()
        _budgets_hold(network, 4)
        assert [network.charges(bank) for bank in BANKS] == [4, 4, 4]
        assert network.updates() == sum(network.answers().values())


def _budgets_hold(network: Loopback, most: int) -> None:
    answers = network.answers()
    for bank in BANKS:
        assert answers[bank] <= network.charges(bank) <= most
