"""Scenario files, tables, graphs, times online and command lines with mistakes in them.

Each ends with exit 0, 2, 3 or 4 and a line, in bounded time and memory.
"""

import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from asyncdp_sim.cli import COMMANDS
from asyncdp_sim.privacy.mechanisms import Mechanism
from tests.bad_input.damage import Words, damaged, ended, little_memory
from tests.cli.command import Command
from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.conformance.members import examples
from tests.fresh import fresh_seed, none_escapes

CATALOGUE = Path(__file__).parents[2] / "asyncdp_sim" / "catalogue"
EXAMPLES = Path(__file__).parents[2] / "asyncdp_sim" / "network" / "examples"
FEW = ("--set", "run.updates=3", "--set", "run.replicates=1")
NUMBERS = ("0", "-1", "1", "2", "1e-9", "1e9", "1e300", "inf", "nan", "2147483648", "[]", '"x"')
OPTIONS = (
    "--out", "--set", "--seed", "--replicates", "--workers", "--only", "--without", "--events",
    "--status", "--json", "--allow-code", "--target", "--public", "--epsilon", "--diff", "--fit",
    "--most-rows", "--version", "--help", "-o", "--thorough", "--tune", "--name", "--",
)  # fmt: skip
WORDS = (
    "small.toml", "t.csv", "nowhere", ".", "", "é\u202e", "-1", "1e999", "\x1b[2J", "a=b",
    "run.seed=7", "privacy.epsilon=[", "lending-sound", "0", "data.path=t.csv", "x" * 5000, "trace",
    "privacy.ε=1",
)  # fmt: skip
Trial = Callable[[random.Random], Words]


def network_of(kind: str, path: str) -> str:
    return f'{SMALL}\n[{kind}]\nkind = "{"file" if kind == "topology" else "intervals"}"\n' + (
        f'path = "{path}"\n'
    )


FILES = {"small.toml": SMALL, "table.toml": ON_A_TABLE}


@pytest.fixture
def here(here: Path) -> Path:
    rates(here / "whole.csv")
    shutil.copy("whole.csv", "t.csv")
    shutil.copy("whole.csv", "rates.csv")
    for name in ("online.csv", "links.csv", "edges.csv", "pings.csv"):
        shutil.copy(EXAMPLES / name, f"whole-{name}")
    (here / "topology.toml").write_text(network_of("topology", "g.graphml"), encoding="utf-8")
    (here / "online.toml").write_text(network_of("availability", "online.csv"), encoding="utf-8")
    graph = nx.Graph()
    graph.add_edges_from([("learner", "1"), ("learner", "2"), ("2", "3")], latency=0.1)
    nx.write_graphml(graph, "whole.graphml")
    return here


def a_scenario(draw: random.Random) -> Words:
    """Change a scenario file of the catalogue, or a small one that is run too."""
    small = draw.random() < 0.5
    text = draw.choice((SMALL, SWEEP)) if small else _published(draw)
    for _ in range(draw.choice((1, 1, 1, 3))):
        text = _numbers(text, draw) if draw.random() < 0.4 else _damaged(text, draw)
    Path("mutated.toml").write_text(text, encoding="utf-8")
    verb = draw.choice(("check", "check", "run" if small else "check"))
    out = ("--out", f"out-{draw.randrange(10**12)}", *FEW) if verb == "run" else ()
    return (verb, "mutated.toml", *out)


def _published(draw: random.Random) -> str:
    return draw.choice(sorted(CATALOGUE.glob("*.toml"))).read_text(encoding="utf-8")


def _damaged(text: str, draw: random.Random) -> str:
    return damaged(text.encode(), draw, text=True).decode("utf-8", "replace")


def _numbers(text: str, draw: random.Random) -> str:
    """Put another number or value in the place of one."""
    found = draw.choice(list(re.finditer(r"(?<=[=\[,] )-?\d[\d.e+-]*", text)) or [None])
    if found is None:
        return text
    return text[: found.start()] + draw.choice(NUMBERS) + text[found.end() :]


def a_table(draw: random.Random) -> Words:
    """Change a table."""
    Path("rates.csv").write_bytes(damaged(Path("whole.csv").read_bytes(), draw, text=True))
    if draw.random() < 0.5:
        return ("data", "rates.csv", "--target", "rate", "--public", "10")
    return ("check", "table.toml")


