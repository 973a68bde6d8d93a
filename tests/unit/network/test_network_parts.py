"""The network's parts, its own and from outside: promises, digests, and what does not fit."""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Kernel, Priority, Processor
from asyncdp_sim.core.specification import Spec, parse
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Intervals
from asyncdp_sim.network.clocks import DeterministicClock
from asyncdp_sim.network.graphs import EdgeFile, GossipGraph
from asyncdp_sim.network.laws import Constant, Exponential, Law
from asyncdp_sim.network.protocols import Dispatch, Gossip
from asyncdp_sim.network.protocols.dispatch import Known, PolicyKind, ShortestQueue
from asyncdp_sim.network.spec import Latency, Payload
from asyncdp_sim.network.topology import GraphFile
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown
from tests.conformance.members import FAMILIES, examples
from tests.ordering.scene import Scripted
from tests.tables import table
from tests.together import together
from tests.traces import network, traced

# The network's own parts: the spec, who is told of what, and what a clock promises.


def no_stream():
    raise AssertionError("this clock or law draws nothing")


def test_deterministic_ticks_are_multiples_never_accumulated():
    clock = DeterministicClock(rate=3.0, phase=(0.25, 0.0))
    ticks = list(islice(clock.ticks(0, no_stream, 1), 10**5))
    period = round(10**9 / 3)
    assert ticks[-1] == 250_000_000 + 10**5 * period
    assert next(clock.ticks(1, no_stream, 1)) == period


# Networks whose parts do not fit together, or make no sense: refused by name, in one line each.

CASES = table(__file__, "refused.toml")


def parsed(fields: dict[str, Any]) -> Network:
    return parse(Network, {key: None if x == "null" else x for key, x in fields.items()})


@together
@pytest.mark.parametrize("case", CASES["refused"], ids=str)
def test_it_is_refused_in_a_line(case):
    with pytest.raises(SpecError) as refused:
        parsed(CASES["of"][case["of"]] | case["with"])
    [fault] = refused.value.faults
    assert str(fault).startswith(case["said"])


@pytest.mark.parametrize("name", ["crowd", "gossip", "rounds", "servers", "three"])
def test_nothing_is_refused_of_the_networks_themselves(name):
    parsed(CASES["of"][name])


# Files of networks that say what cannot be: each with the lines that are said of it.
#
# In ``wrong_files.txt`` a case begins with the section that reads the file, its name, the number of
# owners and other fields of the section; below ``<<<`` stands what is said.

READERS = {"topology": GraphFile, "availability": Intervals, "graph": EdgeFile}
_, *FILES_AND_LINES = Path(__file__).with_name("wrong_files.txt").read_text("utf-8").split(">>> ")


@pytest.mark.parametrize("case", FILES_AND_LINES, ids=lambda case: case.splitlines()[-1][:60])
def test_what_is_wrong_with_a_file_is_a_line_each(case, tmp_path):
    head, text = case.split("\n", 1)
    section, name, owners, fields = head.split(" ", 3)
    content, said = text.split("<<<\n")
    (tmp_path / name).write_text(content, encoding="utf-8")
    spec = READERS[section](path=str(tmp_path / name)).model_copy(update=json.loads(fields))
    faults = [str(fault).replace(f"{tmp_path}/", "") for fault in spec.faults(int(owners))]
    assert faults == said.strip().splitlines()


# Networks whose runs end where a model is good enough: who must be asked, and their names.


def test_somebody_must_be_asked():
    asks = network(2, 2, updates=2, stops=True)
    with pytest.raises(ValueError, match="depends on the model: such a network needs a learning"):
        traced(asks)
    traced(asks, learning=Scripted())


def test_a_network_that_asks_nobody_keeps_its_name():
    plain = Network(answers_allowed=(20, 20), updates=20, compute=Exponential(mean=0.2))
    stops = plain.model_copy(update={"stops": True})
    assert plain.digest(1, 2) != stops.digest(1, 2)
    assert Network(answers_allowed=(2, 2), updates=2).digest(1, 10) == "7930cc71cafcf897"


