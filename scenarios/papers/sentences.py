"""Sentences of the papers that figures and claims are held against, by file.

Files are named as the papers' texts are kept. What was read off a plot is in no text: such claims
have the caption of their figure. Dots stand for what is left out.
"""

from scenarios.papers.claims import Printed

ASYNC, ASYNC_FIRST = "004_a58cdd6b6f400488.txt", "001_700a027017646420.txt"
"""Two versions of one paper: figures have the numbers of the first of these."""
COLLAB, POLAR = "000_1a5356a39d184a58.txt", "003_856ab2b0caf2fa21.txt"
OURS = "no sentence: a check of the run itself"

# Async
STAR = Printed(
    "Communication structure between a central learner and multiple data owners with private "
    "datasets", f"{ASYNC}, figure 1",
)  # fmt: skip
SEQUENCE = Printed(
    "A random asynchronous sequence of ML model updates. In each step, the learner submit a "
    "gradient query to one of data owners", f"{ASYNC}, figure 2",
)  # fmt: skip
INTERVALS = Printed(
    "the learner, in regular time intervals, broadcasts gradient queries to all data owners (some "
    "might be listening while others not)", f"{ASYNC}, Asynchronous ML Training with DP",
)  # fmt: skip
COLLISION = Printed(
    "if two or more data owners simultaneously respond a collision occurs and the responses are "
    "lost", f"{ASYNC}, Asynchronous ML Training with DP",
)  # fmt: skip
ONE_ON_ONE = Printed(
    "At this point, the learner only communicates that data owner until the update is over",
    f"{ASYNC}, Asynchronous ML Training with DP",
)
AT_RANDOM = Printed(
    "one the data owners at random communicates with the learner",
    f"{ASYNC}, Asynchronous ML Training with DP",
)
PRIVATE = Printed(
    "The policy of data owners in line 6 of Algorithm 1 for responding to the queries over the "
    "horizon … is … DP", f"{ASYNC}, Theorem 1",
)  # fmt: skip
SCALE = Printed("are statistically independent Laplace noises with scale", f"{ASYNC}, Theorem 1")
FIGURE_3 = Printed(
    "Percentile statistics of relative fitness of 100 runs of Algorithm 1 for learning "
    "lending-interest-rates", f"{ASYNC}, figure 3",
)  # fmt: skip
FIGURE_4 = Printed(
    "Example of communication timing for the asynchronous learning in Algorithm 1 for learning "
    "lending-interest-rates", f"{ASYNC}, figure 4",
)  # fmt: skip
DECREASES = Printed(
    "Evidently, the median decreases across time until the algorithm converges to a neighbourhood "
    "of the solution of (1)", f"{ASYNC}, Lending Dataset",
)  # fmt: skip
WIDENS = Printed(
    "smaller privacy budgets also increase the variations in the relative fitness (i.e., larger "
    "gray area)", f"{ASYNC}, Lending Dataset",
)  # fmt: skip
IMPROVES = Printed(
    "The relative fitness of the trained model also improves as … increases",
    f"{ASYNC}, Lending Dataset",
)
LAW_5 = Printed(
    "The mesh surface shows the bound in (6) with … This figure clearly shows the tightness of the "
    "result of Theorem 2", f"{ASYNC}, Lending Dataset, on figure 5",
)  # fmt: skip
LAW_6 = Printed("The solid line illustrates the bound in (6)", f"{ASYNC}, figure 6")
TIGHT = Printed(
    "For both these cases, the bounds in Theorem 2 are tight fits", f"{ASYNC}, Lending Dataset"
)
BANKS_GAIN = Printed(
    "the first data owner benefits from collaboration if there are more than 5 data owners with "
    "privacy budgets greater than or equal to … 10 or if there are more than 100 data owners with "
    "privacy budgets greater than or equal to 2.5", f"{ASYNC}, Lending Dataset",
)  # fmt: skip
SUPERIOR = Printed(
    "collaboration among more than 10 data owners with at least 10,000 records with privacy "
    "budgets greater than or equal to 1 results in a superior machine-learning model",
    f"{ASYNC_FIRST}, abstract",
)
CAN_BEAT = Printed(
    "for collaboration among large numbers of private data owners, i.e., more than 10 data owners "
    "with at least 10,000 records, and with relatively large privacy budgets, i.e., privacy "
    "budgets greater than 1, the performance of the private ML model can beat the performance of a "
    "model that is trained with no collaboration", f"{ASYNC}, Introduction",
)  # fmt: skip
FIGURE_7 = Printed(
    "Relative fitness of Algorithm 1 for learning lending-interest-rates after … iterations … and "
    "the number of collaborating data owners", f"{ASYNC}, figure 7",
)  # fmt: skip
FIGURE_8 = Printed(
    "Percentile statistics of relative fitness of 100 runs of Algorithm 1 for learning length of "
    "stay at hospital", f"{ASYNC}, figure 8",
)  # fmt: skip
LARGE_BUDGETS = Printed(
    "For large privacy budgets, the median decreases across time until the algorithm converges to "
    "a neighbourhood of the solution of (1)", f"{ASYNC}, Medical Data",
)  # fmt: skip
FIGURE_9 = Printed(
    "Example of communication timing for the asynchronous learning in Algorithm 1 for learning "
    "length of stay at hospital", f"{ASYNC}, figure 9",
)  # fmt: skip
ONE_OF_86 = Printed(
    "At each iteration, only one of the 86 data owners communicates with the learner",
    f"{ASYNC}, Medical Data",
)
FIGURE_10 = Printed(
    "Relative fitness of Algorithm 1 for learning length of stay at hospital after … iterations "
    "versus the privacy budget", f"{ASYNC}, figure 10",
)  # fmt: skip
FIGURE_11 = Printed(
    "The markers show the relative fitness of the non-private ML model", f"{ASYNC}, figure 11"
)
EIGHT_GAIN = Printed(
    "The relative fitnesses of the non-private ML model … for these eight hospitals are above the "
    "dash-dotted line", f"{ASYNC}, figure 11",
)  # fmt: skip

