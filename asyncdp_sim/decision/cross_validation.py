"""Gains judged on rows that nothing was trained on: the owner's own in turn, or fresh ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.decision import gain
from asyncdp_sim.decision.adapted import STRENGTHS, JointModels, LinearModels, pulled
from asyncdp_sim.decision.predictors import FINITE, OWN, OwnModels, Uses, boosts, fitted, least
from asyncdp_sim.decision.rows import OwnRows

FOLDS = 5
"""Parts into which an owner's persons are divided."""
REPEATS = 10
"""How often they are divided anew."""
FEW_REPEATS = 2
"""The same of classes, and where boosting is among the own models: these fits take their time."""

REDRAWS = 40
"""Weightings of an owner's persons, each of which chooses models anew: what other rows choose."""

JointOfFolds = Sequence[Sequence[JointModels]]
"""Joint models of each fold of each division, which have not seen this fold."""


def folds(rows: OwnRows, count: int, generator: np.random.Generator) -> list[Ints]:
    """Return the places of rows of each fold; rows of one person are in one.

    Persons come in a random order, those with most rows first, each into the smallest fold.
    """
    _, persons = np.unique(rows.persons, return_inverse=True)
    sizes = np.bincount(persons)
    count = min(count, len(sizes))
    order = generator.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of, filled = np.zeros(len(sizes), dtype=np.int64), np.zeros(count)
    for person in order:
        fold_of[person] = np.argmin(filled)
        filled[fold_of[person]] += sizes[person]
    return [np.flatnonzero(fold_of[persons] == fold) for fold in range(count)]


def latest(rows: OwnRows, share: float) -> list[Ints]:
    """Return one fold: the latest rows, about a share of all, of whole persons."""
    order = np.zeros(len(rows)) if rows.order is None else rows.order
    _, persons = np.unique(rows.persons, return_inverse=True)
    last = np.full(persons.max(initial=-1) + 1, -np.inf)
    np.maximum.at(last, persons, order)
    sizes, chosen = np.bincount(persons), np.zeros(len(last), dtype=np.bool_)
    filled = 0
    for person in np.argsort(-last, kind="stable")[: max(0, len(last) - 1)]:
        if filled >= round(share * len(rows)):
            break
        chosen[person] = True
        filled += int(sizes[person])
    return [np.flatnonzero(chosen[persons])]


@dataclass(eq=False)
class _Models:
    """Models fitted to all rows but some, each set once.

    Two folds are left out in two orders when models are chosen inside of training folds: what is
    fitted without both serves both.
    """

    rows: OwnRows
    sigma: float
    boosts: bool
    weights: Array
    kept: dict[bytes, OwnRows] = field(default_factory=dict)
    own: dict[bytes, OwnModels] = field(default_factory=dict)
    errors: dict[tuple[bytes, bytes, bool], Array] = field(default_factory=dict)
    used: dict[tuple[bytes, JointModels], tuple[JointModels, Uses]] = field(default_factory=dict)

    def training(self, out: Ints) -> OwnRows:
        """Return the rows but those at some places."""
        key = np.sort(out).tobytes()
        if key not in self.kept:
            self.kept[key] = self.rows.take(rest(len(self.rows), out))
        return self.kept[key]

    def compared(self, out: Ints, inner: list[Ints]) -> bool:
        """Return whether models were fitted without any of these folds, and not constants alone."""
        return any(self.training(np.concatenate([out, part])).trainable for part in inner)

    def without(self, out: Ints) -> OwnModels:
        """Return the own models of the rows but those at some places."""
        key = np.sort(out).tobytes()
        if key not in self.own:
            kept = self.training(out)
            self.own[key], _ = fitted(kept, self.sigma)
        return self.own[key]

    def own_errors(self, out: Ints, part: Ints, tested: OwnRows, *, boosted: bool = True) -> Array:
        """Return the errors (C, m) of these models on rows, those at ``part`` or fresh ones.

        Boosting is the last of them, and left out where nobody chose it: its fit takes most time.
        """
        boosted = boosted and self.boosts
        key = np.sort(out).tobytes(), part.tobytes(), boosted
        if key not in self.errors:
            scores = self.without(out).scores(tested.columns, boosted=boosted)
            self.errors[key] = tested.errors(scores)
        return self.errors[key]

    def forget(self) -> None:
        """Drop what was fitted; errors of own models stay, which are the same for other uses."""
        for cache in (self.kept, self.own, self.used):
            cache.clear()

    def uses(self, joint: JointModels, out: Ints) -> tuple[JointModels, Uses]:
        """Return joint models, whose scores are log-odds now, and their uses by the other rows."""
        key = np.sort(out).tobytes(), joint
        if key not in self.used:
            self.adapt([joint], out)
        return self.used[key]

    def adapt(self, joint: Sequence[JointModels], out: Ints) -> None:
        """Fit own models to the rows but some, and adapt sets of joint models, all together."""
        key = np.sort(out).tobytes()
        fair = [each.calibrated(self.rows, rest(len(self.rows), out)) for each in joint]
        near = self.without(out[:0]).path
        own, uses = fitted(self.training(out), self.sigma, fair, near)
        fair_uses = zip(fair, uses, strict=True)
        self.used |= {(key, each): both for each, both in zip(joint, fair_uses, strict=True)}
        self.own.setdefault(key, own)


