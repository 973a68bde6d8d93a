"""``docs/verification.md`` and its table of oracles, from the results and the marks of tests."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from asyncdp_sim.core.specification import members
from tests import tables
from tests.conformance.members import FAMILIES
from tests.markdown_tables import table
from tests.nightly.kept import FOLDER, Found, kept
from tests.nightly.parts import PARTS, about_no_kind
from tests.nightly.reports import ROOT
from tests.oracles import Oracle, oracles
from tests.versions.matrix import OF_LINT

PAGE = ROOT / "docs" / "verification.md"
ORACLES = ROOT / "docs" / "verification" / "oracles.md"
NONE = "–"
TABLE = tables.table(__file__, "page.toml")
HEAD = TABLE["head"]
ORACLE_HEAD = TABLE["oracle_head"]


class Score(NamedTuple):
    """A score as a test told it; its fields are those of ``tests.verification.zscores.Score``."""

    name: str
    mean: float
    exact: float
    z: float
    error: float


def pages(folder: Path = FOLDER) -> dict[Path, str]:
    """Return the text of each page, from the results in a folder."""
    found = {name: kept(name, folder) for name in PARTS}
    blocks = [
        HEAD,
        "## When\n" + _table(WHEN, _runs(found)),
        "## Oracles and mutants",
        f"{_spread(found['oracles'])}\n\n{_noticed(found['mutants'])}\n",
        "## Hostile and random inputs\n" + _fuzz(found["fuzz"]),
        "## Versions\n" + _versions(found["versions"]),
        "## What is not covered\n" + _listed(not_covered(found)),
    ]
    return {PAGE: "\n".join(blocks), ORACLES: f"{ORACLE_HEAD}\n{_oracles(found['oracles'])}"}


def newest(folder: Path = FOLDER) -> str:
    """Return the newest date of all that is kept; a dash where nothing is."""
    return max((d for name in PARTS for d in _all(kept(name, folder), "date")), default=NONE)


def _table(head: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    return table([*map(_cell, head)], ([*map(_cell, row)] for row in rows)) + "\n"


def _cell(value: object) -> str:
    said = f"{value:.4g}" if isinstance(value, float) else str(value)
    return said.replace("|", "\\|").replace("\n", " ")


def _listed(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _all(found: Mapping[str, Found], key: str) -> list[str]:
    """Return the different values that items have, in order."""
    return sorted({str(each[key]) for each in found.values()})


WHEN = ("part", "items run", "dates", "commits", "seeds", "hours")


def _runs(found: Mapping[str, Mapping[str, Found]]) -> Iterator[Sequence[object]]:
    for name, part in PARTS.items():
        items = {item: each for item in part.items() if (each := found[name].get(item)) is not None}
        count = f"{len(items)} of {len(part.items())}"
        spans = (_span(_all(items, key), key) for key in ("date", "commit", "seed"))
        hours = sum(each["seconds"] for each in items.values()) / 3600
        yield name, count, *spans, f"{hours:.2f}"


def _span(values: Sequence[str], noun: str) -> str:
    """Return the only value, or the first and the last of dates, or the number of others."""
    if len(values) < 2:
        return values[0] if len(values) == 1 else NONE
    return f"{values[0]} to {values[-1]}" if noun == "date" else f"{len(values)} {noun}s"


ORACLE = ("what", "must equal", "tests", "scores", "largest z")


def _spread(found: Mapping[str, Found]) -> str:
    """Return how far all scores are from their predictions."""
    everything = [s for each in found.values() for s in _scores(each, each["scores"])]
    spread = f"{rms(everything):.3f}" if len(everything) > 0 else NONE
    most = max((abs(each.z) for each in everything), default=np.nan)
    failed = sorted({test for each in found.values() for test in each["failed"]})
    return (
        f"RMS z of all {len(everything)} scores: {spread}; the largest |z| is {most:.2f}. "
        f"{len(failed)} tests failed.\n{_listed([f'failed: `{test}`' for test in failed])}"
    )


def _oracles(found: Mapping[str, Found]) -> str:
    families = {kind.__name__: name for name in FAMILIES for kind in members(FAMILIES[name])}
    sections = dict[str, list[Oracle]]()
    for oracle in oracles():
        sections.setdefault(families[oracle.kinds[0]], []).append(oracle)
    return "\n".join(
        f"## {family}\n{_table(ORACLE, (_oracle(each, found) for each in section))}"
        for family, section in sections.items()
    )


def rms(scores: Sequence[Score]) -> float:
    """Return the root mean square of z."""
    return float(np.sqrt(np.mean(np.square([each.z for each in scores]))))


def _oracle(oracle: Oracle, found: Mapping[str, Found]) -> Sequence[object]:
    files = dict.fromkeys(test.partition("::")[0] for test in oracle.tests)
    if any(file not in found for file in files):
        return oracle.statistic, oracle.formula, "not run", *[NONE] * (len(ORACLE) - 3)
    runs = [found[file] for file in files]
    held = [t for each in runs for t in (*each["passed"], *each["failed"]) if _is_of(t, oracle)]
    off = [test for each in runs for test in each["failed"] if _is_of(test, oracle)]
    scores = [s for each in runs for s in _scores(each, held)]
    worst = max(scores, key=lambda each: abs(each.z), default=None)
    passed = f"{len(held)}" if len(off) == 0 else f"{len(off)} of {len(held)} FAILED"
    new = set(oracle.tests) - {test.partition("[")[0] for test in held}
    if len(new) > 0:  # since its file was run at night
        passed += f", {len(new)} not run"
    z = NONE if worst is None else f"{worst.z:+.2f} ± {worst.error:.2%}"
    return oracle.statistic, oracle.formula, passed, len(scores) or NONE, z


def _is_of(test: str, oracle: Oracle) -> bool:
    """Return whether a test that ran is one of an oracle's, whatever its parameters."""
    file, _, function = test.partition("[")[0].partition("::")
    named = any(test.partition("[")[0] == each for each in oracle.tests)
    fresh = function.startswith("test_fresh_seeds")
    return named or (fresh and any(each.startswith(f"{file}::") for each in oracle.tests))


