"""Figures of a summary that are of the network: who sent what, and how it fared."""

from asyncdp_sim.columns.entry import (
    COUNT,
    SHARE,
    SIZE,
    TIME,
    Column,
)

_RELEASED = "no released answer has come to an end"
_NO_CHANNEL = "owners share no channel"
_NONE_USED = "no answer was used"

OF_NETWORK = (
    Column("updates", "Updates made, in all replicates together", "updates", COUNT),
    Column("simulated_time", "Mean simulated time of a replicate", TIME, SIZE),
    Column(
        "throughput",
        "Updates made per time unit: those of all replicates over the time of all",
        "updates / time unit",
        SIZE,
        "no time has passed",
    ),
    Column(
        "utilisation",
        "Share of the time in which some exchange was under way; under request, the learner locked",
        domain=SHARE,
        null="no time has passed",
    ),
    Column(
        "offered_load",
        "Mean number of transmissions on the air of a shared channel",
        "erlangs",
        SIZE,
        f"{_NO_CHANNEL}, or no time has passed",
    ),
    Column(
        "delivered_load",
        "The part of offered_load that was used for updates",
        "erlangs",
        SIZE,
        f"{_NO_CHANNEL}, or no time has passed",
    ),
    Column(
        "collision_rate",
        "Share of the released answers with an end whose last transmission collided",
        domain=SHARE,
        null=f"{_NO_CHANNEL}, or {_RELEASED}",
    ),
    Column(
        "loss_rate",
        "Share of the released answers with an end whose last transmission was lost",
        domain=SHARE,
        null=_RELEASED,
    ),
    Column(
        "refusal_rate",
        "Share of the requests that reached the learner and were refused",
        domain=SHARE,
        null="no request reached it",
    ),
    Column(
        "transmissions_per_answer",
        "Mean number of transmissions of a released answer",
        "transmissions",
        "≥ 1",
        "no answer was released",
    ),
    Column(
        "mean_waiting", "Mean time from a request to its query", TIME, SIZE, "there was no query"
    ),
    Column(
        "mean_round_trip",
        "Mean time from a request, or from the start of the work, to the arrival of an answer used",
        TIME,
        SIZE,
        _NONE_USED,
    ),
    Column("mean_staleness", "Mean staleness of the answers used", "updates", SIZE, _NONE_USED),
    Column(
        "largest_staleness", "Largest staleness of an answer used", "updates", COUNT, _NONE_USED
    ),
    Column(
        "mean_online",
        "Mean of online_fraction over owners and replicates",
        domain=SHARE,
        null="online_fraction is null throughout",
    ),
    Column(
        "fairness",
        "Jain's index (Σu_i)²/(NΣu_i²) of the owners' answers used u_i, meaned over replicates: 1 "
        "if all are alike, 1/N if one owner has them all",
        domain=SHARE,
        null=_NONE_USED,
    ),
    Column(
        "updates_until_all",
        "Mean k by which every owner has had an answer used",
        "updates",
        "≥ 1",
        "in some replicate an owner had none",
    ),
    Column(
        "p_repeat",
        "P(i_{k+1} = i_k): how often an owner's update follows one of its own",
        domain=SHARE,
        null="an update takes several answers, or no replicate has two updates",
    ),
    Column(
        "p_repeat_uniform", "1/N, its value where owners come independently and alike", domain=SHARE
    ),
)
