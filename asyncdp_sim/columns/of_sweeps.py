"""The tables that a sweep's directory has besides its cells' own, column by column."""

from asyncdp_sim.columns.entry import COUNT, NUMBER, SHARE, SIZE, TEXT, TICKS, YES, Column, Table
from asyncdp_sim.columns.keys import OWNER, REPLICATE, one_of
from asyncdp_sim.columns.of_owners import AT, OWNERS
from asyncdp_sim.trace import Ending, ExchangeOutcome

CELLS = Table(
    "cells",
    "One row per cell of a sweep; swept paths are columns, and so are the figures of each summary "
    "but for updates",
    (
        Column("cell", "Number of the cell, from 0, the last swept path fastest", domain=COUNT),
        Column("status", "Whether there is a result", domain="one of done, failed"),
        Column(
            "error",
            "Why there is none; absent where every cell is done",
            "none",
            TEXT,
            "the cell is done",
        ),
        Column("seed", "run.seed of the cell", domain=COUNT),
        Column(
            "network",
            "Digest of what decides the network: cells that have it share one trace",
            "none",
            TEXT,
        ),
        Column(
            "updates_per_replicate",
            "Mean number of updates of a replicate: throughput times simulated_time",
            "updates",
            SIZE,
            "the cell has failed",
        ),
    ),
)

_K = "updates"
EXCHANGES = Table(
    "traces/exchanges",
    "One row per query, by replicate, in the order of ending, open ones last",
    (
        REPLICATE,
        Column(
            "message", "Number of the query's answer among the replicate's messages", domain=NUMBER
        ),
        OWNER,
        Column("peer", "Whose model was read: 0 is the learner, or all servers", domain=COUNT),
        Column("request_tick", "When the owner asked, or began to work", TICKS, COUNT),
        Column("read_tick", "When the model was read", TICKS, COUNT),
        Column("read_k", "Updates made before the read", _K, COUNT),
        Column(
            "release_tick",
            "When the answer's first transmission began; the end, if none did",
            TICKS,
            COUNT,
        ),
        Column("end_tick", "When the exchange ended, or the run did", TICKS, COUNT),
        Column("end_k", "Updates made before the end", _K, COUNT),
        Column("transmissions", "How often the answer was sent", "transmissions", COUNT),
        Column(
            "outcome",
            "How it ended: " + ", ".join(f"{each.value} {each.name}" for each in ExchangeOutcome),
            domain=f"whole numbers 0 to {max(ExchangeOutcome)}",
        ),
    ),
)

ACCOUNTS = Table(
    "traces/owners",
    "One row per replicate and owner",
    (
        REPLICATE,
        OWNER,
        *(each for each in OWNERS.columns if each.name in ("attempts", "refused")),
        Column("unheard", "Requests that were lost on the way", "requests", COUNT),
        Column(
            "online",
            "Share of the run's time, or of ticks, that the owner was online",
            domain=SHARE,
            null="no time has passed, or no tick has drawn",
        ),
    ),
)

RUNS = Table(
    "traces/runs",
    "One row per replicate: what its network has one of",
    (
        REPLICATE,
        Column("end_tick", "When the run ended", TICKS, COUNT),
        Column(
            "in_flight_total",
            "Sum over updates of the exchanges open just after each",
            "exchanges",
            COUNT,
        ),
        Column(
            "recomputed",
            "Exchanges begun anew, since an answer was not delivered",
            "exchanges",
            COUNT,
        ),
        Column(
            "on_air_ticks",
            "Duration of all transmissions on a shared channel, overlaps counted each",
            TICKS,
            COUNT,
        ),
        Column("one_on_one", "Whether exchanges never overlap", domain=YES),
        Column("one_each", "Whether an owner has one open attempt at most", domain=YES),
        Column(
            "answers_per_update",
            "Answers that make one update",
            "answers",
            NUMBER,
            "the protocol decides each time",
        ),
        Column(
            "in_order",
            "Whether answers arrive in the order of the updates they make",
            domain=YES,
        ),
        Column(
            "answers_once",
            "Whether an owner's first answer is its only one, and what it sends later is worked "
            "out of it. Absent where that is not so",
            domain=YES,
        ),
        Column("ending", "Why the run ended", domain=one_of([each.name for each in Ending])),
        Column(
            "update_ticks",
            "When each update was made, k = 1, 2, …",
            TICKS,
            "lists of whole numbers ≥ 0",
        ),
    ),
)

_COUNTED = {
    "requests": "Requests sent",
    "answers": "Transmissions of answers",
    "queries": "Queries heard",
    "acknowledgements": "Acknowledgements that were on their way to it",
    "openings": "Trips by which it helped to open a sum",
}
OCCUPATION = Table(
    "traces/occupation",
    "One row per replicate and owner: what it was at ([energy])",
    (
        REPLICATE,
        OWNER,
        *(Column(state.name, f"How long {words}", TICKS, COUNT) for state, words in AT.items()),
        *(Column(name, words, "messages", COUNT) for name, words in _COUNTED.items()),
    ),
)

OF_SWEEPS = (CELLS, EXCHANGES, ACCOUNTS, OCCUPATION, RUNS)
