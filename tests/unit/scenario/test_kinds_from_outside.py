"""Members of families that are not part of the package, and the example of dual averaging."""

import subprocess
import sys
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import TypeAdapter

from asyncdp_sim.core import plugins
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.plugins import Place
from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.network.channels import Aloha, Csma, Ideal
from asyncdp_sim.network.clocks import Clock, DeterministicClock, PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import dump, load, parse
from tests.cli.scenes import SMALL

# Members of families that are not part of the package, from Python and in other processes.

KINDS = Path(__file__).parents[3] / "docs" / "kinds"


class TwinClock(DeterministicClock):
    """Ticks as the deterministic clock does: its results must be the same."""

    kind: Literal["twin"] = "twin"


class TwinPush(Push):
    """Owners act as under push."""

    kind: Literal["twin-push"] = "twin-push"


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    return load(tmp_path / "small.toml")[0]


@pytest.fixture
def momentum():
    return executed(KINDS / "momentum.py", "Momentum").found()


def executed(file, name="Toy"):
    place = Place(str(file), name)
    place.execute()
    return place


def written(folder, text, name="kinds.py"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


CLASS = "class Toy:\n    pass\n"
SIZED = "class Toy:\n    size = 2\n"
UNNAMED = "def outer():\n    def inner(): pass\n    return inner\nmade, brief = outer(), lambda: 0"
PROGRAM = f"""
from asyncdp_sim.core.plugins import Place
print("begun")
{CLASS}
place = Place(__file__, "Toy")
place.execute()
place.execute()
print(place.found() is Toy)
"""


def curve(scenario, **how):
    return run(scenario, **how).learned.curve.tobytes()


def test_an_object_takes_the_place_of_a_part(scenario):
    clocks = TwinClock(rate=3.0), DeterministicClock(rate=3.0)
    ours, theirs = (scenario.replace(clock=clock) for clock in clocks)
    assert isinstance(ours.clock, TwinClock)
    assert ours.clock.outside
    assert not theirs.clock.outside
    assert curve(ours) == curve(theirs)
    assert ours.network.digest(1, 1) != theirs.network.digest(1, 1)


def test_algorithms_run_on_a_protocol_by_its_traits(scenario):
    assert curve(scenario.replace(protocol=TwinPush())) == curve(scenario.replace(protocol=Push()))
    with pytest.raises(SpecError, match="given 'twin-push'; algorithm collab-1 runs on rounds"):
        scenario.replace(protocol=TwinPush(), algorithm={"kind": "collab-1", "rho": 1.0})


def test_a_table_changes_what_it_names(scenario):
    changed = scenario.replace(privacy={"epsilon": 3.0, "sensitivity": {"bound": 2.0}}, title="t")
    assert (changed.privacy.epsilon, changed.privacy.sensitivity.bound) == (3.0, 2.0)
    assert changed.title == "t"
    before = {"privacy": {"epsilon": 1.0, "sensitivity": {"bound": 1.0}}, "title": scenario.title}
    assert changed.replace(**before) == scenario
    assert scenario.replace(clock={"kind": "poisson"}).clock == PoissonClock()
    twins = scenario.replace(clock=TwinClock(phase=0.5))
    assert twins.replace(clock={"rate": 2.0}).clock == TwinClock(rate=2.0, phase=0.5)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"clocks": PoissonClock()}, "clocks: given an unknown key 'clocks'; did you mean"),
        ({"privacy": {"epsilon": -1.0}}, "privacy.epsilon: given -1.0; allowed is a number > 0"),
        ({"privacy": {"epsilons": 1.0}}, "privacy.epsilons: given an unknown key"),
        ({"clock": NoTime()}, "clock.kind: given 'none'; allowed: "),
        ({"channel": TwinClock()}, "channel: given a TwinClock; allowed"),
        ({"clock": TwinClock(phase=(0.0, 1.0))}, "clock.phase: given 2 values; allowed is one"),
        ({"clock": TwinClock}, "clock.kind: given nothing"),
        ({"run": {"updates": 0}}, "run.updates: given 0; allowed is a whole number ≥ 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(scenario, parts, said):
    with pytest.raises(SpecError) as error:
        scenario.replace(**parts)
    [line] = error.value.lines()
    assert line.startswith(said)


def test_a_narrower_family_stays_narrow():
    narrow = TypeAdapter(Annotated[PoissonClock | DeterministicClock, FAMILY])
    assert narrow.validate_python(TwinClock()) == TwinClock()
    with pytest.raises(ValueError, match="saturated"):
        narrow.validate_python(SaturatedClock())


def test_nothing_is_executed_by_validation(tmp_path):
    file = written(tmp_path, "raise KeyboardInterrupt\n")
    with pytest.raises(SpecError, match=r"kind: given .*; allowed with --allow-code"):
        parse(Clock, {"kind": f"python:{file}:Toy"})


def test_a_class_of_no_file_runs_but_has_no_name(scenario, tmp_path):
    class Local(DeterministicClock):
        kind: Literal["local"] = "local"

    here = scenario.replace(clock=Local())
    assert curve(here) == curve(scenario.replace(clock=DeterministicClock()))
    assert "python:(no file):Local" in dump(here, tmp_path)
    with pytest.raises(SpecError, match="a result names the file of its kinds"):
        here.network.digest(1, 1)


def test_the_text_of_a_scenario_is_kept(tmp_path):
    scenario, _ = load(KINDS / "momentum.toml", allow_code=True)
    text = dump(scenario, tmp_path)
    again, _ = load(written(tmp_path, text, "again.toml"), allow_code=True)
    assert again == scenario
    assert dump(again, tmp_path) == text
    assert dump(scenario, KINDS).count('kind = "python:momentum.py:Momentum"') == 1


CHANNELS = [Ideal(loss=0.1), Aloha(airtime=0.05), Csma(airtime=0.05, propagation_delay=0.01)]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.kind)
@pytest.mark.parametrize("beta", [0.0, 0.6])
def test_an_algorithm_of_a_file_is_the_same_live_and_replayed(scenario, momentum, channel, beta):
    ours = momentum(step=0.01, momentum=beta)
    each = scenario.replace(algorithm=ours, channel=channel, run={"updates": 60})
    found = curve(each)
    assert found == curve(each.replace(run={"learning": "live"}))
    assert found != curve(each.replace(algorithm=momentum(step=0.01, momentum=0.3)))