# The network digest changes with every field, and with what files say, not with where they lie.
#
# Cells of a sweep share traces under it: a field that it forgets would give one network's traces to
# another.

PLAIN = Network(answers_allowed=(5, 5, 5), updates=7)
KINDS = ("clock", "availability", "channel", "protocol", "topology")
PARTS = {"compute": examples(Law)} | {name: examples(FAMILIES[name]) for name in KINDS}
GOSSIP = [Gossip(graph=graph) for graph in examples(GossipGraph)]
OF_FILES = "path"
ABSENT = {"retry": PARTS["compute"][0], "graph": GOSSIP[0].graph, "policy": ShortestQueue()}
"""What may stand where a member of a family is absent."""


def networks() -> Iterator[Network]:
    """A network around each example of each family; they need not make sense, only be named."""
    yield PLAIN
    yield PLAIN.model_copy(update={"latency": Latency(answer=examples(Law)[0]), "until": 3.0})
    for name, parts in [*PARTS.items(), ("protocol", GOSSIP)]:
        for part in parts:
            yield PLAIN.model_copy(update={name: part})


def other(value: Any) -> Any:
    """Another value in place of this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value is None:
        return 1
    return f"{value}x" if isinstance(value, str) else (*value, 1)


def changed(spec: Spec, where: str = "") -> Iterator[tuple[str, Spec]]:
    """Yield a spec once for each field in it, however deep, with another value there."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if isinstance(value, Spec):
            for deeper, part in changed(value, f"{where}{name}."):
                yield deeper, spec.model_copy(update={name: part})
        elif name not in (OF_FILES, "kind", "topology"):
            another = ABSENT.get(name) if value is None else None
            another = other(value) if another is None else another
            yield f"{where}{name}", spec.model_copy(update={name: another})


@pytest.mark.filterwarnings("ignore:Pydantic serializer")
def test_every_field_of_every_part_counts():
    seen = set()
    for each in networks():
        before = each.digest(1, 2)
        for field, another in changed(each):
            assert another.digest(1, 2) != before, field
            seen.add(field)
    plain = {*Network.model_fields} - PARTS.keys() - {"latency", "payload"}
    assert plain | {f"payload.{name}" for name in Payload.model_fields} <= seen
    assert len(seen) > 60


def holder(part: Any) -> Any:
    """Return what may have a file: the part, or the graph within it."""
    return getattr(part, "graph", part)


FILED = [
    pytest.param(name, part, id=Path(holder(part).path).name)
    for name, parts in [*PARTS.items(), ("protocol", GOSSIP)]
    for part in parts
    if getattr(holder(part), OF_FILES, None) is not None
]


@pytest.mark.parametrize(("name", "part"), FILED)
def test_a_file_counts_by_what_it_says(name, part, tmp_path):
    def digest(place: str, more: bytes) -> str:
        file = (tmp_path / place).with_suffix(Path(holder(part).path).suffix)
        file.write_bytes(Path(holder(part).path).read_bytes() + more)
        there = holder(part).model_copy(update={OF_FILES: str(file)})
        inner = there if holder(part) is part else part.model_copy(update={"graph": there})
        return PLAIN.model_copy(update={name: inner}).digest(1, 2)

    kept = PLAIN.model_copy(update={name: part}).digest(1, 2)
    assert digest("moved", b"") == kept != digest("edited", b"\n")


def test_each_kind_of_file_is_among_them():
    kinds = {name for name, _ in (each.values for each in FILED)}
    assert kinds == {"availability", "compute", "topology", "protocol"}


# Policies from outside: what they are told, what they may answer, what is known of them.

TOLD: list[Known] = []


class Told(PolicyKind):
    """Asks the last owner that is free, and keeps what it was told."""

    kind: Literal["told"] = "told"

    def choose(self, known, draws):  # noqa: ARG002
        TOLD.append(known)
        return known.free[-1]

    def describe(self) -> str:
        return "that are last"


class Says(Told):
    """Answers what it is set to."""

    kind: Literal["says"] = "says"
    answer: Any = 1

    def choose(self, known, draws):  # noqa: ARG002
        return self.answer


SECONDS = (Constant(value=1.0), Constant(value=2.0))