def a_graph(draw: random.Random) -> Words:
    """Change a GraphML."""
    Path("g.graphml").write_bytes(damaged(Path("whole.graphml").read_bytes(), draw, text=True))
    return ("check", "topology.toml")


def times_online(draw: random.Random) -> Words:
    """Change a table of times online."""
    whole = Path("whole-online.csv").read_bytes()
    Path("online.csv").write_bytes(damaged(whole, draw, text=True))
    return ("check", "online.toml")


def a_trace(draw: random.Random) -> Words:
    """Read a table of anything else as what others measured."""
    name = draw.choice(("whole-online.csv", "whole-pings.csv", "whole.csv", "whole.graphml"))
    Path("t.csv").write_bytes(damaged(Path(name).read_bytes(), draw, text=True))
    out = f"o-{draw.randrange(10**12)}.{draw.choice(('csv', 'toml'))}"
    return ("import", draw.choice(("flash", "trace", "exchanges")), "t.csv", "--fit", "-o", out)


def a_command_line(draw: random.Random) -> Words:
    """Put a command line together at random; its results are small."""
    verb = draw.choice([*COMMANDS, "", "nothing", "--version"])
    words = [draw.choice((*OPTIONS, *WORDS)) for _ in range(draw.randrange(6))]
    briefly = verb in ("run", "sweep", "check", "forecast")
    small = ("small.toml", *FEW)[: draw.choice((0, 1, 5))] if briefly else ()
    if verb == "audit":  # whole attacks on what the catalogue has take minutes
        words = [word for word in words if word != "lending-sound"]
    return (verb, *small, *words)


TRIALS: dict[Trial, tuple[int, int]] = {
    a_scenario: (60, 10_000),
    a_table: (20, 1_000),
    a_graph: (20, 1_000),
    times_online: (20, 1_000),
    a_trace: (20, 1_000),
    a_command_line: (60, 3_000),
}
"""How many of each are tried, by default and nightly."""


def escapes(command: Command, trial: Trial, count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    found = []
    with little_memory():
        for number in range(count):
            words = trial(draw)
            said = ended(command, words)
            if said is not None:
                found.append(f"{number}: {' '.join(words)[:300]}: {said}")
                if Path("mutated.toml").exists():
                    shutil.copy("mutated.toml", f"escape-{number}.toml")
    return found


@pytest.mark.long
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.__name__)
def test_few(trial, command):
    assert escapes(command, trial, TRIALS[trial][0], 1) == []


@pytest.mark.nightly
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.__name__)
def test_many(trial, command, record_property):
    tried = TRIALS[trial][1]
    none_escapes(record_property, tried, escapes(command, trial, tried, fresh_seed()))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("clock.cv=1e9", "≤ 100"),
        ("clock.cv=1e-320", "≥ 1e-06"),
        ("compute.cv=1e300", "≤ 1e+06"),
        ("compute.cv=1e-320", "≥ 1e-06"),
    ],
)
def test_a_number_with_which_clocks_stand_still_is_refused(setting, allowed, command):
    """Found at night: gaps of less than a tick, without end; 1/cv² that is no number."""
    key = setting.partition("=")[0]
    for verb in ("check", "run"):
        said = command.refused(verb, "small.toml", "--set", setting)
        assert key in said
        assert said.endswith(f"allowed is a number {allowed}")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("cv", ["1e-6", "100"])
def test_clocks_at_the_ends_of_what_is_allowed_run(cv, command):
    command.done("run", "small.toml", "--out", "ends", "--set", f"clock.cv={cv}", *FEW)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("epsilon", ["1e-320", "1e-300", "1e-100", "1e-30", "1e-15", "1e-9"])
@pytest.mark.parametrize("kind", [each.kind for each in examples(Mechanism) if not each.exact])
def test_an_epsilon_that_asks_for_more_noise_than_numbers_hold_is_told_or_runs(
    kind, epsilon, command
):
    settings = (f"privacy.mechanism={kind}", f"privacy.epsilon={epsilon}", "privacy.delta=1e-6")
    sets = [word for setting in settings for word in ("--set", setting)]
    for verb in ("check", "run"):
        assert ended(command, (verb, "small.toml", *sets, *FEW)) is None
