"""What Collab's fraud experiment sets, transcribed by reading the paper again.

Places are in ``papers/000_1a5356a39d184a58.txt`` ("text") and sections of ``PAPERS.md``. Nothing
here is taken from the catalogue.
"""

# Text, section IV-B, "Credit Card Fraud Detection".
INSTITUTES = 3  # "collaborations among N = 3 financial institutes"
RECORDS_EACH = 30_000  # "Assume that n_1 = n_2 = n_3 = 30,000"
HORIZON = 100  # "versus the iteration number k for T = 100"
LOSS = "svm"  # "M(x; θ) := θᵀ[xᵀ 1]ᵀ", "max(0, 1 − M(x; θ)y)"
REGULARISER = 1.0  # "g_1(θ) := (1/2) θᵀθ"
REGULARISER_FORM = "half-square"  # the same
ALGORITHM = "collab-2"  # "iterates of Algorithm 2"
PROTOCOL = "rounds"  # Algorithm 2, line 3: the learner submits queries to all data owners
PROJECTION = "none"  # "vectors extracted by PCA": the features are projected already
FEATURES = 29  # PAPERS, figures 7 to 11: V1 to V28, Amount
BUDGET = 1.0  # section I: "within 90% … if the privacy budget is equal to 1"
WITHIN = 0.1  # the same
MECHANISM = "laplace"  # Theorem 1
