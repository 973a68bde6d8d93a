"""Oracles of protocols: exchanges, rounds, tasks, meetings and servers."""

from asyncdp_sim.evidence.oracle import Oracle, every, tests, verified
from asyncdp_sim.network.availability import (
    Bernoulli,
    OnOff,
)
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.graphs.kinds import Complete, Edges, GeometricGraph, Ring, StarGraph
from asyncdp_sim.network.laws import (
    Constant,
    Exponential,
    Gamma,
    Lognormal,
    Uniform,
)
from asyncdp_sim.network.protocols import (
    Broadcast,
    Dispatch,
    Gossip,
    Protocol,
    Push,
    Request,
    Rounds,
    Servers,
)
from asyncdp_sim.network.protocols.policies import ShortestQueue

FORMULAS = "asyncdp_sim.theory.formulas"

OF_PROTOCOLS = (
    Oracle(
        "every exchange: when it was asked for, read, released and ended, and how it ended",
        "equal, tick for tick, to those of owners and a learner that talk over sockets",
        "a second implementation of the protocol, asyncdp_sim.rehearsals",
        "ideal channel with losses; the machine costs no time there",
        verified(
            "rehearsals",
            "sockets_and_the_event_queue_agree",
            "a_lock_that_is_released_late_is_seen",
        ),
        (Request, Push, Rounds),
    ),
    Oracle(
        "rate of updates, share of time that the learner is locked, refusals, who updates next",
        "rate N/(1+Nρ), busy Nρ/(1+Nρ), refused (N−1)ρ/(1+(N−1)ρ), owners iid",
        f"{FORMULAS}.lock; Erlang's loss formula",
        'busy = "refuse", no losses, Poisson clocks, any law of the service',
        verified(
            "lock", "rate_busy_fraction_and_refusals", "unequal_rates", "a_poisson_source"
        ),
        (Request, PoissonClock, Constant, Exponential, Lognormal),
    ),
    Oracle(
        "waits of requests",
        "Pollaczek–Khinchine and its second moment; Lindley's recursion in every run",
        f"{FORMULAS}.queueing",
        'busy = "queue", own_tick = "queue", load at most 0.7',
        verified(
            "queue", "waits", "waits_follow_from_arrivals_and_services",
            "the_mean_wait_to_three_per_mille",
        ),
        (Request, PoissonClock, Constant, Exponential),
    ),
    Oracle(
        "staleness",
        "Poisson, binomial or N−1 in the mean; a balance of integers in every trace",
        f"{FORMULAS}.staleness",
        "push, private channels, no losses",
        verified("staleness", "law", "every_trace_balances_staleness_and_jobs_in_flight"),
        (Push, SaturatedClock, Constant, Exponential),
    ),
    Oracle(
        "tasks that return, whose they are, their staleness",
        "closed network in product form, mean value analysis; m − 1 in every trace",
        f"{FORMULAS}.closed_network (Reiser and Lavenberg 1980)",
        "dispatch, 1 to 40 tasks, 3 and 100 owners, queued, shared, all at once; private channels",
        verified(
            "dispatch",
            "tasks_circulate_as_in_the_closed_network",
            "other_tasks_that_return_meanwhile_are_one_less_than_all",
            "with_many_tasks_the_slowest_owner_sets_the_pace",
            "the_order_of_service_does_not_change_the_pace",
            "who_shares_is_as_fast_as_who_queues_with_exponential_times",
        ),
        (Dispatch, Exponential, Uniform, Gamma, Constant, Lognormal),
    ),
    Oracle(
        "tasks that return where they queue and times have any law",
        "bounds only, of means D, Z of work and ways: m/(mD + Z) ≤ Λ ≤ min(m/(D + Z), min μ_i/p_i)",
        f"{FORMULAS}.closed_network (Denning and Buzen 1978)",
        "dispatch, 2 to 40 tasks, 3 to 100 owners, fifo: drawn, in turn, back to the same",
        verified(
            "circulation_bounds",
            "tasks_return_as_often_as_any_law_allows",
            "bounds_that_are_near_are_met",
        ),
        (Dispatch, Constant, Lognormal, Gamma, Uniform),
    ),
    Oracle(
        "tasks that return, and whose, where they go to the shortest queue",
        "N tasks: as those that go back to their owners; N − 1: μ_j (M − μ_j)/M, M = Σ μ_i",
        "a chain whose state is who is idle, in detailed balance",
        "dispatch, three owners, exponential times",
        verified(
            "policies",
            "a_task_each_goes_back_to_its_owner",
            "one_task_less_leaves_one_owner_idle",
        ),
        (ShortestQueue,),
    ),
    Oracle(
        "staleness of tasks whatever chooses their owners, and where some have spent their budgets",
        "m − 1 of m tasks, in every trace, with what is still open",
        "the learner keeps m tasks under way",
        "dispatch, four tasks of three owners, the shortest queue; a budget that ends half way",
        verified(
            "policies",
            "staleness_is_one_less_than_the_tasks_whatever_chooses",
            "budgets_that_are_spent_change_whom_is_asked_and_no_mean",
        ),
        (Dispatch, ShortestQueue),
    ),
    Oracle(
        "joules, and time spent computing, sending, receiving and idle",
        "x_i E[stage] of the time: renewal rewards; product form, M/G/∞ where stages overlap",
        "asyncdp_sim.theory.predict.occupation (Asmussen 2003; Baskett and others 1975)",
        "request, push, rounds, dispatch, gossip; private channels, lost in gossip alone; 3 owners",
        verified(
            "energy",
            "joules_and_times_are_those_of_renewal_rewards",
            "shares_of_time_are_those_of_every_owner",
            "stages_that_overlap_are_not_one_after_the_other",
        ),
        (Request, Push, Rounds, Dispatch, Gossip),
    ),
    Oracle(
        "what each owner is at, tick by tick",
        "spans of events joined by precedence; a sweep over changes; airtime of the channel",
        "a second computation from events",
        "random networks of every channel and protocol; an identity, no law",
        tests(
            "properties/test_occupation",
            "notes_change_nothing_and_every_tick_of_a_run_is_in_one_state",
            "joules_are_power_times_time_and_bytes",
            "what_is_on_a_shared_air_is_what_owners_send",
            "occupation_is_what_events_tell",
        ),
        (Request, Push),
    ),
    Oracle(
        "who answers a query to all, and which answers survive",
        "binomial responders; P(no collision given m) = (1−(m−1)d)^m",
        f"{FORMULAS}.broadcast",
        'answer_at = "after-delay", uniform delays, windows that do not overlap, pure ALOHA',
        verified("broadcast", "answers_to_queries"),
        (Broadcast, Bernoulli, Uniform),
    ),
    Oracle(
        "length of rounds, who misses a deadline, what losses leave out",
        "H_N/μ; e^(−μD) in each round; binomial thinning",
        f"{FORMULAS}.rounds",
        "exponential times, private channels",
        verified(
            "rounds",
            "rounds_last_as_the_slowest_and_deadlines_leave_out",
            "all_are_in_time_as_often_as_theory_says",
            "losses_thin_rounds_binomially",
            "the_prediction_is_the_mean_round",
        ),
        (Rounds, SaturatedClock, Exponential, Ideal),
    ),
    Oracle(
        "counts of updates, attempts, refusals, transmissions, time busy: features two by two",
        "the small Markov chain of the network, one linear solve",
        "tests/verification/chains.py",
        "1 to 4 owners, exponential or Erlang stages, private channels",
        verified("chains", "at_least_thirty_pairs_have_every_feature_three_times", "pair"),
        (Request, Push, PoissonClock, Bernoulli, OnOff, Exponential, Gamma, Ideal),
    ),
    Oracle(
        "how fast averaging contracts, and how often neighbours meet",
        "the spectrum of E W; a loss network (Kelly), 1 − l_a l_b updates a meeting",
        f"{FORMULAS}.gossip_spectrum, {FORMULAS}.loss_network",
        "Poisson clocks, small graphs; answers lost by themselves",
        verified(
            "gossip_graph",
            "averaging_contracts_as_the_spectrum_says",
            "neighbours_meet_as_in_a_loss_network",
            "answers_lost_as_one_are_seen",
        ),
        (Gossip, Complete, Edges, GeometricGraph, Ring, StarGraph),
    ),
    Oracle(
        "when servers of POLAR take their steps",
        "a recursion of maxima, tick by tick",
        "tests/unit/network/server_networks.py",
        "a few servers, given times of computation",
        tests(
            "unit/network/test_servers",
            "every_tick_by_a_recursion",
            "a_step_takes_constant_time_as_predicted",
        ),
        (Servers,),
    ),
    Oracle(
        "budgets, endings and messages of every protocol over every channel",
        "no budget exceeded, each message ends once, each query is told once",
        "invariants of a trace",
        "small networks; an invariant, no law",
        tests(
            "conformance/test_protocols",
            "a_run_ends_and_no_budget_is_exceeded",
            "every_message_ends_at_most_once",
        ),
        every(Protocol),
    ),
)  # fmt: skip
