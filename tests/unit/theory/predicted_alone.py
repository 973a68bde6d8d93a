"""Predictions for owners that share no channel: a network's parts, a figure, and its value."""

from asyncdp_sim.network import Latency, Payload
from asyncdp_sim.network.availability import (
    Bernoulli,
    Churn,
    Diurnal,
    OnOff,
    Outages,
)
from asyncdp_sim.network.channels import Aloha, Ideal, Parallel
from asyncdp_sim.network.clocks import (
    DeterministicClock,
    GammaClock,
    PoissonClock,
    SaturatedClock,
    ScriptedClock,
)
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Broadcast, Dispatch, Push, Request
from asyncdp_sim.network.topology import Star
from tests.unit.theory.spoken import (
    ALOHA,
    ANSWERS,
    BURSTS,
    CSMA,
    FAILS,
    HALF,
    OPEN,
    OVERLAP,
    PUSH,
    QUEUE,
    RETRY,
    SERVED,
    SLOTS,
    SLOW,
    TURNS,
    UNEQUAL,
)

PREDICTED = {
    # the lock, ORACLES 12
    "lock": ({}, "throughput", 4.0),
    "dispatch": (
        {"protocol": Dispatch(tasks=2), "compute": Exponential(mean=0.5)}, "throughput", 2 / 0.625,
    ),
    "dispatch, staleness": (
        {"protocol": Dispatch(tasks=3), "compute": Exponential(mean=0.5)}, "mean_staleness", 2.0,
    ),
    "dispatch, one task": ({"protocol": Dispatch(tasks=1), **SERVED}, "throughput", 2.0),
    "dispatch, unknown law": (
        {"protocol": Dispatch(tasks=2), "compute": Constant(value=0.5)},
        "throughput", "owners' times of work, with their answers' way, are not exponential",
    ),
    "dispatch, way": (
        {"protocol": Dispatch(tasks=2), "compute": Exponential(mean=0.5),
         "latency": Latency(answer=Constant(value=0.1))},
        "throughput", "owners' times of work, with their answers' way, are not exponential",
    ),
    "dispatch, all at once": (
        {"protocol": Dispatch(tasks=3, queue="none"), "compute": Constant(value=0.5)},
        "throughput", 6.0,
    ),
    "dispatch, work is shared": (
        {"protocol": Dispatch(tasks=2, queue="shared"), "compute": Constant(value=0.5),
         "latency": Latency(answer=Constant(value=0.125))},
        "throughput", 2 / (0.125 + 0.5 * (1 + 0.8 / 4)),
    ),
    "dispatch, to the same": (
        {"protocol": Dispatch(tasks=6, to="same"), "compute": Constant(value=0.5)},
        "throughput", 8.0,
    ),
    "dispatch, to some": (
        {"protocol": Dispatch(tasks=3, to="same", queue="none"), "compute": Constant(value=0.5)},
        "throughput", 6.0,
    ),
    "dispatch, in turn": (
        {"protocol": Dispatch(tasks=2, to="in-turn"), "compute": Constant(value=0.5)},
        "throughput", "several tasks that go round in turn have no product form",
    ),
    "dispatch, lossy": (
        {"protocol": Dispatch(tasks=2), "channel": Ideal(loss=0.1), **SERVED},
        "mean_staleness", "messages are lost",
    ),
    "dispatch, away": (
        {"protocol": Dispatch(tasks=2), "availability": Bernoulli(probability=0.5), **SERVED},
        "throughput", "tasks wait for owners to be back",
    ),
    "dispatch, who": (
        {"protocol": Dispatch(tasks=2), **SERVED},
        "p_repeat", "the learner chooses the next owner to ask",
    ),
    "lock serves": (SERVED, "throughput", 4 / 3),
    "lock busy": (SERVED, "utilisation", 2 / 3),
    "lock refuses": (SERVED, "refusal_rate", 1.5 / 2.5),
    "lock, any law": ({"compute": SLOW}, "utilisation", 2 / 3),
    "lock, unequal": ({"clock": UNEQUAL, **SERVED}, "throughput", 8 / 5),
    "lock, thinned": ({"availability": Bernoulli(probability=0.5)}, "throughput", 2.0),
    "lock, bytes": ({"latency": Latency(rate_bytes=192.0)}, "throughput", 4 / 3),
    "lock, header": (
        {"latency": Latency(rate_bytes=192.0), "payload": Payload(header_bytes=88)},
        "throughput", 4 / 5,
    ),
    "lock, gamma": ({"clock": GammaClock(cv=0.5)}, "throughput", "clocks are gamma"),
    "lock, regular": ({"clock": DeterministicClock()}, "utilisation", "clocks are deterministic"),
    "lock, scripted": ({"clock": ScriptedClock(times=((1.0,),) * 4)}, "p_repeat", "clocks are scr"),
    "lock, on-off": ({"availability": OnOff(on=SLOW, off=SLOW)}, "throughput", "availability is"),
    "lock, request": ({"latency": Latency(request=SLOW)}, "throughput", "requests take time"),
    "lock, timeout": (
        {"protocol": Request(timeout=9.0), "compute": SLOW}, "throughput", "the learner gives up",
    ),
    "lock, timeout that never rings": ({"protocol": Request(timeout=9.0)}, "throughput", 4.0),
    "lock, lost": ({"channel": Ideal(loss=0.1)}, "refusal_rate", "messages are lost"),
    "lock, query lost": ({"channel": Ideal(loss_query=0.1)}, "throughput", "messages are lost"),
    "lock, heard": ({"latency": Latency(acknowledgement=HALF)}, "throughput", "owners wait for"),
    "lock, far": ({"topology": Star(latency=0.1)}, "throughput", "requests take time"),
    "lock, links": ({"topology": FAILS}, "throughput", "links fail"),
    "lock, retry": ({"protocol": RETRY, **SERVED}, "throughput", "refused requests are sent again"),
    "lock, retry of nothing": ({"protocol": RETRY}, "throughput", 4.0),
    "lock, silent": ({"withholds": True}, "throughput", "owners may withhold answers"),
    "lock, silent owners": ({"withholds": True}, "p_repeat", "owners may withhold answers"),
    "lock, to a target": ({"stops": True}, "throughput", 4.0),
    "lock, until then": ({"stops": True}, "updates_until_all", "the run is too short"),
    "lock, spent": ({"answers_allowed": (9,) * 4}, "throughput", "a budget of 9 answers may be"),
    "lock, spent later": ({"answers_allowed": (9,) * 4, "until": 0.1}, "throughput", 4.0),
    "lock on a channel": ({"channel": ALOHA}, "throughput", 4 / 1.8),
    "lock spares collisions": ({"channel": ALOHA}, "collision_rate", 0.0),
    "lock loads a channel": ({"channel": ALOHA}, "offered_load", 0.2 * 4 / 1.8),
    "lock listens": ({"channel": CSMA}, "throughput", "the formula is for protocol push"),
    # waiting, ORACLES 14
    "nobody waits": (SERVED, "mean_waiting", 0.0),
    "nobody waits again": ({"protocol": RETRY, **SERVED}, "mean_waiting", 0.0),
    "airtime waits": (
        {"channel": Aloha(airtime=0.1, request_airtime=0.1)}, "mean_waiting", "requests take air",
    ),
    "requests travel": ({"latency": Latency(request=HALF)}, "mean_waiting", "requests take time"),
    "queue": (
        {"protocol": OPEN, "compute": Exponential(mean=0.1)}, "mean_waiting", 4 * 0.02 / 1.2,
    ),
    "queue, unequal": (
        {"protocol": OPEN, "clock": PoissonClock(rate=(1.0, 3.0)), "n_owners": 2,
         "compute": (Constant(value=0.1), Exponential(mean=0.1))},
        "mean_waiting", 4 * (0.25 * 0.01 + 0.75 * 0.02) / 1.2,
    ),
    "queue busy": (
        {"protocol": OPEN, "compute": Exponential(mean=0.1)}, "utilisation", 0.4,
    ),
    "queue, far": (
        {"protocol": OPEN, "latency": Latency(request=SLOW), "compute": Constant(value=0.1)},
        "throughput", 4.0,
    ),
    "queue overflows": ({"protocol": OPEN, **SERVED}, "throughput", "the queue grows"),
    "queue, dropped": ({"protocol": QUEUE, **SERVED}, "mean_waiting", "waiting owners do not"),
    "queue of nothing": ({"protocol": QUEUE}, "mean_waiting", 0.0),
    # push
    "push": ({"protocol": PUSH, "clock": UNEQUAL}, "throughput", 8.0),
    "push serves": (
        {"protocol": PUSH, "clock": UNEQUAL, **SERVED}, "throughput", 2 / 1.5 + 2 / 2 + 4 / 3,
    ),
    "push overlaps": ({"protocol": OVERLAP, **SERVED}, "throughput", 4.0),
    "push, saturated": (
        {"protocol": PUSH, "clock": SaturatedClock(), "compute": (HALF, SLOW, SLOW, HALF)},
        "throughput", 8.0,
    ),
    "push, request unused": (
        {"protocol": PUSH, "latency": Latency(request=HALF)}, "throughput", 4.0,
    ),
    "push, vanish": (
        {"protocol": Push(offline="vanish"), "availability": OnOff(on=SLOW, off=SLOW)},
        "throughput", "availability is on-off",
    ),
    "push, vanish never": ({"protocol": Push(offline="vanish")}, "throughput", 4.0),
    # staleness, ORACLES 15 to 17
    "stale never": ({"protocol": RETRY, "compute": SLOW}, "mean_staleness", 0.0),
    "stale binomial": ({"protocol": PUSH, **SERVED}, "mean_staleness", 3 * 0.5 / 1.5),
    "stale, any law": ({"protocol": PUSH, "compute": SLOW}, "mean_staleness", 3 * 0.5 / 1.5),
    "stale, unequal": (
        {"protocol": PUSH, "n_owners": 2, "clock": PoissonClock(rate=(1.0, 2.0)), **SERVED},
        "mean_staleness", (2 / 3 * (1 / 2) + 1 * (1 / 3)) / (2 / 3 + 1),
    ),
    "stale overlap": (
        {"protocol": OVERLAP, "clock": UNEQUAL, "compute": SLOW}, "mean_staleness", 4.0,
    ),
    "stale saturated": (
        {"protocol": PUSH, "clock": SaturatedClock(), **SERVED}, "mean_staleness", 3.0,
    ),
    "stale in turn": (
        {"protocol": PUSH, "clock": SaturatedClock(), "channel": TURNS}, "mean_staleness", 3.0,
    ),
    "stale at once": (
        {"protocol": PUSH, "clock": GammaClock(cv=2.0), "channel": Ideal(loss=0.5)},
        "mean_staleness", 0.0,
    ),
    "stale in a tie": (
        {"protocol": PUSH, "clock": DeterministicClock(), "compute": Constant(value=0.0)},
        "mean_staleness", "clocks are deterministic",
    ),
    "stale alone": ({"protocol": PUSH, "channel": ALOHA}, "mean_staleness", 0.0),
    "stale captured": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, capture_ratio=1.0)},
        "mean_staleness", "owners share a channel",
    ),
    "stale resent": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, retransmissions=1)},
        "mean_staleness", "owners share a channel",
    ),
    "stale, lost": (
        {"protocol": PUSH, "channel": Ideal(loss=0.1), **SERVED}, "mean_staleness", "messages are",
    ),
    "stale broadcast": ({"protocol": ANSWERS}, "mean_staleness", "no formula is known for broad"),
    # whose update, ORACLES 20
    "again": ({}, "p_repeat", 0.25),
    "again, locked": ({"clock": UNEQUAL, **SERVED}, "p_repeat", 22 / 64),
    "again, overlap": ({"protocol": OVERLAP, "compute": SLOW}, "p_repeat", 0.25),
    "again, at work": ({"protocol": PUSH, **SERVED}, "p_repeat", "jobs take time"),
    "again, queue": ({"protocol": OPEN, **SERVED}, "p_repeat", "requests wait in a queue"),
    "again, one owner": ({"n_owners": 1, "clock": GammaClock(cv=0.5)}, "p_repeat", 1.0),
    "again, ALOHA": ({"protocol": PUSH, "channel": ALOHA}, "p_repeat", 0.25),
    "again, CSMA": ({"protocol": PUSH, "channel": CSMA}, "p_repeat", 0.25),
    "again, capture": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, capture_ratio=1.0)},
        "p_repeat", "no such result for channel aloha",
    ),
    "again, capture of marks": (
        {"protocol": OVERLAP, "clock": UNEQUAL, "channel": Aloha(airtime=0.2, capture_ratio=1.0)},
        "p_repeat", 22 / 64,
    ),
    "again, slots": ({"protocol": PUSH, "channel": SLOTS}, "p_repeat", "no such result"),
    "again, turns": ({"protocol": PUSH, "channel": TURNS}, "p_repeat", "no such result"),
    "again, travelling": (
        {"protocol": PUSH, "channel": ALOHA, "latency": Latency(answer=HALF)},
        "p_repeat", "answers travel on",
    ),
    "again, resent": (
        {"protocol": PUSH, "channel": Aloha(airtime=0.2, retransmissions=2)},
        "p_repeat", "answers are sent again",
    ),
    "again, own channels": (
        {"protocol": OVERLAP, "channel": Parallel(channels=2, each=ALOHA, choice="by-owner")},
        "p_repeat", "owners have channels of their own",
    ),
    "all": ({}, "updates_until_all", 4 * (1 + 1 / 2 + 1 / 3 + 1 / 4)),
    "all, unequal": ({"clock": UNEQUAL}, "updates_until_all", "owners are not chosen alike"),
    "all, short": ({"updates": 20}, "updates_until_all", "the run is too short"),
    "all, ended": ({"until": 3.0}, "updates_until_all", "the run is too short"),
    # losses, ORACLES 22
    "lost": ({"channel": Ideal(loss=0.1, retransmissions=2)}, "loss_rate", 0.001),
    "sent": ({"channel": Ideal(loss=0.1, retransmissions=2)}, "transmissions_per_answer", 1.11),
    "lost to regular owners": (
        {"channel": Ideal(loss=0.1), "clock": DeterministicClock(), "protocol": PUSH},
        "loss_rate", 0.1,
    ),
    "fresh": (
        {"channel": Ideal(loss=0.1, retransmissions=2, resend="fresh")}, "loss_rate", 0.1,
    ),
    "sent fresh": (
        {"channel": Ideal(loss=0.1, retransmissions=2, resend="fresh")},
        "transmissions_per_answer", 1.0,
    ),
    "bursts": ({"channel": Ideal(loss=BURSTS)}, "loss_rate", 0.25),
    "bursts overlap": (
        {"channel": Ideal(loss=BURSTS, retransmissions=1), "protocol": OVERLAP, **SERVED},
        "loss_rate", "bursts strike several answers",
    ),
    "lost, unequal": ({"channel": Ideal(loss=(0.1, 0.0, 0.0, 0.0))}, "loss_rate", "owners' answ"),
    "lost, timeout": (
        {"channel": Ideal(loss=0.1), "protocol": Request(timeout=1.0)}, "loss_rate", "the learner",
    ),
    "lost, unheard": (
        {"channel": Ideal(loss=0.1, loss_acknowledgement=0.1, retransmissions=1)},
        "transmissions_per_answer", "answers that arrived are sent again",
    ),
    "lost on air": (
        {"channel": Aloha(airtime=0.2, loss=0.1), "protocol": PUSH}, "loss_rate", "owners share",
    ),
    "lost, superseded": (
        {"channel": Ideal(loss=0.1), "protocol": Broadcast(interval=1.0, superseded="discard")},
        "loss_rate", "answers to older queries",
    ),
    "lossless": ({}, "loss_rate", None),
    # being online, ORACLES 4
    "online": ({}, "mean_online", 1.0),
    "online, drawn": (
        {"availability": Bernoulli(probability=(0.0, 0.5, 1.0, 1.0))}, "mean_online", 0.625,
    ),
    "online, alternating": (
        {"availability": OnOff(on=Exponential(mean=3.0), off=Constant(value=1.0))},
        "mean_online", 0.75,
    ),
    "online by day": (
        {"availability": Diurnal(period=1.0, low=0.2, high=0.6)}, "mean_online", 0.4,
    ),
    "online in step": (
        {"availability": Diurnal(period=1.0, low=0.2, high=0.6), "clock": DeterministicClock()},
        "mean_online", "clocks are deterministic",
    ),
    "online when asked": (
        {"availability": Diurnal(period=1.0, low=0.2, high=0.6), "protocol": ANSWERS},
        "mean_online", "queries are regular",
    ),
    "online but for outages": (
        {"availability": Outages(groups=((1, 2), (1,)), gap=SLOW, length=HALF)},
        "mean_online", (0.25 + 0.5 + 1 + 1) / 4,
    ),
    "online but for a schedule": (
        {"availability": Outages(groups=((1, 2), (1,)), gap=HALF, length=HALF)},
        "mean_online", "regular outages",
    ),
    "online for a while": ({"availability": Churn()}, "mean_online", "availability is churn"),
    "online by links": ({"topology": FAILS}, "mean_online", "links fail"),
}  # fmt: skip
