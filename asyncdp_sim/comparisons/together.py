"""Two results published together: what they cost the records that both have read."""

from math import inf, isfinite

from asyncdp_sim.opened import Result
from asyncdp_sim.privacy.label import (
    epsilons,
    is_at_least,
    is_epsilon_shown,
    n_replicates,
    stated_delta,
    stream,
    true_epsilon,
)
from asyncdp_sim.words import number


def together(first: Result, second: Result) -> str:
    """Return in words what publishing two results costs, beyond what each label says."""
    if not same_records(first, second):
        return "the two results read different records, as far as their manifests say"
    pair = (first.manifest, second.manifest)
    costs = [true_epsilon(each) for each in pair]
    if not all(map(is_epsilon_shown, pair)):
        return "the same records: what both cost together is not shown, as for one of them alone"
    if not all(map(isfinite, costs)):
        return "the same records: no finite ε holds for both together, as for one of them alone"
    one = " + ".join(map(number, costs))
    counts = [n_replicates(each) for each in pair]
    least = "at least" if any(map(is_at_least, pair)) else "at most"
    cost = f"{least} ε = {one} = {number(sum(costs))} for a replicate of each"
    if max(counts) > 1:
        total = sum(count * value for count, value in zip(counts, costs, strict=True))
        cost += f", {number(total)} for all"
    if any((stated_delta(each) or 0) > 0 for each in pair):
        cost += "; every δ adds up likewise"
    if stream(pair[0]) == stream(pair[1]) and all(min(epsilons(each)) < inf for each in pair):
        return (
            "the same records and the same noise (one seed): together not private, whatever each "
            f"is; with noise of their own, publishing both would cost the sum, {cost}"
        )
    return f"the same records: publishing both costs the sum, {cost}"


def same_records(first: Result, second: Result) -> bool:
    """Return whether two results read the same table, or records drawn from the same seed.

    Owners who are left out, and columns or rows, may differ: some records are the same.
    """
    ours, theirs = first.scenario["data"], second.scenario["data"]
    if "sha256" in ours or "sha256" in theirs:
        return bool(ours.get("sha256") == theirs.get("sha256"))
    return bool(ours == theirs and first.manifest["seed"] == second.manifest["seed"])
