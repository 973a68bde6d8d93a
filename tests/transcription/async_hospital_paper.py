"""Settings and results of Async's hospital experiments, from reading the paper again.

Places are the section "Medical Data" and the captions of figures 8 to 11 in
``papers/004_a58cdd6b6f400488.txt`` ("text"), section 5.2 of ``papers/001_700a027017646420.txt``,
and ``PAPERS.md`` ("code": facts of the authors' published experiment code; "plot": what was read
off a figure). Nothing here is taken from the catalogue.
"""

# Text, "Experiment Setup and Results".
HOSPITALS_IN_ALL = 213  # "There are 213 hospitals in the dataset"
HOSPITALS = 86  # "We focus on 86 hospital with at least 10,000 records"
LEAST_RECORDS = 10_000
RUNS = 100  # "for 100 runs of Algorithm 1"; caption of figure 8
HORIZON = 1_000  # "for the learning horizon T = 1,000"; captions of figures 8, 10, 11
BUDGETS = [0.1, 1.0, 10.0]  # caption of figure 11; of figure 8 in 001: "= 0.1", "= 1.0", "= 10"

# Text, "Dataset Description and Pre-Processing".
PUBLIC_IN_THE_TEXT = 50_000  # "based on the last fifty-thousand entries"
PUBLIC_IN_THE_CODE = 50_001  # code 7
INPUTS = 9  # code 9: age, gender, race, ethnicity, admission, diagnosis, procedure, DRG, MDC
PROJECTION = "eigen-uncentred"  # code 7: no centring, no scaling, X V D^{-1/2}, "hospital, all 9"
OWNERS_ARE = {
    "column": "Facility Id",
    "least": LEAST_RECORDS,
}  # "The data … is tagged by the hospital name and code"

# As in the lending experiment: "a linear regression model, as in the previous subsection".
LOSS = "ridge"
REGULARISER = 1e-5
CLOCK_RATE = 1.0
PROTOCOL = "request"

# Code.
RHO = 10_000.0  # code 2: 10⁴ (hospital)
REGULARISER_FORM = "half-square"  # code 1: (σ/2) θᵀθ; the text's form is "square"
CENTRAL_STEP = "proof"  # code 3
CENTRAL_STEP_IN_THE_TEXT = "text"
DECLARED_BOUND = INPUTS / 2  # code 4: noise scale T p/(n_i ε_i), so that 2Ξ = p
NOISE = "scalar-as-published"  # code 5
START = "ones"  # code 6: 1 (hospital)
START_IN_THE_TEXT = "zeros"  # Algorithm 1, line 1: θ_{1,0} = … = θ_{L,0} = 0
THETA_MAX = 1e5  # code 7
SCORE_ON = "all"  # code 9: θ*, f and ψ over all patients of all hospitals
SCORE_IN_THE_TEXT = "participants"  # equation (1): f is of the owners' records
NORM_IN_THE_TEXT = "l2-as-published"  # flaws: Theorem 1 bounds the gradient in L2

# Captions and plots.
LAW = (0.9, 0.6)  # caption of figure 10: c̄1' = 0.9 and c̄2' = 0.6, drawn as 0.9/ε + 0.6/ε²
START_PSI = 0.5  # plot 8: "starts near 0.5"
END_PSI = {10.0: 0.13, 0.1: 30.0}  # plot 8, medians
MEAN_PSI = {0.1: 70.0, 3.6: 0.15, 10.0: 0.12}  # plot 10: about 70; flat 0.12–0.15 from ε ≈ 4
LINES = {0.1: 95.0, 1.0: 1.0, 10.0: 0.13}  # plot 11
GAIN = (  # caption of figure 11, at ε = 10: eight hospitals
    "Women And Children's Hospital Of Buffalo",
    "Crouse Hospital",
    "St Peters Hospital",
    "White Plains Hospital Center",
    "Westchester Medical Center",
    "Memorial Hospital for Cancer and Allied Diseases",
    "Long Island Jewish Schneiders Children's Hospital Division",
    "St Francis Hospital",
)
