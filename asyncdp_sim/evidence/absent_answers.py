"""Reasons why the answers of some owners may be missing from a round."""

from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.table import facts_of


def absent(scenario: Scenario) -> list[str]:
    """Return why rounds are not linear in the answers of all owners, a reason each."""
    network, rounds, found = scenario.network, scenario.algorithm.in_rounds, []
    facts, least = facts_of(network), min(network.answers_allowed)
    if scenario.algorithm.sample is not None:
        found.append("answers are over some of an owner's records, drawn anew for each")
    if rounds is not None and rounds.trim > 0:
        found.append("a trimmed mean is not linear in the answers")
    deadline = scenario.protocol.round_deadline
    if deadline is not None and not facts.within(deadline):
        found.append("answers that miss the deadline are not in their round")
    lacking = facts.unreliable
    if lacking:
        found.append(f"rounds may lack answers: {lacking}")
    shared = network.channel.contended
    if facts.shared and not (shared is not None and shared.in_turn):
        found.append(f"rounds may lack answers: {facts.shared}")
    online = scenario.availability.online_share(scenario.owners.count)
    surely = online is not None and min(online) == 1
    if not (scenario.availability.all_return or surely):
        found.append(f"rounds may lack owners: availability is {scenario.availability.kind}")
    if least < network.updates:
        found.append(f"a budget of {least} answers is spent before round {network.updates}")
    return found