def test_momentum_of_none_is_a_plain_step(scenario, momentum):
    """θ ← θ − η (σθ + N (n_i/n) Q), FedAsync with α = 1, as answers are never stale here."""
    plain = {"kind": "fedasync", "step": 0.01, "mixing": 1.0}
    ours = run(scenario.replace(algorithm=momentum(step=0.01, momentum=0.0))).learned
    theirs = run(scenario.replace(algorithm=plain)).learned
    assert np.allclose(ours.models, theirs.models, rtol=1e-12, atol=0)
    heavy = run(scenario.replace(algorithm=momentum(step=0.01, momentum=0.5))).learned
    assert not np.allclose(heavy.models, theirs.models, rtol=1e-3, atol=0)


@pytest.mark.long
def test_other_processes_load_the_file(scenario, momentum):
    each = scenario.replace(algorithm=momentum(step=0.01))
    assert curve(each, workers=2) == curve(each)


def test_another_file_is_not_loaded_in_its_stead(tmp_path):
    file = written(tmp_path, CLASS)
    place = executed(file)
    work = plugins.packed((repr, (place.found()(),), {}))
    assert "Toy" in plugins.call(work)
    written(tmp_path, SIZED)
    with pytest.raises(SpecError, match=r"its SHA-256 is .*, and .* was meant"):
        plugins.call(work)
    place.execute()
    assert place.found().size == 2
    file.unlink()
    with pytest.raises(SpecError, match="there is no such file"):
        plugins.call(plugins.packed((repr, (place.found()(),), {})))


def test_the_program_itself_is_executed_once(tmp_path):
    """An unguarded script that names its own class executed itself until the stack was full."""
    script = written(tmp_path, PROGRAM)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["begun", "True"]


def test_a_changed_module_is_refused_and_its_digest_is_of_what_was_executed(tmp_path, monkeypatch):
    written(tmp_path, CLASS, "installed_kinds.py")
    monkeypatch.syspath_prepend(tmp_path)
    place = executed("installed_kinds")
    place.execute()
    before = place.sha256
    written(tmp_path, SIZED, "installed_kinds.py")
    with pytest.raises(SpecError, match="changed since Python executed it: restart Python"):
        place.execute()
    assert (hasattr(place.found(), "size"), place.sha256) == (False, before)
    del sys.modules["installed_kinds"]


