"""Programs that end otherwise than well: closed streams, signals, a full disk, little memory.

No traceback ever, nothing half built; one line, and the exit code of what happened.
"""

import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from asyncdp_sim import cli
from asyncdp_sim.figures.draw import Drawing
from tests.bad_input.transcript import leaked
from tests.cli.command import PROGRAM, Command
from tests.cli.scenes import SMALL, SWEEP, rates
from tests.fresh import fresh_seed
from tests.one_in import one_in
from tests.tables import table

LONG = "1" * 5000
FILES = {"small.toml": SMALL}

# Streams that are closed, or lack a letter, and places that have gone.

COMMANDS = {
    "help": ("--help",),
    "describe": ("describe", "relative_fitness"),
    "check": ("check", "small.toml"),
    "run": ("run", "small.toml", "--out", "out"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_letter_that_a_stream_lacks_is_spelled(words, encoding, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["asyncdp", *words])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code in (None, 0)
    if encoding != "ascii":  # typer takes that for a terminal whose language is not set
        printed = streams[0].buffer.getvalue().decode(encoding)
        assert ("psi" if words[0] != "--help" else "epsilon") in printed
        assert "?" not in printed.replace("what ψ is?", "")
        assert "\\u" not in printed


def started(words: tuple[str, ...], folder: Path, prepare: Callable[[], None]) -> tuple[int, str]:
    """Run a program that ``prepare`` prepares; return its exit code and standard error."""
    ended = subprocess.run(
        [PROGRAM, *words], cwd=folder, capture_output=True, check=False, preexec_fn=prepare,
    )  # fmt: skip
    return ended.returncode, ended.stderr.decode()


def closed(*numbers: int) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


@pytest.mark.long
def test_closed_streams_take_what_is_printed(here):
    assert started(COMMANDS["check"], here, closed(1)) == (0, "")
    assert started(COMMANDS["run"], here, closed(0, 1, 2)) == (0, "")
    assert (here / "out" / "manifest.json").exists()


@pytest.mark.long
def test_a_reader_that_has_gone(here):
    def into_a_closed_pipe() -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        reading, writing = os.pipe()
        os.close(reading)
        os.dup2(writing, 1)

    assert started(COMMANDS["describe"], here, into_a_closed_pipe) == (cli.READER_GONE, "")


@pytest.mark.long
def test_a_file_may_become_no_larger(here):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    code, said = started(COMMANDS["run"], here, limit)
    assert code == 4
    assert said.startswith("asyncdp: the machine gave way: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_working_directory_that_was_deleted(words, here, command):
    for file in here.iterdir():
        file.unlink()
    here.rmdir()
    assert command.refused(*words) == (
        "asyncdp: given a working directory that was deleted; allowed is one that exists: "
        "change to it first (cd)"
    )


# Ctrl-C and other signals: nothing half built.

AT_IMPORT = table(__file__, "interruption.toml")["at_import"]
"""A program that hears Ctrl-C at one of its imports; the first few are Python's own."""
SIGNALS = [signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Hear signals: under ``nohup``, or behind ``&``, some are ignored by all that is started."""
    wanted = {signal.SIGINT: signal.default_int_handler, **dict.fromkeys(SIGNALS, signal.SIG_DFL)}
    before = {number: signal.signal(number, how) for number, how in wanted.items()}
    yield
    for number, how in before.items():
        signal.signal(number, how)


ROOT = Path(__file__).parents[2]
RUN = ("asyncdp_sim", "run", "small.toml", "--out", "result")
CATALOGUE = ("scenarios", "vary-availability", "--out", "result")


def interrupted_at(place, folder, command=RUN):
    """Run a command that hears Ctrl-C when it imports its so manieth module."""
    words = [sys.executable, "-c", AT_IMPORT, str(place), *command]
    said = os.environ | {"PYTHONPATH": str(ROOT)}  # where scenarios are
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=said)


@one_in(2, "place", [40, 300])
@one_in(2, "program", [RUN, CATALOGUE])
def test_while_it_starts_it_ends_without_a_traceback(program, place, here):
    said = interrupted_at(place, here, program)
    assert said.returncode in (130, -signal.SIGINT)  # a shell says 130 of both
    assert "Traceback" not in said.stderr
    assert len(said.stderr.splitlines()) in (0, 2)
    assert [path.name for path in here.iterdir()] == ["small.toml"]


@pytest.mark.nightly
def test_wherever_it_starts(here, record_property):
    draw = random.Random(fresh_seed())
    record_property("tried", 61)
    for place in [20, *(draw.randrange(20, 900) for _ in range(60))]:
        said = interrupted_at(place, here)
        assert said.returncode in (130, -signal.SIGINT), (place, said)
        assert "Traceback" not in said.stderr, (place, said)
        assert [path.name for path in here.iterdir()] == ["small.toml"], place


@pytest.mark.parametrize("number", [signal.SIGINT, *SIGNALS])
@pytest.mark.parametrize(
    "where",
    ["asyncdp_sim.runs.replicates.learn_all", "asyncdp_sim.results.columns.optimum_columns"],
)
def test_who_ends_it_finds_nothing_half_built(number, where, command, here, monkeypatch):
    before = signal.getsignal(number)
    monkeypatch.setattr(where, lambda *_, **__: os.kill(os.getpid(), number))
    said = command("run", "small.toml", "--out", "result")
    assert said.code == 128 + number
    assert said.lines == [
        "interrupted: nothing is kept",
        "to start again: asyncdp run small.toml --out result",
    ]
    assert [path.name for path in here.iterdir()] == ["small.toml"]
    assert signal.getsignal(number) is before


@pytest.mark.long
@pytest.mark.usefixtures("here")
def test_a_signal_that_is_ignored_stays_so(command, monkeypatch):
    """As ``nohup`` wants it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr("asyncdp_sim.figures.draw.draw_named", hang_up)
        assert command("run", "small.toml", "--out", "result", "--plot").code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def hang_up(*_: object) -> Drawing:
    os.kill(os.getpid(), signal.SIGHUP)
    return Drawing((), ())


@pytest.mark.usefixtures("here")
def test_what_is_tidied_up_is_not_interrupted_again(command, monkeypatch):
    remove = shutil.rmtree

    def twice(*given: object, **how: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        remove(*given, **how)

    monkeypatch.setattr("asyncdp_sim.results.write.shutil.rmtree", twice)
    monkeypatch.setattr(
        "asyncdp_sim.results.columns.optimum_columns",
        lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    )
    assert command("run", "small.toml", "--out", "result").code == 143
    assert [path.name for path in Path().iterdir()] == ["small.toml"]


# A worker that is killed, too few open files or addresses, little memory: exit 4.

CLIPPED = 'sensitivity = { kind = "clip", bound = 1.0 }'
POISSON = SMALL.replace('kind = "gamma"\nrate = 1.0\ncv = 0.5', 'kind = "poisson"\nrate = 1.0')
WORKING = table(__file__, "machine_gives_way.toml")["commands"]
ALWAYS = "run"
"""What is tried outside the nightly run: starting a program twice over takes seconds."""
NAMES = [
    pytest.param(name, marks=pytest.mark.long if name == ALWAYS else pytest.mark.nightly)
    for name in WORKING
]
LATE = 600.0
KEPT = "finished work is kept; run the same command again to continue\n"


@pytest.fixture
def made(here: Path, command: Command) -> Path:
    texts = {"small": SMALL, "sweep": SWEEP}
    texts["poisson"] = POISSON.replace(CLIPPED, CLIPPED.replace("clip", "declared"))
    for name, text in texts.items():
        (here / f"{name}.toml").write_text(text, encoding="utf-8")
    command.done("run", "small.toml", "--out", "run")
    command.done("sweep", "sweep.toml", "--out", "swept")
    return here


def working(name, folder, files=1024, addresses=resource.RLIM_INFINITY):
    """Start a command with two workers, which may hold so many files open, and bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))

    words = [PROGRAM, *WORKING[name], "--workers", "2"]
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=limit,
    )  # fmt: skip


def worker_of(program: subprocess.Popen[str]) -> int | None:
    """Wait for a worker of a program; None where it ended without one."""
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
    late = time.monotonic() + LATE
    while program.poll() is None and time.monotonic() < late:
        for child in children.read_text(encoding="utf-8").split():
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                return int(child)
        time.sleep(0.01)
    return None


def ended(program: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for its exit code and what it printed; how long it would take is no part of that."""
    _, said = program.communicate(timeout=LATE)
    lines = said.splitlines(keepends=True)
    return program.returncode, "".join(line for line in lines if not line.startswith("note: "))


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_is_killed(name, made):
    program = working(name, made)
    worker = worker_of(program)
    assert worker is not None, program.communicate()
    os.kill(worker, signal.SIGKILL)
    given = "asyncdp: the machine gave way: a worker process was killed (for want of memory?); "
    assert ended(program) == (4, given + KEPT)


@pytest.mark.parametrize("name", NAMES)
def test_too_few_open_files(name, made):
    code, said = ended(working(name, made, files=12))
    assert (code, len(said.splitlines())) == (4, 1)
    assert said.startswith("asyncdp: the machine gave way: ")
    assert said.endswith(f"too many open files; {KEPT}")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mebibytes", [96, 256, 384])
def test_little_address_space(name, mebibytes, made):
    """OpenBLAS, which would ask for ever, end the program or interrupt it, is not asked."""
    program = working(name, made, addresses=mebibytes << 20)
    _, said = program.communicate(timeout=LATE)
    least = 192 if mebibytes < 192 else 640
    given = f"asyncdp: the machine gave way: address space is limited to {mebibytes} MiB"
    assert (program.returncode, said) == (4, f"{given} (ulimit -v), and this takes {least}; {KEPT}")


# Python's own words reach nobody, and a full output claims no work that is not kept.

PYTHON = ("sys.set", "int_max", "invalid literal", "ValueError", "Exceeds")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "long.toml"), "a whole number of more than 4,300 digits"),
        (("check", "small.toml", "--set", f"run.updates={LONG}"), "allowed is a whole number"),
        (("run", "small.toml", "--seed", LONG), "allowed is a whole number below 2^63"),
        (("run", "small.toml", "--replicates", LONG), "allowed is a whole number below 2^63"),
        (("data", "rates.csv", "--target", "rate", "--public", LONG), "--public: given"),
        (("plot", "r"), "no readable manifest.json"),
    ],
)
def test_a_number_of_5000_digits_is_refused_in_our_words(words, said, here, command):
    (here / "long.toml").write_text(SMALL.replace("updates = 12", f"updates = {LONG}"))
    rates(here / "rates.csv")
    (here / "r").mkdir()
    (here / "r" / "manifest.json").write_text(f'{{"schema": {LONG}}}', encoding="utf-8")
    line = command.refused(*words)
    assert said in line
    assert len(line) < 400
    assert leaked(line) == []
    assert not any(word in line for word in PYTHON)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such file")
@pytest.mark.parametrize(
    ("words", "kept"),
    [(("describe", "relative_fitness"), False), (("run", "small.toml", "--out", "out"), True)],
    ids=["describe", "run"],
)
def test_only_what_keeps_work_says_so(words, kept, here):
    """Found by attack: with a full output, each command said that finished work was kept."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [PROGRAM, *words], cwd=here, stdout=full, stderr=subprocess.PIPE, check=False
        )
    said = ended.stderr.decode().splitlines()[-1]
    assert ended.returncode == 4
    assert said.startswith("asyncdp: the machine gave way: no space left on device")
    assert ("finished work is kept" in said) == kept
    if kept:
        manifest = json.loads((here / "out" / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["summary"]["updates"] == 24