def _scores(found: Found, tests: Sequence[str]) -> list[Score]:
    return [Score(*each) for test in tests for each in found["scores"].get(test, ())]


def _noticed(found: Mapping[str, Found]) -> str:
    """Return how many mistakes are planted and noticed, and those that are not."""
    planted = PARTS["mutants"].items()
    run = [name for name in planted if name in found]
    survived = [name for name in run if found[name]["noticed_by"] is None]
    caught = "all" if len(survived) == 0 else f"{len(run) - len(survived)} of these"
    count = (
        f"Of {len(planted)} mutants, {len(run)} were run; tests caught {caught} {len(run)}. "
        f"{len(planted) - len(run)} were not run.\n"
    )
    return count + _listed([f"survived: {name}" for name in survived])


def _fuzz(found: Mapping[str, Found]) -> str:
    tests = {test: each for file in found.values() for test, each in file["tests"].items()}
    tried, escaped = (sum(each[key] for each in tests.values()) for key in ("tried", "escapes"))
    files = dict[str, int]()
    for test, each in tests.items():
        file = f"`{test.partition('::')[0]}`"
        files[file] = files.get(file, 0) + each["tried"]
    failed = [f"failed: `{test}`" for test, each in tests.items() if each["outcome"] != "passed"]
    return "\n".join([
        f"Of {tried} inputs, {escaped or 'none'} crashed or was wrongly accepted.\n",
        _listed(failed) + _table(("tests", "inputs"), iter(files.items())),
    ])  # fmt: skip


SUITES = TABLE["suites"]


def _versions(found: Mapping[str, Found]) -> str:
    rows = ((name, *_suite(found.get(name))) for name in PARTS["versions"].items())
    commits = {each["commit"] for each in found.values()}
    why = "" if len(commits) < 2 else SUITES
    return why + _table(("environment", "date", "commit", "how the suite ended"), rows)


def _suite(found: Found | None) -> Sequence[str]:
    if found is None:
        return NONE, NONE, "not run"
    return found["date"], found["commit"], found["said"]


def not_covered(found: Mapping[str, Mapping[str, Found]]) -> list[str]:
    """Return what this page does not show, a line each."""
    said = []
    for name, part in PARTS.items():
        missing = [item for item in part.items() if item not in found[name]]
        if len(missing) > 0:
            said.append(f"{name}, not run: {_few(missing)}")
    for name, each in found["versions"].items():
        if each["passed"] is None:
            said.append(f"{name}: {each['said']}")
    said.append(f"not run on other versions, because their tools are pinned: {OF_LINT}")
    fixed = [each.statistic for each in oracles() if _fixed(each, found["oracles"])]
    said.append(f"oracles with scores of fixed seeds only: {_few(fixed)}")
    near = [each.statistic for each in oracles() if each.basis != "exact"]
    said.append(f"compared with an approximation or a replay, not an exact value: {_few(near)}")
    said.append(f"tested, but not listed for any kind: {_few(about_no_kind())}")
    return said


def _fixed(oracle: Oracle, found: Mapping[str, Found]) -> bool:
    """Return whether an oracle has scores, and no test with fresh seeds."""
    runs = [found[f] for f in {t.partition("::")[0] for t in oracle.tests} if f in found]
    held = [t for each in runs for t in each["scores"] if _is_of(t, oracle)]
    return len(held) > 0 and not any("::test_fresh_seeds" in test for test in held)


def _few(names: Sequence[str], most: int = 4) -> str:
    more = f"; and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more if len(names) > 0 else "none"