def dispatching(policy: PolicyKind, tasks: int = 2, allowed: int = 2) -> Network:
    protocol = Dispatch(tasks=tasks, policy=policy)
    return network(2, allowed, updates=4, compute=SECONDS, protocol=protocol)


def test_it_is_told_what_the_learner_knows():
    TOLD.clear()
    trace = traced(dispatching(Told()))
    assert [
        Known(0, 0, (0, 0), (0, 0), (1, 2)),
        Known(0, 0, (0, 1), (0, 0), (1, 2)),
        # owner 2 may answer twice: at 2 and at 4 it has, and what is next is owner 1's
        Known(1, 2, (0, 1), (0, 1), (1,)),
        Known(2, 1, (0, 1), (1, 1), (1,)),
    ] == TOLD
    assert trace.updates["owner"].tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("answer", [0, 3, "1", None, [1], 1.5])
def test_an_owner_that_may_not_be_asked_is_refused_in_words(answer):
    with pytest.raises(SpecError) as error:
        traced(dispatching(Says(answer=answer)))
    [line] = error.value.lines()
    assert line.startswith(f"protocol.policy: given {answer!r} by says; allowed is an owner that")


def test_an_owner_whose_budget_is_promised_is_refused():
    with pytest.raises(SpecError, match="given 1 by says; allowed is an owner that may be asked"):
        traced(dispatching(Says(answer=1), tasks=3))


def test_the_next_task_goes_back_to_its_owner_whether_it_answered_or_failed():
    (line,) = Dispatch(tasks=2, to="same").describe(dispatching(ShortestQueue()), "at once", 0.0)
    assert line == "network: 2 tasks at a time, to the owner whose task has just ended, at once"


def test_nothing_is_predicted_of_whom_it_asks():
    net = dispatching(ShortestQueue(), allowed=99)
    found = predicted(net, "throughput")
    assert isinstance(found, Unknown)
    assert "policy shortest-queue chooses which owners to ask" in found.reason
    assert isinstance(shares(net), Unknown)


# A shared processor, against one that goes from job to job tick by tick.


def ends(jobs):
    """Return when each job (arrival, ticks) ends."""
    kernel, found = Kernel(), {}
    processor = Processor(kernel)

    def job(number, tick, ticks):
        yield tick, Priority.QUERY_ARRIVES
        yield from processor.work(ticks)
        found[number] = kernel.tick

    for number, each in enumerate(jobs):
        kernel.start(job(number, *each))
    kernel.run_before()
    return [found[number] for number in range(len(jobs))]


def one_tick_after_another(jobs):
    """Return the same, by a tick of work at a time."""
    found, line, place, tick = [tick for tick, _ in jobs], [], 0, 0
    left = [ticks for _, ticks in jobs]
    while any(left):
        place = 0 if place >= len(line) else place  # who comes now has its first tick last
        line += [n for n, (came, ticks) in enumerate(jobs) if came == tick and ticks > 0]
        tick += 1
        if len(line) == 0:
            continue
        number = line[place]
        left[number] -= 1
        if left[number] == 0:
            found[number] = tick
            line.remove(number)
        else:
            place += 1
    return found


def drawn(seed, count=12):
    numbers = random.Random(seed)
    return [(numbers.randrange(40), numbers.randrange(9)) for _ in range(count)]


def test_it_goes_from_job_to_job_tick_by_tick():
    for seed in range(300):
        jobs = sorted(drawn(seed))
        assert ends(jobs) == one_tick_after_another(jobs)


def test_no_work_is_lost_or_made():
    """While there is any, each tick of time does one of work."""
    for seed in range(300):
        jobs = sorted((tick // 4, ticks * 10**9 + 7) for tick, ticks in drawn(seed))
        assert max(ends(jobs)) - jobs[0][0] == sum(ticks for _, ticks in jobs)


def test_jobs_that_come_together_share_its_speed():
    assert ends([(0, 1000)] * 4) == [3997, 3998, 3999, 4000]
    assert ends([(0, 1000), (500, 1000)]) == [1499, 2000]
    assert ends([(5, 0), (5, 3)]) == [5, 8]
