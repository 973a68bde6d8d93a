"""The asynchronous algorithm as published, over second moments: a slow and obvious copy."""

import numpy as np

SIGMA, RHO, T = 1e-5, 3000.0, 1000


def moments(data):
    """Return per-owner C_i and r_i, the fitness f and its minimiser θ*."""
    n = sum(data.records)
    c = [x.T @ x / len(x) for x in data.features]
    r = [x.T @ y / len(y) for x, y in zip(data.features, data.targets, strict=True)]
    square = sum(float(y @ y) for y in data.targets) / n
    c_all = sum(m * c_i for m, c_i in zip(data.records, c, strict=True)) / n
    r_all = sum(m * r_i for m, r_i in zip(data.records, r, strict=True)) / n
    best = np.linalg.solve(2 * c_all + SIGMA * np.eye(len(r_all)), 2 * r_all)

    def fitness(theta):
        quadratic = np.einsum("...i,ij,...j", theta, c_all, theta)
        return SIGMA / 2 * np.sum(theta**2, -1) + square - 2 * theta @ r_all + quadratic

    return np.array(c), np.array(r), fitness, best


def final_psi(data, epsilon, *, scalar, seed, runs=100):
    """Return ψ(θ_L) after T updates, one per run."""
    c, r, fitness, best = moments(data)
    n_owners, n_i = len(c), np.array(data.records)
    p, every = len(best), np.arange(runs)
    generator = np.random.default_rng(seed)
    central, owners = generator.random((runs, p)), generator.random((n_owners, runs, p))
    for _ in range(T):
        i = generator.integers(n_owners, size=runs)
        mean = (central + owners[i, every]) / 2
        scale = T * p / (n_i[i] * epsilon)
        noise = generator.laplace(size=(runs, 1 if scalar else p)) * scale[:, None]
        answer = 2 * (np.einsum("rij,rj->ri", c[i], mean) - r[i]) + noise
        share = (n_i[i] / n_i.sum())[:, None]
        step = SIGMA * mean / (2 * n_owners) + share * answer
        owners[i, every] = np.clip(mean - n_owners * RHO / (T**2 * SIGMA) * step, -1e5, 1e5)
        central = np.clip(mean - RHO / (2 * T**2) * mean, -1e5, 1e5)
    return fitness(central) / fitness(best) - 1