def rest(count: int, out: Ints) -> Ints:
    """Return the places that are not among some."""
    kept = np.ones(count, dtype=np.bool_)
    kept[out] = False
    return np.flatnonzero(kept)


def weightings(rows: OwnRows, generator: np.random.Generator) -> Array:
    """Return weights (B, n) of rows, the first 1, the others exponential and one for each person.

    Choices under these weights are distributed as those of other rows (Rubin, "The Bayesian
    bootstrap", Annals of Statistics 9 (1981)).
    """
    _, persons = np.unique(rows.persons, return_inverse=True)
    drawn = generator.standard_exponential((REDRAWS, persons.max(initial=-1) + 1))
    return np.concatenate([np.ones((1, len(rows))), drawn[:, persons]])


@dataclass(frozen=True, eq=False)
class Scored:
    """Errors on rows that are judged: own (n,), guess (n,), joint and adapted (J, n).

    ``others`` (2, B, J) has own − adapted and own − joint of the models that each weighting
    chooses, summed over the judged rows.
    """

    own: Array
    guess: Array
    joint: Array
    adapted: Array
    others: Array
    best: str

    def of_set(self, place: int, sets: int) -> "Scored":
        """Return the same of one of several sets of joint models, of equal size."""
        size = len(self.joint) // sets
        chosen = slice(place * size, (place + 1) * size)
        return replace(
            self,
            joint=self.joint[chosen],
            adapted=self.adapted[chosen],
            others=self.others[..., chosen],
        )


def _chosen(models: _Models, joint: JointModels, out: Ints, inner: list[Ints]) -> tuple[Ints, Ints]:
    """Choose the own model and each joint model's strength by folds inside of the training rows.

    Parameters
    ----------
    models : _Models
    joint : JointModels
        Of all rows of ``models``.
    out : array
        Rows that are judged later, and have no say here.
    inner : list of array
        The folds of the others.

    Returns
    -------
    array (B,), array (B, J)
        Places of the models chosen under each weighting; of strengths that err alike the largest.
    """
    rows, own, used = models.rows, list[Array](), list[Array]()
    for part in inner:
        both = np.concatenate([out, part])
        tested, weights = rows.take(part), models.weights[:, part].T
        fair, uses = models.uses(joint, both)
        of_own = models.own_errors(both, part, tested)
        of_used = tested.errors(uses.scores(tested.columns, fair.scores[:, part]))
        with np.errstate(invalid="ignore"):  # a run may have diverged
            own.append(of_own @ weights)
            used.append(np.moveaxis(of_used @ weights, -1, 1))
    return least(np.sum(own, axis=0)), least(np.sum(used, axis=0))


