"""An owner's adapted model, fitted on its own machine once a run has ended. NumPy alone.

``python -m private_learning.adapt OWNER TABLE MODEL FILE`` reads the plan, the owner's table and
the server's ``model.json``, prints the mean errors of the joint and the adapted model, and writes
the adapted one. It sends nothing and charges nothing: what it prints and writes holds the owner's
rows without noise, so that no ε covers it. It stays with the owner.

A model of the columns of the table, centred and scaled, minimises
(1/n) Σ ℓ + (σ/2)‖β‖² + λ(‖β − β₀‖² + (b − b₀)²) around the joint one (β₀, b₀); ℓ is the squared
or the log loss. Folds of the owner's rows choose λ; λ = ∞ is the joint model as it is.
"""

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import ledger, table

STRENGTHS = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, math.inf)
FOLDS, FEW = 5, 10
SPREAD = 1e-3
"""Share of a predicted probability that is spread over the two classes: no loss is infinite."""
MODELS = ("joint model", "adapted model", "own model", "guessing")
Model = tuple[np.ndarray, float]
"""Coefficients β (c,) of the encoded columns, and the constant b."""


class Rows(NamedTuple):
    """Encoded columns (n, c), targets (n,), the joint model's predictions (n,), whose row (n,)."""

    columns: np.ndarray
    targets: np.ndarray
    joint: np.ndarray
    whose: np.ndarray

    def take(self, places: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(*(part[places] for part in self))

    def folds(self) -> list[np.ndarray]:
        """Return which rows are left out in turn: those of one person together."""
        persons = np.unique(self.whose, return_inverse=True)[1]
        order = np.random.default_rng(1).permutation(persons.max() + 1)
        left_out = (order[persons] % FOLDS == k for k in range(FOLDS))
        return [fold for fold in left_out if 0 < fold.sum() < len(fold)]  # none of one person alone


class Adaptation(NamedTuple):
    """The loss, σ, and the joint model in the encoded columns."""

    loss: str
    sigma: float
    joint: Model


def fit(rows: Rows, loss: str, sigma: float, towards: Model, strength: float) -> Model:
    """Return the model that is pulled towards another one by a finite λ."""
    centre, scale = rows.columns.mean(axis=0), rows.columns.std(axis=0)
    scale[scale <= 1e-12 * np.abs(rows.columns).max(axis=0)] = 1.0
    n, x = len(rows.targets), (rows.columns - centre) / scale
    x = np.column_stack([x, np.ones(n)])
    aim = strength * np.append(towards[0] * scale, towards[1] + towards[0] @ centre)
    base = sigma / 2 if loss == "ridge" else max(sigma / 2, 1e-6)
    pull = np.append(np.full(len(scale), base + strength), strength)
    if loss == "ridge":
        w = np.linalg.lstsq(x.T @ x / n + np.diag(pull), x.T @ rows.targets / n + aim, None)[0]
    else:
        w = _newton(x, rows.targets, pull, aim)
    return w[:-1] / scale, float(w[-1] - w[:-1] / scale @ centre)


def _newton(x: np.ndarray, y: np.ndarray, pull: np.ndarray, aim: np.ndarray) -> np.ndarray:
    """Return the minimum of a penalised log loss, of labels −1 and 1, by damped Newton steps."""

    def value(w: np.ndarray) -> float:
        return np.logaddexp(0.0, -y * (x @ w)).mean() + pull @ w**2 - 2 * aim @ w

    w = np.zeros(x.shape[1])
    for _ in range(100):
        chance = _chance(x @ w)
        slope = x.T @ (chance - (y > 0)) / len(y) + 2 * (pull * w - aim)
        bend = (x.T * (chance * (1 - chance))) @ x / len(y) + np.diag(2 * pull + 1e-12)
        step = np.linalg.solve(bend, slope)
        if step @ slope < 1e-20:
            break
        while value(w - step) > value(w) and np.abs(step).max() > 1e-12:
            step /= 2
        w = w - step
    return w


def _chance(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


def errors(z: np.ndarray, y: np.ndarray, loss: str) -> np.ndarray:
    """Return absolute errors, or log losses of the probabilities that log-odds z state."""
    if loss == "ridge":
        return np.abs(z - y)
    return -np.log((1 - SPREAD) * _chance(y * z) + SPREAD / 2)


def guess(y: np.ndarray, loss: str) -> float:
    """Return the best guess for all cases: the median, or the log-odds of the smoothed share."""
    if loss == "ridge":
        return float(np.median(y))
    return math.log((np.count_nonzero(y > 0) + 0.5) / (np.count_nonzero(y < 0) + 0.5))


def fair(rows: Rows, task: Adaptation) -> Model:
    """Return slope and constant that make log-odds of an SVM's margins; of others 1 and 0."""
    if task.loss != "svm":
        return np.ones(1), 0.0
    of_margin = rows._replace(columns=rows.joint[:, None])
    return fit(of_margin, task.loss, 0.0, (np.zeros(1), guess(rows.targets, task.loss)), 0.003)


def pulled(rows: Rows, task: Adaptation) -> tuple[list[Model], list[Model]]:
    """Return models by strength, the last being what they are pulled towards: joint, guess."""
    (loss, sigma, (beta, b)), ((slope,), constant) = task, fair(rows, task)
    ends = (slope * beta, slope * b + constant), (0 * beta, guess(rows.targets, loss))
    by_joint, by_guess = (
        [*(fit(rows, loss, sigma, end, strength) for strength in STRENGTHS[:-1]), end]
        for end in ends
    )
    return by_joint, by_guess


def candidates(rows: Rows, others: Rows, task: Adaptation) -> np.ndarray:
    """Return predictions (2, λ, m) of other rows by models fitted to rows."""
    z = np.array(
        [[others.columns @ beta + b for beta, b in models] for models in pulled(rows, task)]
    )
    (slope,), constant = fair(rows, task)
    z[0, -1] = slope * others.joint + constant  # within the privacy's domain, if there is one
    return z


def chosen(rows: Rows, task: Adaptation) -> np.ndarray:
    """Return which λ errs least on folds, of both ways to pull; of equal ones the largest."""
    total = np.zeros((2, len(STRENGTHS)))
    for left_out in rows.folds():
        left_rows = rows.take(left_out)
        z = candidates(rows.take(~left_out), left_rows, task)
        total += errors(z, left_rows.targets, task.loss).sum(axis=-1)
    return len(STRENGTHS) - 1 - np.argmin(total[:, ::-1], axis=1)


def judged(rows: Rows, others: Rows, task: Adaptation) -> np.ndarray:
    """Return the errors (4, m) of ``MODELS`` on other rows."""
    z, (by_joint, by_guess) = candidates(rows, others, task), chosen(rows, task)
    return errors(z[[0, 0, 1, 1], [-1, by_joint, by_guess, -1]], others.targets, task.loss)


def joint_model(theta: np.ndarray, data: dict) -> Model:
    """Return the server's model in the encoded columns."""
    beta, b = (theta[:-1], theta[-1]) if data["ones"] or data["append_one"] else (theta, 0.0)
    b = b - np.sum(np.array(data["shift"]) * beta)
    return (beta if data["matrix"] is None else np.array(data["matrix"]) @ beta), float(b)


def read(path: str, owner: dict, data: dict, theta: np.ndarray) -> tuple[Rows, Rows]:
    """Return the rows that the owner trained on, and those that were held out, with a target."""
    cells, held_out = table.texts(path, owner, data), owner["held_out"]
    whose = np.arange(len(cells))
    if data["person"] is not None:
        whose = np.array([row.get(data["person"]) or place for place, row in enumerate(cells)])
    kept = np.setdiff1d(np.arange(len(cells)), held_out)
    plain = {"matrix": None, "ones": False, "domain": None, "target_shift": 0.0, "append_one": True}

    def part(party: dict, places: np.ndarray) -> Rows:
        x, y, _ = table.read(path, party, data | plain)
        joint = table.read(path, party, data)[0] @ theta
        rows = Rows(x[:, :-1], y - data["target_shift"], joint, whose[places])
        return rows.take(x[:, -1] == 1)  # not the records without a target

    rows = part(owner, kept)
    if len(held_out) == 0:
        return rows, rows.take(np.arange(0))
    return rows, part(owner | {"held_out": kept, "records": len(held_out)}, np.array(held_out))


def names(data: dict) -> list[str]:
    """Return the names of the encoded columns."""
    encoded: list[str] = []
    for column in data["columns"]:
        name, several = column["name"], len(column["unknown"]) > 1
        encoded += [f"{name} = {value}" for value in column["codes"]] if several else [name]
    return encoded


def main(name: str, path: str, server_model: str, file: str) -> None:
    """Fit an owner's adapted model, print its errors, and write it."""
    plan = json.loads(ledger.PLAN.read_text(encoding="utf-8"))
    theta = np.array(json.loads(Path(server_model).read_text(encoding="utf-8"))["model"])
    data, owners = plan["data"], {owner["name"]: owner for owner in plan["owners"]}
    if name not in owners:
        *earlier, last = owners
        sys.exit(f"the plan has no owner {name}: allowed is {', '.join(earlier)} or {last}")
    rows, held_out = read(path, owners[name], data, theta)
    task = Adaptation(plan["model"]["loss"], plan["model"]["sigma"], joint_model(theta, data))
    count, numbers, target = len(rows.targets), task.loss == "ridge", data["target"]["name"]
    if count < FEW or not rows.folds() or (not numbers and len(np.unique(rows.targets)) < 2):
        sys.exit(f"{count} rows are too few: allowed are {FEW}, of two persons and both classes")
    judgements, where = [judged(rows, held_out, task)], "held-out rows"
    if len(held_out.targets) == 0:
        judgements = [judged(rows.take(~part), rows.take(part), task) for part in rows.folds()]
        where = "rows, on which the joint model was trained"
    scores = np.concatenate(judgements, axis=1)
    means = dict(zip(MODELS, scores.mean(axis=1).tolist(), strict=True))
    place = chosen(rows, task)[0]
    strength, (beta, b) = STRENGTHS[place], pulled(rows, task)[0][place]
    first = "" if numbers else next(n for n, code in data["target"]["codes"].items() if code == [1])
    content = {
        "owner": name,
        "release": False,
        "predicts": target if numbers else f"log-odds of {target} = {first}",
        "coefficients": dict(zip(names(data), beta.tolist(), strict=True)),
        "constant": b + data["target_shift"],
        "strength": strength if strength < math.inf else "inf",
        "errors": means,
    }
    Path(file).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    score = "absolute error" if numbers else "log loss"
    lines = [f"mean {score} on {scores.shape[1]} {where}:"]
    lines += [f"  {model:13}  {error:.3g}" for model, error in means.items()]
    lines.append(f"λ = {strength:g}. {file} and errors are for {name} alone: no ε covers them.")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