# Collab
WITHOUT_PRIVACY = Printed(
    "we can select a constant learning rate to extract the non-private model",
    f"{COLLAB}, section II",
)
OPTIMUM = Printed("we use Algorithm 1 with … for non-private learning of", f"{COLLAB}, section IV")
COLLAB_SCALE = Printed("noises with the density function … with scale", f"{COLLAB}, Theorem 1")
HUNDREDFOLD = Printed(
    "the relative fitness of the algorithm improves (i.e., decreases), on … average, by "
    "approximately 100-fold", f"{COLLAB}, section IV-A",
)  # fmt: skip
WILLING = Printed(
    "the data owners become more willing to share data, the performance of the trained ML model "
    "improves", f"{COLLAB}, section IV-A",
)  # fmt: skip
AS_SIMILAR = Printed(
    "We observe similar performance results for training a regression model over interest rates of "
    "loans with the privacy budget of 10 and datasets of 350,000 records each",
    f"{COLLAB}, section I",
)
WITHIN_90 = Printed(
    "in average within 90% of the fitness of the trained model in the absence of privacy concern "
    "if the privacy budget is equal to 1 and each bank has access to a dataset of 30,000 records",
    f"{COLLAB}, section I",
)
CLOSER = Printed(
    "the performance of the trained SVM classifier gets closer to the SVM classifier trained with "
    "no privacy constraints", f"{COLLAB}, section IV-B",
)  # fmt: skip
LOANS_IMPROVE = Printed(
    "As predicted by Theorem 3, the fitness improves as the size of the datasets … and/or the "
    "privacy budgets … increase",
    f"{COLLAB}, section IV-A",
)
FRAUDS_IMPROVE = Printed(
    "the fitness improves by increasing the size of the datasets … and the privacy budgets",
    f"{COLLAB}, section IV-B",
)
SLOPE_4 = Printed(
    "the slope of the linear lines in the log-log scale in Figure 4 is -2",
    f"{COLLAB}, section IV-A",
)
SLOPE_5 = Printed(
    "the slope of the linear lines in the log-log scale in Figure 5 is -2",
    f"{COLLAB}, section IV-A",
)
SLOPE_9 = Printed(
    "As all linear slopes in the log-log scale in Figure 9 are -2 , the bound in Theorem 2 seems "
    "to be a perfect fit", f"{COLLAB}, section IV-B",
)  # fmt: skip
SLOPE_10 = Printed(
    "revealing the exact behaviour predicted in the bound in Theorem 2", f"{COLLAB}, section IV-B"
)
NO_POINT = Printed(
    "there is no point in collaboration with small data owners, even if the size of the dataset of "
    "the first data owner is large", f"{COLLAB}, section IV-A",
)  # fmt: skip
STILL_LARGE = Printed(
    "it still remains large for relative large datasets", f"{COLLAB}, section IV-A"
)
NOT_CHANGED = Printed("it does not change significantly with", f"{COLLAB}, section IV-A")
PROPORTIONAL = Printed("This bound shows that", f"{COLLAB}, section IV-A")
SQUARED = Printed(
    "inversely proportional to the size of the training datasets squared and the privacy budget "
    "squared", f"{COLLAB}, abstract",
)  # fmt: skip
PRONOUNCED = Printed(
    "In the second scenario (the second left most plot in Figure 6), the effect of ϵ_1 and n_1 are "
    "more pronounced", f"{COLLAB}, section IV-A",
)  # fmt: skip
THIRD = Printed(
    "The third scenario is similar to the first one, albeit with better relative fitness",
    f"{COLLAB}, section IV-A",
)
PHENOMENAL = Printed(
    "The best scenario for collaboration, unsurprisingly, is the fourth scenario in which "
    "phenomenal performances can be achieved even without much consideration towards the size of "
    "the first dataset or its privacy budget", f"{COLLAB}, section IV-A",
)  # fmt: skip
IDENTICAL = Printed(
    "the training performances with and without privacy constraints are identical, so long as the "
    "dataset of the first subsystem is large, or its privacy budget is not too small",
    f"{COLLAB}, section IV-B",
)
ANSWERS_PRIVATE = Printed(
    "We use noisy, differentially-private gradients to minimize the fitness cost of the machine "
    "learning model", f"{COLLAB}, abstract",
)  # fmt: skip

# POLAR
CONVERGE = Printed(
    "First observe that POLAR-SGD iterates converge (in function value) to the optimum for each",
    f"{POLAR}, section VI",
)
MUCH_FASTER = Printed(
    "the non-private algorithm presented earlier converges much faster than POLAR-SGD",
    f"{POLAR}, section VI",
)
LONGER = Printed(
    "it takes larger number of iterations for multiplicative and additive perturbations to average "
    "out and hence it takes longer to converge", f"{POLAR}, section VI",
)  # fmt: skip
TREND = Printed(
    "(like 10 and 20) the iterates follow the general trend of the non-private algorithm very "
    "closely", f"{POLAR}, section VI",
)  # fmt: skip
MAY_INCREASE = Printed(
    "with larger Δ the function sub-optimality may increase as compared to the starting "
    "sub-optimality for few iterations", f"{POLAR}, section VI",
)  # fmt: skip
FIGURE_POLAR = Printed(
    "show the trade-off between privacy and convergence speed", f"{POLAR}, section VI"
)