def _score(
    models: _Models, joint: JointModels, out: Ints, inner: list[Ints], tested: OwnRows, as_is: Array
) -> Scored:
    """Fit to the rows but ``out``, as chosen inside of them, and judge on ``tested``."""
    _, uses = models.uses(joint, out)
    if uses.path is not None and not models.compared(out, inner):  # the constant is what they judge
        uses = Uses(None, models.training(out).constant())
    errors_used = tested.errors(uses.scores(tested.columns, as_is))
    constant, boosting = OWN.index("constant"), OWN.index("boosting")
    count = errors_used.shape[1]
    bests, strengths = np.full(1, constant), np.full((1, count), len(errors_used) - 1)
    if len(inner) > 1:  # else there is nothing to choose by
        bests, strengths = _chosen(models, joint, out, inner)
    errors_own = models.own_errors(out, out, tested, boosted=bool((bests == boosting).any()))
    adapted = np.take_along_axis(errors_used, strengths[:1, :, None], axis=0)[0]
    sums_own, sums_used = errors_own.sum(axis=-1), errors_used.sum(axis=-1)
    adapting = sums_own[bests][:, None] - sums_used[strengths, np.arange(count)]
    joining = sums_own[bests][:, None] - sums_used[-1]
    best = int(bests[0])
    return Scored(
        errors_own[best], errors_own[constant], errors_used[-1], adapted,
        np.stack([adapting, joining]), OWN[best],
    )  # fmt: skip


class CrossValidation:
    """Divisions of an owner's rows into folds, each of which is left out of training in turn.

    Own models are fitted once, whatever joint models they are compared with.

    Parameters
    ----------
    rows : OwnRows
        All rows of the owner. With ``order`` there is one division, and the latest fifth of the
        rows alone is judged.
    sigma : float
        σ of the scenario's model.
    generator : Generator
        Divides persons into folds.
    own_best : str
        "linear" leaves boosting out.
    repeats : int, optional
        R, how often persons are divided anew.

    Attributes
    ----------
    divisions : list of list of array
        Places of the rows of each fold.

    Notes
    -----
    The variance by rows is that of the mean paired difference v = Σ_g e_g² G/(G − 1)/n², the mean
    of it over repeats R, times 1/R + K/(K − 1): Nadeau and Bengio's 1/(KR) + n_test/n_train, for
    K folds of n/K rows each. With one split it is that of the judged rows, times
    1 + n_test/n_train.
    """

    def __init__(
        self,
        rows: OwnRows,
        sigma: float,
        generator: np.random.Generator,
        *,
        own_best: gain.OwnBest = "any",
        repeats: int | None = None,
    ) -> None:
        self.rows = rows
        boosted = boosts(rows, own_best)
        if repeats is None:
            repeats = FEW_REPEATS if boosted or rows.classes > 0 else REPEATS
        self._inner = list[Ints]()  # folds of the earlier rows, where rows have an order
        if rows.order is None:
            self.divisions = [folds(rows, FOLDS, generator) for _ in range(repeats)]
        else:
            self.divisions = [latest(rows, 1 / FOLDS)]
            kept = rest(len(rows), self.divisions[0][0])
            self._inner = [kept[part] for part in folds(rows.take(kept), FOLDS, generator)]
        weights = weightings(rows, generator)
        self._models = [_Models(rows, sigma, boosted, weights) for _ in self.divisions]

    def judge(
        self,
        joint: JointModels | JointOfFolds,
        *,
        records: int | None = None,
        material: float = gain.MATERIAL,
        sets: int = 1,
    ) -> list[gain.Gain]:
        """Return the gain by each of some sets of joint models, such as those of several budgets.

        They come set after set, of equal size. Models of all sets are adapted together, which takes
        least time.

        Parameters
        ----------
        joint : JointModels or sequence of sequence of JointModels
            Models that have seen none of the rows, such as those of substitutes; or those of each
            fold, which have not seen this fold. Those of one division are of other runs than those
            of another one. Scores are of all rows.
        records : int, optional
            n_i, which the mean by records weighs; the number of rows by default.
        material : float
            Share of the own error from which on a gain counts.
        sets : int
        """
        rows, parts, ordered = self.rows, self.divisions, self.rows.order is not None
        n_folds, n_last = len(parts[0]), sum(map(len, parts[0][:1]))
        records = len(rows) if records is None else records
        if n_last == 0 or n_folds + ordered < 2:
            return [gain.Gain(len(rows), records)] * sets
        scored = list[Scored]()
        same = [[joint] * n_folds] * len(parts) if isinstance(joint, JointModels) else joint
        for division, given, models in zip(parts, same, self._models, strict=True):
            if not isinstance(joint, JointModels) and len(division) > 2:
                for first, second in combinations(range(len(division)), 2):
                    both = np.concatenate([division[first], division[second]])
                    models.adapt([given[first], given[second]], both)
            of_folds = list[Scored]()
            for place, (out, of_fold) in enumerate(zip(division, given, strict=True)):
                others = [part for at, part in enumerate(division) if at != place]
                inner = self._inner if ordered else others
                as_is = models.uses(of_fold, out)[0].scores[:, out]
                of_folds.append(_score(models, of_fold, out, inner, rows.take(out), as_is))
            scored.append(_joined(of_folds, division))
        if ordered:
            factor = 1 + n_last / (len(rows) - n_last)
        else:  # fewer folds than FOLDS of fewer persons
            factor = 1 / len(parts) + n_folds / (n_folds - 1)
        persons = [rows.persons[np.concatenate(division)] for division in parts]
        rarer = (rows.take(parts[0][0]) if ordered else rows).rarer_persons
        return [
            _gain(
                [item.of_set(place, sets) for item in scored], persons, factor,
                given[0].redraw, len(rows), records, material, rarer,
                runs_differ=not isinstance(joint, JointModels),
            )
            for place in range(sets)
        ]  # fmt: skip

    def forget(self) -> None:
        """Drop fitted models; errors of own models stay, which serve other joint models, too."""
        for models in self._models:
            models.forget()


