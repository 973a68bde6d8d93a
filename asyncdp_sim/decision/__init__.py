"""An owner's gain by joining: one definition, judged on rows that no model has seen.

An owner's gain is how much smaller its average prediction error on new cases of its own is if it
joins and uses the joint model as well as it can (as it is, or adapted to its own rows), than with
the best model that it could build by itself. The error is the absolute error of numbers and the log
loss of classes. The average is over new cases, over the noise and the timing of the private run,
and over which of its cases were trained on.
"""

from asyncdp_sim.decision.adapted import JointModels, LinearModels
from asyncdp_sim.decision.cross_validation import CrossValidation, FreshRows, adapted_model
from asyncdp_sim.decision.gain import (
    MATERIAL,
    BreakEven,
    Consortium,
    Estimate,
    Gain,
    Judging,
    Verdict,
    break_even,
    consortium,
    over_halves,
)
from asyncdp_sim.decision.rows import OwnRows, scored_by
