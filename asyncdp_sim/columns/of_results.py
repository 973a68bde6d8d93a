"""The tables of a result directory, column by column."""

from asyncdp_sim.columns.entry import (
    ANY,
    COUNT,
    LOSS,
    MODEL,
    NUMBER,
    OR_INFINITE,
    SHARE,
    SIZE,
    TICKS,
    TIME,
    Column,
    Table,
    of_score,
)
from asyncdp_sim.columns.keys import COORDINATE, EVENT_TICK, OWNER, REPLICATE, TICK, one_of
from asyncdp_sim.columns.of_owners import OWNERS, SPENDING
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.trace import Detail, EventKind

_HELD_OUT = "all held-out rows"

UPDATES = Table(
    "updates",
    "One row per answer that was used, by replicate and k",
    (
        REPLICATE,
        Column("k", "The update that used the answer, from 1 to T", domain=NUMBER),
        TICK,
        Column("time", "When the update was made", TIME, SIZE),
        Column(
            "owner", "Whose answer it was; two nodes of a gossip have one row each", "none", NUMBER
        ),
        Column("read_tick", "When the model that was answered was read", TICKS, COUNT),
        Column("staleness", "Other updates made between the read and this one", "updates", COUNT),
        Column("message", "Number of the answer among the replicate's messages", domain=NUMBER),
        Column(
            "peer",
            "Whose model was read: 0 is the learner, or all servers; else a server, or an owner on "
            "a graph. Absent where it is 0 throughout",
            domain=COUNT,
        ),
    ),
)

CURVE = Table(
    "curve",
    "One row per replicate and recorded update: k = 0, each multiple of run.record_every, the last",
    (
        REPLICATE,
        Column("k", "How many updates the model has had", "updates", COUNT),
        TICK,
        Column("time", "When the update was made", TIME, SIZE),
        Column(
            "relative_fitness",
            "ψ = f(θ)/f(θ*) − 1 of the central model after k updates: 0 is the best model. Below 0 "
            "only for mlp, whose θ* is the best local minimum found",
            domain=ANY + OR_INFINITE,
            null="the model has diverged and ψ is no number",
        ),
        Column(
            "fitness",
            "f(θ) of the central model: the regulariser plus the mean loss over training records",
            LOSS,
            ANY + OR_INFINITE,
            "the model has diverged and f is no number",
        ),
        Column(
            "held_out_loss",
            "Mean loss over all held-out rows, without the regulariser",
            LOSS,
            SIZE + OR_INFINITE,
            "no row is held out, or the model has diverged",
        ),
        Column(
            "held_out_error",
            "Share of held-out labels that the sign of the prediction misses; a zero counts half",
            domain=SHARE,
            null="no row is held out, or the model has diverged",
        ),
        *(
            column
            for score in SCORES
            for column in of_score(
                score, f"held_out_{score.name}", _HELD_OUT, "the central model", diverges=True
            )
        ),
    ),
)

MODELS = Table(
    "models",
    "One row per replicate and coordinate: the central model after the last update",
    (
        REPLICATE,
        COORDINATE,
        Column(
            "theta_L", "θ_L, the final central model", MODEL, ANY + OR_INFINITE, "it has diverged"
        ),
    ),
)

OPTIMUM = Table(
    "optimum",
    "One row per coordinate: θ*, the model with the least f over training records",
    (COORDINATE, Column("theta", "θ*", MODEL)),
)

ALONE = Table(
    "alone",
    "One row per owner and coordinate: the best model of each owner's own records (run.alone)",
    (OWNER, COORDINATE, Column("theta", "θ_i*, without noise and without others' records", MODEL)),
)

EVENTS = Table(
    "events",
    "One row per event, by replicate, in the order of happening (--events)",
    (
        REPLICATE,
        Column("seq", "Place of the event in its replicate, from 0", domain=COUNT),
        EVENT_TICK,
        Column("time", "When it happened", TIME, SIZE),
        Column("kind", "What happened", domain=one_of([kind.name for kind in EventKind])),
        Column(
            "owner",
            "Whose event it is; 0 is nobody's: a broadcast, a server's step, a round's update",
            "none",
            COUNT,
        ),
        Column(
            "message",
            "Number of the message among the replicate's",
            "none",
            NUMBER,
            "it is of no message",
        ),
        Column(
            "attempt",
            "Which transmission of the answer, from 1; of server_stepped, the server's number",
            domain=NUMBER,
            null="it is no transmission's",
        ),
        Column(
            "detail",
            "What the kind leaves open",
            domain=one_of([d.name.replace("_", "-") for d in Detail if d is not Detail.none]),
            null="the kind says all",
        ),
    ),
)

OF_RESULTS = (UPDATES, CURVE, OWNERS, SPENDING, EVENTS, MODELS, OPTIMUM, ALONE)