class FreshRows:
    """Rows that are trained on, and rows apart that judge; own models are fitted once.

    Parameters
    ----------
    rows : OwnRows
        Those that are trained on, n_i of them.
    fresh : OwnRows
        Held-out rows, or fresh ones of the owner's law.
    sigma, generator, own_best
        As of :class:`CrossValidation`.

    Notes
    -----
    The variance by rows is that of the mean paired difference over the judged rows, m of them,
    times 1 + m/n: the training rows are one draw, too.
    """

    def __init__(
        self,
        rows: OwnRows,
        fresh: OwnRows,
        sigma: float,
        generator: np.random.Generator,
        *,
        own_best: gain.OwnBest = "any",
    ) -> None:
        self._rows, self._fresh = rows, fresh
        self._inner = folds(rows, FOLDS, generator)
        weights = weightings(rows, generator)
        self._models = _Models(rows, sigma, boosts(rows, own_best), weights)

    def judge(
        self, joint: JointModels, as_is: Array, *, material: float = gain.MATERIAL, sets: int = 1
    ) -> list[gain.Gain]:
        """Return the gain by each of some sets of joint models, of equal size, set after set.

        Parameters
        ----------
        joint : JointModels
            With predictions of the rows that are trained on.
        as_is : array (J, m, S)
            Predictions of the fresh rows by these models.
        material : float
            Share of the own error from which on a gain counts.
        sets : int
        """
        rows, fresh = self._rows, self._fresh
        if len(rows) == 0 or len(fresh) == 0:
            return [gain.Gain(len(rows), len(rows))] * sets
        none = np.zeros(0, dtype=np.int64)
        if joint.margins:  # one sigmoid for rows and fresh ones
            scores = np.concatenate([joint.scores, as_is], axis=1)
            both = JointModels(scores, None, None, margins=True)
            as_is = both.calibrated(rows, np.arange(len(rows))).scores[:, len(rows) :]
        scored = _score(self._models, joint, none, self._inner, fresh, as_is)
        return [
            _gain(
                [scored.of_set(place, sets)], [fresh.persons], 1 + len(fresh) / len(rows),
                joint.redraw, len(rows), len(rows), material, fresh.rarer_persons,
            )
            for place in range(sets)
        ]  # fmt: skip


def _joined(found: list[Scored], places: list[Ints]) -> Scored:
    """Return the errors of all folds of a division, in the order of the folds."""
    names = [item.best for item, part in zip(found, places, strict=True) for _ in part]
    own, guess, joint, adapted = (
        np.concatenate([getattr(item, name) for item in found], axis=-1)
        for name in ("own", "guess", "joint", "adapted")
    )
    of_others = np.sum([item.others for item in found], axis=0)
    return Scored(own, guess, joint, adapted, of_others, max(sorted(set(names)), key=names.count))


