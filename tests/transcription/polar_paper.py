"""Settings of POLAR's experiment, from reading the paper again.

Places are in ``papers/003_856ab2b0caf2fa21.txt``, section VI. Nothing here is taken from the
catalogue. Steps, the number of iterations, the number of features and Y stand nowhere.
"""

POINTS = 100_000  # "We consider 100000 data points partitioned among"
CLIENTS = 100  # "C = 100 clients"
SERVERS = 5  # "Our system consists of S = 5 parameter servers"
LOSS = "ridge"  # "f_i(x) = Σ ‖xᵀa_l − b_l‖²", without ½; no regulariser is named
WEIGHT_TOTAL = 5.0  # "SLC and BUC with parameters M = 5"
WEIGHT_BOUND = 50.0  # "and M̄ = 50"
WINDOWS = {10, 20, 50}  # "three values of Δ = {10, 20, 50}"
BATCH = 10  # "batch size of 10 samples for computing stochastic gradients in each iteration"
LEAST_REACH = 2  # "The clients upload gradients to more than one parameter server"
SENTENCES = {
    "converges",  # "iterates converge (in function value) to the optimum for each Δ"
    "much slower",  # "the non-private algorithm … converges much faster than POLAR-SGD"
    "slower",  # "with higher Δ … it takes longer to converge"
    "follows the general trend",  # "smaller Δ's (like 10 and 20) … follow the general trend"
    "may increase",  # "with larger Δ the function sub-optimality may increase"
}
