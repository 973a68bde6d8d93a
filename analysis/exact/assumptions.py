"""Assumptions of the exact moments of learning, and which of them a scenario breaks."""

from collections.abc import Iterator

from analysis.exact.sample_spread import LARGEST, fourth_moments
from analysis.exact.silence import answering, surely_until
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import never_stale
from asyncdp_sim.theory.prediction import Unknown

ENDS_EARLY = "the run may end at run.until, before T"
UNEQUAL = "answers have unequal parts of a budget, which depend on the owner's earlier answers"


def out_of_order(scenario: Scenario) -> list[str]:
    """Return the reasons why the order of owners is unknown, which exact moments need."""
    network, result = scenario.network, list[str]()
    if facts_of(network).unknown:
        result.append(facts_of(network).unknown)
    parts = scenario.privacy.allotment(scenario.owners.count)
    if parts is not None and scenario.algorithm.in_rounds is None:
        result.append(UNEQUAL)
    if network.until is not None and not surely_until(network, network.updates):
        result.append(ENDS_EARLY)
    if scenario.algorithm.in_rounds is not None:
        result += _absent(scenario)
    elif not network.protocol.makes_updates and never_stale(network):
        law = answering(network)
        if isinstance(law, Unknown):
            result.append(f"the law of the next update's owner is not known: {law}")
    return result


def _absent(scenario: Scenario) -> Iterator[str]:
    """Yield why rounds are not linear in the answers of all owners, a reason each."""
    network = scenario.network
    facts, least = facts_of(network), min(network.answers_allowed)
    if scenario.algorithm.sample is not None:
        yield "answers use a new random sample of the owner's records each"
    asked, count = scenario.protocol.asked_at_most, scenario.owners.count
    if asked is not None and asked < count:
        yield f"each round is of {asked} of {count} owners, drawn at random"
    deadline = scenario.protocol.round_deadline
    if deadline is not None and not facts.within(deadline):
        yield "answers that miss the deadline are not in their round"
    if facts.loses("answer") or facts.loses("query"):
        yield "rounds may lack answers: messages are lost"
    elif facts.vanishing:
        yield "rounds may lack answers: owners vanish"
    shared = network.channel.contended
    if facts.shared and not (shared is not None and shared.in_turn):
        yield f"rounds may lack answers: {facts.shared}"
    online = scenario.availability.online_share(scenario.owners.count)
    surely = online is not None and min(online) == 1
    if not (scenario.availability.all_return or surely):
        yield f"rounds may lack owners: availability is {scenario.availability.kind}"
    if least < network.updates:
        yield f"a budget of {least} answers is spent before round {network.updates}"


def nonlinear(scenario: Scenario, *, interior: bool = True) -> list[str]:
    """Return the reasons why there are no moments even for a known order of owners.

    Models must be linear in noise and starts for a given order.

    Parameters
    ----------
    scenario : Scenario
    interior : bool
        Whether the optimum without bounds lies in Θ, which data alone tell.
    """
    algorithm, result = scenario.algorithm, list[str]()
    if algorithm.one_on_one is None and algorithm.in_rounds is None:
        several = " with local steps" if algorithm.gradients_per_answer > 1 else ""
        result.append(f"algorithm {algorithm.kind}{several} has no exact moments here")
    if scenario.algorithm.looks_at_models and not never_stale(scenario.network):
        result.append(f"answers under protocol {scenario.protocol.kind} may be stale")
    if not scenario.model.quadratic:
        result.append(f"the loss of model {scenario.model.kind} is not quadratic")
    elif not interior:
        result.append("the optimum lies on the bound of Θ, where the projection acts")
    if scenario.privacy.clip_bound is not None:
        result.append(CLIPPED)
    if scenario.privacy.bound_moves:
        result.append(MOVING)
    sampled = scenario.privacy.sampling is not None
    if sampled and fourth_moments(scenario.owners.count, scenario.numbers) > LARGEST:
        result.append(TOO_LARGE)
    if scenario.network.stops:
        result.append("timing depends on the model")
    return result


SAMPLED = "answers are over samples of records, whose spread depends on the model, not on the order"
TOO_LARGE = "answers are over samples of records, and there are too many fourth moments to compute"
CLIPPED = "clipped gradients are not linear in the model"
MOVING = (
    "the clip bound moves by noisy counts (break-even ε assumes that what noise costs falls with "
    "1/ε², which is rough here)"
)