def _gain(
    divisions: list[Scored],
    persons: list[Ints],
    factor: float,
    redraw: Ints | None,
    rows: int,
    records: int,
    material: float,
    rarer: int,
    *,
    runs_differ: bool = False,
) -> gain.Gain:
    """Return the gain by paired differences of errors, a division of the rows each.

    Joint models are the same in each division, or ``runs_differ``. The redraws that they learned
    from are the same in each set of joint models, so that the first ones are those of this set.
    """
    redraw = None if redraw is None else redraw[: len(divisions[0].joint)]
    own, guess, joint, adapted = (
        float(np.mean([getattr(item, name).mean() for item in divisions]))
        for name in ("own", "guess", "joint", "adapted")
    )
    estimates, kept = list[gain.Estimate](), list[tuple[float, float, Array]]()
    for place, name in enumerate(("adapted", "joint")):
        used = [getattr(item, name) for item in divisions]
        pairs = zip(divisions, used, strict=True)
        by_division = np.array([(item.own - errors).mean(axis=-1) for item, errors in pairs])
        by_run = by_division.ravel() if runs_differ else by_division.mean(axis=0)
        value = float(by_run.mean())
        if not np.isfinite(value):
            estimates.append(gain.Estimate(value))
            kept.append((0.0, np.inf, by_run))
            continue
        if abs(value) <= gain.ROUNDING * own and np.abs(by_run).max() <= gain.ROUNDING * own:
            value, by_run = 0.0, np.zeros_like(by_run)
        by_rows = [
            gain.of_rows(item.own - errors.mean(axis=0), whose, factor)
            for item, errors, whose in zip(divisions, used, persons, strict=True)
        ]
        variance, degrees = float(np.mean([v for v, _ in by_rows])), by_rows[0][1]
        chosen = [item.others[place].mean(axis=-1) / len(item.own) for item in divisions]
        # both are of other training rows: the larger one holds the smaller
        variance = max(variance, variance / factor + gain.of_choices(np.mean(chosen, axis=0)))
        if np.sqrt(variance) <= gain.ROUNDING * own:
            variance = 0.0
        few = min(degrees, rarer - 1.0)  # rows of one class show nothing of the others
        parts = (
            *(((variance, few),) if variance > 0 or few <= 0 else ()),
            *gain.of_runs(by_run, redraw),
        )
        estimates.append(gain.Estimate(value, parts))
        kept.append((variance, degrees, by_run))
    names = [item.best for item in divisions]
    return gain.Gain(
        rows=rows,
        records=records,
        own=own,
        joint=joint,
        adapted=adapted,
        guessing=guess,
        own_best=max(sorted(set(names)), key=names.count),
        gain=estimates[0],
        joint_gain=estimates[1],
        of_rows=kept[0][0],
        degrees=kept[0][1],
        by_run=kept[0][2],
        redraw=redraw,
        material=material * own,
        rarer=rarer,
    )


def adapted_model(
    rows: OwnRows, joint: JointModels, sigma: float, generator: np.random.Generator
) -> tuple[LinearModels, float]:
    """Return the first joint model adapted to all rows, and the strength that folds of them chose.

    It is the constant, of strength 0, where folds prefer that, and nothing else can be fitted.

    Parameters
    ----------
    rows, joint, sigma, generator
        As of :class:`CrossValidation`; the joint model is linear.
    """
    every, inner = np.arange(len(rows)), folds(rows, FOLDS, generator)
    fair = joint.calibrated(rows, every).linear
    if fair is None:
        raise ValueError("a model that is not linear is not adapted")
    models, none = _Models(rows, sigma, False, np.ones((1, len(rows)))), every[:0]
    place = len(FINITE)
    if len(inner) > 1:
        place = int(_chosen(models, joint, none, inner)[1][0, 0])
    if place == len(FINITE):
        return fair[:1], STRENGTHS[place]
    if not models.compared(none, inner):
        constant = rows.constant()[None]
        return LinearModels(np.zeros_like(fair.coefficients[:1]), constant), 0.0
    path = pulled(rows, sigma, fair.finite(rows.constant()), FINITE)
    return path[place, :1], STRENGTHS[place]