def test_a_module_that_only_a_finder_of_its_own_knows_is_found(tmp_path, monkeypatch):
    """Editable installs have such a finder."""
    file = written(tmp_path, CLASS)

    class Finder:
        @staticmethod
        def find_spec(name, *_):
            named = name == "editable_kinds"
            return spec_from_file_location(name, file) if named else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    place = Place("editable_kinds", "Toy")
    assert place.file == file
    place.execute()
    assert place.found().__name__ == "Toy"
    del sys.modules["editable_kinds"]


@pytest.mark.parametrize("name", ["made", "brief"])
def test_what_other_processes_cannot_find_is_refused_before_it_is_sent(tmp_path, name):
    place = executed(written(tmp_path, UNNAMED), name)
    with pytest.raises(SpecError, match=r"workers: given .*>.* of .*kinds.py; allowed with more"):
        plugins.packed((place.found(), (), {}))


# The example of an algorithm of one's own, dual averaging: its path is exact, late answers too.
#
# In the eigenvectors of 2H, with eigenvalues μ, c = μ − σ those of the losses alone,
# d_k = σk + β_k, β_k = max(k, 1)^e/η and e_k the deviation from θ* of one owner without noise,
#
#     e_(k+1) = [(d_k − c) e_k + (β_(k+1) − β_k) e_0]/d_(k+1).

UPDATES, SIGMA, STEP = 40, 0.1, 0.2
LENGTH = {"updates": UPDATES, "replicates": 3}
EXACT = {"epsilon": float("inf"), "sensitivity": {"kind": "declared", "bound": 100.0}}


def example(**parts):
    return load(KINDS / "dual_averaging.toml", allow_code=True)[0].replace(
        **{"run": LENGTH, **parts}
    )


def held(k: int, exponent: float) -> float:
    """Return β_k."""
    return float(max(k, 1) ** exponent / STEP)


def path_of_one_owner(objective, exponent):
    """Return θ_T of one owner without noise, from θ = 0."""
    values, vectors = np.linalg.eigh(2 * objective.hessian)
    best = vectors.T @ objective.free_optimum
    error = -best
    for k in range(UPDATES):
        old, new = held(k, exponent), held(k + 1, exponent)
        kept = (SIGMA * k + old - (values - SIGMA)) * error - (new - old) * best
        error = kept / (SIGMA * (k + 1) + new)
    return np.asarray(vectors @ (error + best))


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5])
def test_one_owner_without_noise_goes_the_exact_way(exponent):
    alone = {"owners": {"count": 1, "records": 30}, "algorithm": {"exponent": exponent}}
    given = example(**alone, privacy=EXACT)
    objective = prepare(given, build_dataset(given)).task.objective
    found = run(given).learned.models
    assert np.allclose(found, path_of_one_owner(objective, exponent), rtol=0, atol=1e-12)
    wrong = path_of_one_owner(objective, exponent + 0.1)
    assert not np.allclose(found, wrong, rtol=0, atol=1e-4)


def test_late_answers_are_of_the_models_that_were_read():
    given = example(privacy=EXACT)
    objective, found = prepare(given, build_dataset(given)).task.objective, run(given)
    assert max(trace.updates["staleness"].max() for trace in found.traces) > 0
    for trace, model in zip(found.traces, found.learned.models, strict=True):
        path, total = [np.zeros(3)], np.zeros(3)
        for k, used in enumerate(trace.updates, 1):
            owner, read = int(used["owner"]) - 1, path[-1 - int(used["staleness"])]
            answer = objective.gradient(np.array([owner]), read[None])[0]
            total = total + 5 * objective.weights[owner] * answer
            path.append(-total / (SIGMA * k + held(k, 0.5)))
        assert np.allclose(model, path[-1], rtol=0, atol=1e-12)


def test_live_equals_replay():
    live, replayed = (run(example(run=LENGTH | {"learning": way})) for way in ("live", "replay"))
    assert np.array_equal(live.learned.models, replayed.learned.models)
    assert live.fingerprints == replayed.fingerprints
