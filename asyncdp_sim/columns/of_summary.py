"""The figures of a manifest's summary, as ``cells.parquet`` names them too: ``psi_final.mean``."""

from asyncdp_sim.columns.entry import (
    ANY,
    COUNT,
    LOSS,
    NUMBER,
    OR_INFINITE,
    SHARE,
    SIZE,
    TEXT,
    YES,
    Column,
    of_score,
)
from asyncdp_sim.columns.of_network import OF_NETWORK
from asyncdp_sim.measures.scores import SCORES

SPREAD = {
    "mean": "mean over replicates",
    "median": "median over replicates",
    "q25": "lower quartile over replicates",
    "q75": "upper quartile over replicates",
}
_NO_TIME = "no time has passed"
_NO_UPDATE = "no update was made"
_ALONE = "one replicate has no spread"
_UNSPLIT = "psi_split.reason says why"
_ALL_ROWS = "all held-out rows"


def _spread(name: str, meaning: str, unit: str, domain: str, null: str) -> list[Column]:
    """Return the four figures of what each replicate has one of."""
    return [
        Column(f"{name}.{part}", f"{meaning}: {words}", unit, domain, null)
        for part, words in SPREAD.items()
    ]


_LEARNING = (
    Column(
        "clip_count", "Updates in which the projection onto Θ changed a model", "updates", COUNT
    ),
    *_spread(
        "psi_final",
        "ψ of the model after the last update",
        "none",
        ANY + OR_INFINITE,
        "never null",
    ),
    *_spread(
        "held_out_final",
        "Mean loss of the final model over all held-out rows, without the regulariser",
        LOSS,
        SIZE + OR_INFINITE,
        "never null",
    ),
    Column("held_out_optimum", "Mean loss of θ* over all held-out rows", LOSS, SIZE),
    Column(
        "held_out_alone", "Mean loss over held-out rows, each under its owner's θ_i*", LOSS, SIZE
    ),
    *(
        column
        for score in SCORES
        for entry in of_score(
            score, f"held_out_{score.name}", _ALL_ROWS, "the final model", diverges=True
        )
        for column in _spread(entry.name, entry.meaning, entry.unit, entry.domain, entry.null)
    ),
    *(
        column
        for score in SCORES
        for behind, model in (("_optimum", "θ*"), ("_alone", "each row's owner's θ_i*"))
        for column in of_score(
            score, f"held_out_{score.name}{behind}", _ALL_ROWS, model, diverges=False
        )
    ),
    Column(
        "profits_psi",
        "Owners whose psi_alone is above the mean ψ of the final models",
        "owners",
        COUNT,
    ),
    Column(
        "profits_held_out",
        "Owners that gain: on their held-out rows final models err less, in the mean, than θ_i*",
        "owners",
        COUNT,
    ),
    Column(
        "psi_split.bias",
        "Part of the mean final ψ that no further run, average or budget mends",
        domain=ANY,
        null=_UNSPLIT,
    ),
    Column(
        "psi_split.selection", "Part from the order in which owners came", domain=ANY, null=_UNSPLIT
    ),
    Column(
        "psi_split.transient",
        "Part that more updates would mend; below 0 if the start was better",
        domain=ANY,
        null=_UNSPLIT,
    ),
    Column(
        "psi_split.noise",
        "Part from the noise of privacy; below 0 by chance",
        domain=ANY,
        null=_UNSPLIT,
    ),
    Column(
        "psi_split.limit_se",
        "Standard error of bias + selection",
        domain=SIZE,
        null=f"{_ALONE}, or {_UNSPLIT}",
    ),
    Column(
        "psi_split.transient_se",
        "Standard error of transient",
        domain=SIZE,
        null=f"{_ALONE}, or {_UNSPLIT}",
    ),
    Column(
        "psi_split.noise_se",
        "Standard error of noise",
        domain=SIZE,
        null=f"{_ALONE}, or {_UNSPLIT}",
    ),
    Column(
        "psi_split.repetitions",
        "Times the owners' sequence was gone through until ψ had settled",
        "repetitions",
        NUMBER,
        _UNSPLIT,
    ),
    Column("psi_split.reason", "Why parts are null", "none", TEXT, "none is"),
)

_RESTS = "the claim rests on code from outside"
_UNBOUNDED = (
    f"nothing is hidden, or no upper bound holds: the sensitivity bound is declared, or {_RESTS}"
)
_PRIVACY = (
    Column(
        "max_spent_ratio",
        "Largest ε spent over the owner's ε; ∞ where its records are public",
        domain=SIZE + OR_INFINITE,
        null="no owner has a finite ε",
    ),
    Column(
        "shared_record_epsilon",
        "ε charged for a record that privacy.overlap owners share, at most",
        domain=SIZE + OR_INFINITE,
    ),
    Column(
        "private",
        "Whether every owner's answers, and when they come, are private as the scenario claims",
        domain=YES,
        null=f"it is not shown: queries were not looked at, or {_RESTS}",
    ),
    Column(
        "epsilon_true",
        "Largest ε over records that the noise really gives; ∞ where there is none",
        domain=SIZE + OR_INFINITE,
        null=f"it is not shown: {_RESTS}",
    ),
    Column(
        "epsilon_at_least",
        "Whether epsilon_true is of the table's own records alone, so that ε is at least that",
        domain=YES,
    ),
    Column(
        "delta",
        "δ at which ε is stated; 0 of pure mechanisms",
        domain=SHARE,
        null="nothing is hidden",
    ),
    Column(
        "attacker_power",
        "Largest true-positive rate, at 1 % false positives, of an attacker on one record that "
        "privacy.overlap owners hold (one, if absent), by all answers that they may release; by "
        "epsilon_true where the run is not private as claimed",
        domain=SHARE,
        null=_UNBOUNDED,
    ),
    Column(
        "attacker_advantage",
        "Largest difference of such an attacker's true- and false-positive rates",
        domain=SHARE,
        null=_UNBOUNDED,
    ),
    Column(
        "bound_exceeded",
        "Whether a record's gradient was longer than the declared bound",
        domain=YES,
        null="nothing is hidden, the bound is enforced, or nobody looked at some queries",
    ),
    Column(
        "queries_unseen",
        "Answered queries at which nobody looked how long gradients were",
        "queries",
        COUNT,
        "the bound is enforced, or nothing is hidden",
    ),
    Column(
        "timing_accounted",
        "Whether when owners answer, and when the run ends, tells nothing of private records",
        domain=YES,
    ),
    Column("not_for_release", "Whether records were read from a real table", domain=YES),
)

_ENERGY = (
    Column("joules", "Energy of all owners, mean over replicates ([energy])", "joules", SIZE),
    Column(
        "joules_per_update", "Energy of all owners over updates made", "joules", SIZE, _NO_UPDATE
    ),
    Column("watts", "Mean power of all owners together", "watts", SIZE, _NO_TIME),
    Column(
        "learner_watts",
        "Mean power of the learner; absent where energy.learner is",
        "watts",
        SIZE,
        _NO_TIME,
    ),
    Column("bytes_sent", "Bytes sent by all owners, mean over replicates", "bytes", SIZE),
    Column("bytes_received", "Bytes heard by all owners, mean over replicates", "bytes", SIZE),
)

SUMMARY = OF_NETWORK + _LEARNING + _ENERGY + _PRIVACY
