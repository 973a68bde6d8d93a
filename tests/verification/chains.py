"""The stationary law of a small Markov chain in continuous time, by one linear solve.

The slow and obvious twin of every formula for exponential stages: write down the states (any
hashable values) and, in a function, the rates out of each; no balance equation is set up by hand.

>>> def lamp(state):
...     yield (3.0, "off") if state == "on" else (1.0, "on")
>>> law = stationary(lamp, "off")
>>> round(law["on"], 12)
0.25
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import fsum, isfinite
from typing import TypeVar

import numpy as np
from scipy.sparse.csgraph import connected_components

State = TypeVar("State", bound=Hashable)
Rates = Callable[[State], Iterable[tuple[float, State]]]

LARGEST = 3000
"""States that a dense solve still takes in about a second."""


def explore(rates, start, largest=LARGEST):
    """Return every state that can be reached, with its total rate to each other state.

    Parameters
    ----------
    rates : callable
        State to pairs (rate, next state). Rates are finite and ≥ 0; those of several pairs with
        one next state add; a pair that leads back to its own state changes nothing.
    start : hashable
    largest : int
        Most states allowed.

    Raises
    ------
    ValueError
        If a rate is negative or not finite, or if there are more states than allowed.
    """
    found: dict[State, dict[State, float]] = {}
    waiting = [start]
    known = {start}
    while waiting:
        state = waiting.pop()
        out = found[state] = {}
        for rate, following in rates(state):
            if not isfinite(rate) or rate < 0:
                raise ValueError(f"rate {rate} from {state!r} to {following!r}")
            if rate == 0 or following == state:
                continue
            out[following] = out.get(following, 0.0) + rate
            if following not in known:
                if len(known) == largest:
                    raise ValueError(f"more than {largest} states can be reached from {start!r}")
                known.add(following)
                waiting.append(following)
    return found


def stationary(rates: Rates[State], start: State, largest: int = LARGEST) -> dict[State, float]:
    """Return the stationary probability of every state that can be reached from ``start``.

    Raises
    ------
    ValueError
        As :func:`explore`, and if the chain is reducible: some state does not lead back.
    """
    chain = explore(rates, start, largest)
    balance = _generator(chain).T  # row i: flow into state i less flow out of it
    _, parts = connected_components(balance, connection="strong")
    stuck = [state for state, part in zip(chain, parts, strict=True) if part != parts[0]]
    if stuck:
        raise ValueError(f"reducible: {stuck[0]!r} does not lead back to {start!r}")
    balance[-1] = 1.0  # one balance equation is superfluous; the probabilities sum to 1 instead
    sums = np.append(np.zeros(len(chain) - 1), 1.0)
    return dict(zip(chain, np.linalg.solve(balance, sums).tolist(), strict=True))


def _generator(chain):
    """Return Q: the rates between states, and out of them on the diagonal."""
    index = {state: i for i, state in enumerate(chain)}
    found = np.zeros((len(chain), len(chain)))
    for state, out in chain.items():
        for following, rate in out.items():
            found[index[state], index[following]] += rate
            found[index[state], index[state]] -= rate
    return found


def flow(law: dict[State, float], counted: Callable[[State], float]) -> float:
    """Return E counted(state): with the rate at which something happens, how often it does."""
    return fsum(probability * counted(state) for state, probability in law.items())


@dataclass(frozen=True)
class Growth:
    """How something that is counted, or added up over time, grows with the time t.

    Its mean is ``rate``·t + ``offset`` but for what dies out with the chain's memory, its
    variance ``spread``·t at leading order.
    """

    rate: float
    offset: float
    spread: float


def growth(moves, start, held, largest=LARGEST):
    """Return how every count, and every integral over time, grows.

    With Q the rates, f what is counted per unit time in each state, and π the stationary law, the
    bias h solves Qh = πf − f with πh = 0: then E N_t → πf·t + h(start), and Var N_t/t tends to
    Σ π(x) r(x,y) (m² + 2 m h(y)) over moves that count m at rate r, and to 2π(fh) for an integral
    (Asmussen, Applied Probability and Queues, 2nd ed., sections I.7 and II.4).

    Parameters
    ----------
    moves : callable
        State to triples (rate, next state, what is counted); moves back to the state itself count.
    start : mapping
        Probabilities of the states at time 0.
    held : callable
        State to what is added up over the time spent in it.
    largest : int
        Most states allowed.
    """
    first = next(iter(start))
    chain = explore(lambda state: ((r, y) for r, y, _ in moves(state)), first, largest)
    law = stationary(lambda state: ((r, y) for y, r in chain[state].items()), first, largest)
    index = {state: i for i, state in enumerate(chain)}
    pi = np.array([law[state] for state in chain])
    counts: dict[str, list[tuple[int, int, float, float]]] = {}
    sums: dict[str, np.ndarray] = {}
    for x, state in enumerate(chain):
        for rate, following, marks in moves(state):
            for name, amount in marks.items():
                counts.setdefault(name, []).append((x, index[following], rate, amount))
        for name, amount in held(state).items():
            sums.setdefault(name, np.zeros(len(chain)))[x] = amount
    shifted = _generator(chain) - pi  # Q − 1π, regular
    begin = np.array([start.get(state, 0.0) for state in chain])
    names = [*counts, *sums]
    per_time = np.zeros((len(names), len(chain)))
    for f, name in zip(per_time, names, strict=True):
        f += sums.get(name, 0.0)
        for x, _, rate, amount in counts.get(name, ()):
            f[x] += rate * amount
    bias = np.linalg.solve(shifted, per_time @ pi - per_time.T).T
    found = {}
    for name, f, h in zip(names, per_time, bias, strict=True):
        spread = 2 * pi @ (f * h) if name in sums else 0.0
        for x, y, rate, amount in counts.get(name, ()):
            spread += pi[x] * rate * amount * (amount + 2 * h[y])
        found[name] = Growth(float(pi @ f), float(begin @ h), float(spread))
    return found
