"""Tables of owners: what each did, learned and spent."""

from asyncdp_sim.columns.entry import (
    ANY,
    COUNT,
    LOSS,
    NUMBER,
    OR_INFINITE,
    SHARE,
    SIZE,
    TEXT,
    TIME,
    Column,
    Table,
    of_score,
)
from asyncdp_sim.columns.keys import OWNER, REPLICATE
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.trace.occupation import State

_NO_ROWS = "the owner has no held-out rows"
_OWN_ROWS = "the owner's held-out rows"
_UNBOUNDED = (
    "answers carry no noise, or no upper bound holds: the sensitivity bound is declared, or the "
    "claim rests on code from outside"
)

AT = {
    State.sending: "it was sending a message",
    State.computing: "it worked on an answer and sent nothing",
    State.offline: "it was offline and did neither",
    State.receiving: "a message to it arrived and it did nothing of that",
    State.listening: "it waited for a shared channel and did nothing of that",
    State.idle: "it did nothing of that",
}
"""What owners are at, in words; a tick counts for the first."""

OWNERS = Table(
    "owners",
    "One row per replicate and owner",
    (
        REPLICATE,
        OWNER,
        Column("name", "The owner's name, where owners have names", domain=TEXT),
        Column("records", "n_i, the owner's training records", "records", NUMBER),
        Column(
            "epsilon",
            "ε that the owner allows in the whole run",
            domain=SIZE + OR_INFINITE,
            null="answers carry no noise, so that there is no ε",
        ),
        Column(
            "epsilon_spent",
            "ε charged for the answers released; ∞ where records of the owner are public",
            domain=SIZE + OR_INFINITE,
            null="answers carry no noise, so that there is no ε",
        ),
        Column(
            "zcdp_spent",
            "ρ of zero-concentrated privacy charged (Gaussian noise)",
            domain=SIZE + OR_INFINITE,
        ),
        Column(
            "epsilon_median",
            "ε against the median of the other nodes, half of whom have learned this at most; "
            "epsilon_spent is then against the one that learned most. Absent where ε "
            "follows from how many answers were released",
            domain=SIZE + OR_INFINITE,
        ),
        Column(
            "attacker_power",
            "Largest true-positive rate, at 1 % false positives, of an attacker on one record that "
            "the owner holds, and with privacy.overlap > 1 the others that spent most, by all "
            "answers released; 1 where its records are public",
            domain=SHARE,
            null=_UNBOUNDED,
        ),
        Column(
            "attacker_advantage",
            "Largest difference of such an attacker's true- and false-positive rates; 1 where the "
            "owner's records are public",
            domain=SHARE,
            null=_UNBOUNDED,
        ),
        Column(
            "answers_released",
            "Distinct noisy answers whose first transmission began: what is charged",
            "answers",
            COUNT,
        ),
        Column("updates", "The owner's answers that were used", "answers", COUNT),
        Column(
            "attempts",
            "Requests sent; under push and broadcast answers begun; under rounds, servers and "
            "gossip queries to the owner. Neither dropped ticks nor retransmissions count",
            "attempts",
            COUNT,
        ),
        Column(
            "refused", "Requests refused on arrival, the learner being locked", "requests", COUNT
        ),
        Column("collided", "Distinct answers whose last transmission collided", "answers", COUNT),
        Column("lost", "Distinct answers whose last transmission was lost", "answers", COUNT),
        Column(
            "online_fraction",
            "Share of the run's time that the owner was online; of its ticks, where each of them "
            "draws availability",
            domain=SHARE,
            null="no time has passed, or no tick has drawn",
        ),
        Column(
            "withheld", "Answers that were ready and that a trigger kept back", "answers", COUNT
        ),
        Column(
            "joules",
            "Energy of the owner: watts by what it was at, and joules per byte ([energy])",
            "joules",
            SIZE,
        ),
        Column(
            "bytes_sent",
            "Bytes of its requests and answers, each time they were sent",
            "bytes",
            COUNT,
        ),
        Column(
            "bytes_received", "Bytes of the queries and acknowledgements it heard", "bytes", COUNT
        ),
        *(
            Column(f"time_{state.name}", f"How long {words}", TIME, SIZE)
            for state, words in AT.items()
        ),
        Column("held_out_records", "The owner's held-out rows", "records", COUNT),
        Column(
            "held_out_loss",
            f"Mean loss of the replicate's final model over {_OWN_ROWS}",
            LOSS,
            SIZE + OR_INFINITE,
            f"{_NO_ROWS}, or the model has diverged",
        ),
        Column("held_out_optimum", f"Mean loss of θ* over {_OWN_ROWS}", LOSS, SIZE, _NO_ROWS),
        *(
            column
            for score in SCORES
            for behind, model in (
                ("", "the final model"),
                ("_optimum", "θ*"),
                ("_alone", "the owner's own θ_i*"),
            )
            for column in of_score(
                score,
                f"held_out_{score.name}{behind}",
                _OWN_ROWS,
                model,
                diverges=behind == "",
            )
        ),
        Column(
            "psi_alone",
            "ψ on all training records of θ_i*, the best model of the owner's own records",
            domain=ANY + OR_INFINITE,
        ),
        Column("held_out_alone", f"Mean loss of θ_i* over {_OWN_ROWS}", LOSS, SIZE, _NO_ROWS),
    ),
)

SPENDING = Table(
    "spending",
    "One row per owner and ε, where answers are composed by an accountant and the sensitivity "
    "bound is enforced: the least δ, at most",
    (
        OWNER,
        Column(
            "answers", "Answers released, in the replicate with the most of them", "answers", NUMBER
        ),
        Column(
            "epsilon", "ε, from 0 to twice what the answers cost at the scenario's δ", domain=SIZE
        ),
        Column("delta", "δ at which the answers cost ε, an upper bound", domain=SHARE),
    ),
)
