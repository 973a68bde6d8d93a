"""Settings of Async's experiments, from reading the paper again.

Places are lines of ``papers/004_a58cdd6b6f400488.txt`` ("text") and sections of ``PAPERS.md``
("code": facts of the authors' published experiment code). Nothing here is taken from the
catalogue.
"""

# Text, "Lending Dataset", Experiment Setup and Results.
BANKS = 3  # "collaborations between N = 3 banks"
RECORDS_EACH = 250_000  # "when n_1 = n_2 = n_3 = 250,000"
RUNS = 100  # "for 100 runs of Algorithm 1"; caption of figure 3
HORIZON = 1_000  # "for the learning horizon T = 1,000"; caption of figure 3
N_BUDGETS = 3  # caption of figure 3: "three choices of privacy budgets ε_1 = ε_2 = ε_3"
BUDGETS = [0.1, 1.0, 10.0]  # figure 3 in PAPERS.md: ε ∈ {0.1, 1, 10}; the text has no digits
LOSS = "ridge"  # "g_2 = ‖y − M(x; θ)‖²", "y = θᵀx"
REGULARISER = 1e-5  # "g_1(θ) = 10⁻⁵ θᵀθ"; code 1: σ = 1e-5 in (σ/2) θᵀθ
REGULARISER_FORM = "half-square"  # code 1, where the text's form would be "square"
BLOCKS = "in-order"  # "first data owner … the first n_1 entries", the second n_1 + 1 to n_1 + n_2

# Text, "Dataset Description and Pre-Processing".
FEATURES = 10  # "We select the top ten important features"
PUBLIC_IN_THE_TEXT = 10_000  # "we only use the last ten-thousand entries of the dataset"
PUBLIC_IN_THE_CODE = 10_001  # code 7: "over the last 10,001 rows"
PROJECTION = "eigen-uncentred"  # code 7: no centring, no scaling, X V D^{-1/2}

# Text, section 3: clocks and protocol.
CLOCK_RATE = 1.0  # "Poisson process of rate one"
WAYS = ["request", "broadcast"]  # "We can interpret this mechanism in multiple ways": the two
CHANNELS_IN_ALL = 1  # "only one communication channel available": answers at once collide
SOME_LISTEN = True  # "some might be listening while others not"
PROTOCOL = "request"  # "Request for Update by the Data Owner": one-on-one

# Code.
RHO = 3_000.0  # code 2: step Nρ/(T²σ) with ρ = 3000 (lending)
CENTRAL_STEP = "proof"  # code 3: both models use ρ/(2T²σ)
DECLARED_BOUND = FEATURES / 2  # code 4: noise scale T p/(n_i ε_i), so that 2Ξ = p
NOISE = "scalar-as-published"  # code 5: one draw on all coordinates
MECHANISM = "laplace"  # Theorem 1
START = "uniform"  # code 6: U[0, 1) per coordinate (lending 3-6); the text says 0
THETA_MAX = 1e5  # code 7
ENCODING = "as-published"  # code 8

# Text, figures 5 and 6: captions and "Experiment Setup and Results"; PAPERS.md, figures of Async.
SIZES = (1_000, 100_000, 10)  # PAPERS: n_i, "10 values, 10³…10⁵, log, rounded up"
BUDGETS_OF_SURFACE = (0.1, 10.0, 10)  # PAPERS: ε, "10 values, 0.1…10, log"
C_1, C_2 = 0.0, 2.1e9  # captions: "c̄'_1 = 0 and c̄'_2 = 2.1 × 10⁹"
C_2_DRAWN = 2.1536e9  # PAPERS: "draw 2.1536·10⁹/(ε n_i)²"
EXPONENT = -2.0  # (6): n⁻² Σ 1/ε²; PAPERS: "slope −2 in both"
EXPONENT_HOLDS = (-2.1, -1.9)  # issue: "slopes −2.0 ± 0.1"

# Figure 3, as read off the plot in PAPERS.md.
ENDS = {0.1: 0.4, 1.0: 0.04, 10.0: 0.008}  # "ends near 0.4, 0.04, 0.008"
PSI_AT_START = 1.0  # "starts at 1"; read off the plot too: the texts state neither start nor ends
BEATS_ISOLATION = (10, 1.0)  # abstract of 001: "more than 10 … 10,000 records … equal to 1"
ENDS_BY_LAW = {0.1: 3.4, 1.0: 0.034, 10.0: 0.00034}  # "figure 5's constant, which gives"

# Figure 7.
RECORDS_OF_MANY = 10_000  # "N banks each with n_i = 10,000 records"
BANKS_OF_MANY = [2, 4, 8, 16, 32, 64]  # PAPERS
START_OF_MANY = "zeros"  # code 6: "0 (figure 7)"
THETA_MAX_OF_MANY = 1e8  # code 7: "figure 7: 1e8"
PAYS = {10.0: 5.0, 2.5: 100.0}  # "more than 5 … equal to 10 or … more than 100 … equal to 2.5"

# Text, where it differs from the code.
TEXT_REGULARISER_FORM = "square"  # "g_1(θ) = 10⁻⁵ θᵀθ"
TEXT_NOISE = "vector"  # Theorem 1: "w_i(k) are statistically independent Laplace noises"
TEXT_NORM = "l2-as-published"  # Assumption 2: Ξ is a supremum of ‖∇ℓ‖_2
TEXT_START = "zeros"  # code 6: "the text says 0"
TEXT_CENTRAL_STEP = "text"  # Algorithm 1, line 7; code 3
# PUBLIC_IN_THE_TEXT stands above.


def noise_scale(epsilon: float) -> float:
    """Code 4: T p/(n_i ε_i)."""
    return HORIZON * FEATURES / (RECORDS_EACH * epsilon)


def step(n_owners: int) -> float:
    """Code 2: Nρ/(T²σ)."""
    return n_owners * RHO / (HORIZON**2 * REGULARISER)
