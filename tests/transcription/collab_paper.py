"""Settings of Collab's experiments, from reading the paper again.

Places are in ``papers/000_1a5356a39d184a58.txt`` ("text") and sections of ``PAPERS.md``. Nothing
here is taken from the catalogue. Ξ, c_1, ρ and the starting points stand nowhere in the text.
"""

# Both experiments.
INSTITUTES = 3  # "collaborations among N = 3 financial institutes"; IV-A: "among N = 3 …"
HORIZON = 100  # "versus the iteration number k for T = 100"; "after T = 100 iterations"
UPDATES_IN_THE_LOOP = 99  # Algorithm 2, line 2: "for k = 1, …, T − 1 do"
ANSWERS_PAID_FOR = 100  # Theorem 1: "over horizon {1, …, T}", "scale b = 2ΞT/(n_ℓ ε_ℓ)"
RUNS = 100  # "extracted from one-hundred runs of the algorithm" (figures 2 and 7)
N_BUDGETS = 3  # "for three choices of privacy budgets ε_1 = ε_2 = ε_3" (figures 2 and 7)
ALGORITHM = "collab-2"  # "the performance of Algorithm 2, on two financial datasets"
PROTOCOL = "rounds"  # Algorithm 2, line 3: the learner submits queries to all data owners
MECHANISM = "laplace"  # Theorem 1
NOISE = "vector"  # the same: "i.i.d. noises with the density (1/2b)^p_θ exp(−‖w‖_1/b)"
BUDGET_OVER = "horizon"  # the same: "scale b = 2ΞT/(n_ℓ ε_ℓ)"
SLOPE = -2.0  # "the slope of the linear lines in the log-log scale … is −2" (4, 5, 9, 10)

OPTIMUM_BY = ("collab-1", float("inf"))  # IV: "we use Algorithm 1 with ε = +∞ for … θ*"
OPTIMUM_AT_CONSTANT = True  # II: "when ε = +∞ … we can select a constant learning rate"

# Text, section IV-A, "Lending Dataset".
LENDING_RECORDS_EACH = 250_000  # "Consider the case where n_1 = n_2 = n_3 = 250,000"
LENDING_LOSS = "ridge"  # "g_2 = ‖y − M(x; θ)‖²", "y = θᵀx"
LENDING_REGULARISER = 0.0  # "and g_1(θ) = 0"
LENDING_FEATURES = 10  # "to select the top ten important features"
LENDING_PUBLIC = 10_000  # "we only use the last ten-thousand entries of the dataset"
LENDING_SPLIT = "in-order"  # "The first n_1 entries …", "between n_1 + 1 to n_1 + n_2 …"
FOLD = 100.0  # "from … = 1 to … = 10, the relative fitness … improves … approximately 100-fold"
LENDING_WITHIN = (0.1, 10.0, 350_000)  # section I: "similar performance", "350,000 records each"
THIRD_THEOREM = -1.0  # "Theorem 3 … a function of the form ε_i^{-1}"
SMALL_RECORDS = 1_000  # figure 6: "1/(2000 + n_1)": two owners of 1,000
RELUCTANT = 0.1  # the same: "√(200 + 1/ε_1²)": two of 1/0.1² = 100
LARGE_FIRST = 100_000  # "it still remains large for relative large datasets n_1 = 10⁵"
PRINTED_POWER = 1.0  # the same: "ψ ∝ 1/(2000 + n_1) √(200 + 1/ε_1²)"
SQUARED_POWER = 2.0  # Theorem 2 and section V: "(Σ n_ℓ)^{-2} Σ ε_ℓ^{-2}"

# Text, section IV-B, "Credit Card Fraud Detection".
RECORDS_EACH = 30_000  # "Assume that n_1 = n_2 = n_3 = 30,000"
LOSS = "svm"  # "M(x; θ) := θᵀ[xᵀ 1]ᵀ", "max(0, 1 − M(x; θ)y)"
REGULARISER = 1.0  # "g_1(θ) := (1/2) θᵀθ"
REGULARISER_FORM = "half-square"  # the same
PROJECTION = "none"  # "vectors extracted by PCA": the features are projected already
FEATURES = 29  # PAPERS, figures 7 to 11: V1 to V28, Amount
BUDGET = 1.0  # section I: "within 90% … if the privacy budget is equal to 1"
WITHIN = 0.1  # the same
