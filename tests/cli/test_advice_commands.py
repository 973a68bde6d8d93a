"""``asyncdp audit`` and ``asyncdp forecast``: what they print, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.cli.scenes import ON_A_TABLE, SMALL, SWEEP, rates
from tests.tables import table

SOUND = SMALL.replace("epsilon = 1.0", 'epsilon = 1.0\nbudget = { kind = "horizon" }')
EXACT = (
    SMALL.replace('kind = "gamma"\nrate = 1.0\ncv = 0.5', 'kind = "poisson"\nrate = 1.0')
    .replace('{ kind = "clip", bound = 1.0 }', '{ kind = "declared", bound = 5.0 }')
    .replace("theta_max = 10.0\n", "")
)
pytestmark = pytest.mark.usefixtures("here")
QUICK = ("--thorough", "--answers", "2000", "--runs", "100")


FILES = {"sound.toml": SOUND, "exact.toml": EXACT, "sweep.toml": SWEEP, "table.toml": ON_A_TABLE}


@pytest.fixture
def here(here: Path) -> Path:
    rates(here / "rates.csv")
    return here


@pytest.mark.long
def test_a_sound_scenario_passes(command):
    said = command.done("audit", "sound.toml", *QUICK, "--details")
    verdict, strongest, advice, pair, answer, run, made_up, *facts = said.out.splitlines()
    assert pair.startswith("neighbouring datasets: row ")
    assert " is replaced by row " in pair
    assert ", or by row " in pair
    assert answer.startswith("one answer of owner 1: measured ε ≥ 0")
    assert "stated 0.0833: not exceeded" in answer
    assert "stated 1: not exceeded" in run
    assert made_up.startswith("the whole run with a synthetic record of owner 1: measured ε ≥ 0")
    assert [fact.rpartition(": ")[2] for fact in facts] == ["not refuted"] * 4
    sure = "all lower bounds hold jointly with confidence 0.999"
    assert verdict == f"verdict: not refuted, not proven ({sure})"
    assert strongest == "strongest attack: none measured an ε above 0"
    assert advice == "what to do: rely on the proof of the stated ε: asyncdp docs privacy"


def test_a_refuted_claim_exits_with_3(command):
    bound = 'privacy.sensitivity={kind="declared",bound=0.01}'
    said = command("audit", "exact.toml", *QUICK, "--set", bound)
    assert said.code == 3
    verdict, strongest, advice, *_ = said.out.splitlines()
    assert verdict.startswith("verdict: REFUTED, do not use the stated ε (")
    assert strongest.startswith("strongest attack: the whole run of owner 2, measured ε ≥ ")
    assert advice.startswith("what to do: correct the scenario or the mechanism; ")
    assert "Traceback" not in said.err


def test_a_first_verdict_says_what_it_can_detect_and_what_is_left(command):
    said = command.done("audit", "sound.toml", "--canaries", "4", "--answers", "2000", "--details")
    verdict, _, left, pair, answer, guessed, *_, limits, most = said.out.splitlines()
    assert pair.endswith("; a fair coin chooses each of 4 canary records from two")
    assert answer.startswith("one answer of owner 1: measured ε ≥ 0")
    assert guessed.startswith(
        "one run with 4 canaries: measured ε ≥ 0, stated 1: undecided: too few canaries, "
    )
    assert guessed.endswith("of 2 guesses are right)")
    assert limits.startswith("2 guesses measure at most ε = 0 (all right), and on average")
    assert most == "largest measurable ε: 4.79 (one answer), 0 (canaries)"
    whole = "attack whole runs too: --thorough (Python: thorough=True), about "
    assert left.startswith(f"what to do: {whole}")
    assert verdict.startswith("verdict: not refuted, not proven")


def test_a_first_verdict_names_no_attack_and_no_fact_that_found_nothing(command):
    quick = ("--canaries", "4", "--answers", "2000", "--set", "privacy.epsilon=0.1")
    _, strongest, *rest = command.done("audit", "sound.toml", *quick).out.splitlines()
    assert strongest == "strongest attack: none measured an ε above 0"
    assert rest[-1] == "sent answers, their noise and charges: 3 checks refute nothing"
    assert not any("not refuted" in line for line in rest)


@pytest.mark.long
def test_a_first_verdict_on_an_entry_of_the_catalogue_takes_seconds(command):
    assert command.done("audit", "lending-sound").seconds <= 30


def test_a_forecast_on_the_screen_and_as_json(command):
    shown = command.done("forecast", "exact.toml", "--details", "--target", "0.5").out
    rows = ("expected ψ", "cost of privacy", "until ψ = 0.5", " simulated runs\n")
    for words in (*rows, "break-even", "synthetic records"):
        assert words in shown
    assert "gain: own error minus that of the joint model" in shown
    assert "\nbreak-even: the smallest ε" in shown
    found = json.loads(command.done("forecast", "exact.toml", "--json").out)
    assert found["psi_half_width"] > 0
    assert found["label"] == "no private record was read"
    assert len(found["owners"]) == 3


def test_a_forecast_begins_with_its_decision_and_keeps_the_rest_for_details(command):
    shown = command.done("forecast", "exact.toml").out.splitlines()
    assert shown[0].startswith("Decision ")
    assert any(line.startswith("Single owners    3: ") for line in shown)
    assert shown[-2] == "all figures: asyncdp forecast exact.toml --details"
    whole = command.done("forecast", "exact.toml", "--details").out.splitlines()
    assert whole[:8] == shown[:8]
    assert len(whole) > 15


@pytest.mark.long
def test_private_records_are_read_only_where_that_is_asked_for(command):
    public = command.done("forecast", "table.toml", "--details").out
    assert "rows drawn from the table's public ones\n" in public
    assert "95 % intervals over 8 random halves of " in public
    told = json.loads(command.done("forecast", "table.toml", "--json").out)
    assert (told["reads"], told["release"], told["owners"]) == ("public", True, [])
    none = ("data.public_records=0", 'data.preprocessing="none"', "data.features=2")
    assert "a forecast of table data without public rows needs --private" in command.refused(
        "forecast", "table.toml", *(word for path in none for word in ("--set", path))
    )
    shown = command.done("forecast", "table.toml", "--details", "--private").out
    assert "uses private data, not for release" in shown


@pytest.mark.long
def test_advice(command):
    invited = command.done("forecast", "exact.toml", "--invite", "--workers", "1").out
    assert invited.startswith("invite    ")
    assert "in the same runs" in invited
    tuned = command.done("forecast", "exact.toml", "--tune").out.splitlines()
    assert tuned[0].startswith("best      step = ")
    assert " ± " in tuned[0]
    assert "compared by other simulated runs" in tuned[4]


@pytest.mark.long
def test_advice_on_a_table_that_is_not_read_says_how_to_check_it(command, here):
    (here / "loans.csv").write_text("never read", encoding="utf-8")
    lending = (
        'data={kind="lending",path="loans.csv",encoding="plain",features=3,public_records=40,'
        'preprocessing="pca",split="in-order"}'
    )
    sizes = ("--set", "owners.records=100", "--set", "run.updates=6")
    said = command.done("forecast", "exact.toml", "--tune", "--set", lending, *sizes).out
    assert "data      the table's synthetic twin" in said
    check = said.splitlines()[-1]
    assert check.startswith("unchecked on the table itself, whose records were not read; ")
    assert "asyncdp forecast exact.toml --set 'data={kind=" in check
    assert " --tune --private (do not publish its output)" in check


@pytest.mark.long
def test_advice_is_json_too(command):
    """All that is asked for together, in the words of --json: plain values, mean and interval."""
    asked = ("--set", "algorithm.rho=1e-4", "--tune", "--invite", "--market", "1,1,1",
             "--target", "1")  # fmt: skip
    told = json.loads(command.done("forecast", "exact.toml", *asked, "--json").out)
    assert list(told) == ["invite", "tune", "market"]
    best = told["tune"]["best"]
    updates = best["setting"]["updates"]
    assert told["tune"]["scenario"]["run"]["updates"] == updates
    assert best["simulated"]["half_width"] >= 0
    assert len(told["market"]["purchase"]["epsilon"]) == 3
    [line] = [
        line
        for line in command.done("forecast", "exact.toml", *asked[:3]).out.splitlines()
        if line.startswith("best ")
    ]
    assert f"ψ {best['simulated']['psi']:#.3g} " in line
    assert f"T = {updates}" in line


REFUSED = table(__file__, "refused.toml")["advice"]


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_attacked_or_forecast_is_refused(words, command):
    assert REFUSED[words] in command.refused(*words.split())


def test_other_protocols_stand_beside_the_answer_where_asked_for(command):
    options = ("--own-best", "linear", "--set", "run.updates=20", "--alternatives")
    said = command.done("forecast", "sound.toml", *options).out.splitlines()
    [head] = [place for place, line in enumerate(said) if line.split()[:1] == ["protocol"]]
    names = ["as in the scenario", "noisy second moments", "sums of answers, δ = 1e-06"]
    assert [line.strip().partition("  ")[0] for line in said[head + 1 : head + 4]] == names
    assert sum(line.startswith("Better protocol  ") for line in said) == 1
    found = json.loads(command.done("forecast", "sound.toml", *options, "--json").out)
    moments, sums = found["alternatives"]
    assert moments["settings"]["algorithm"] == {"kind": "noisy-statistics"}
    assert sums["settings"]["privacy"]["observer"] == {"kind": "aggregate"}
    assert found["alternatives"][0].keys() == {
        "protocol", "settings", "refused", "consortium", "owners", "difference",
    }  # fmt: skip
    without = json.loads(command.done("forecast", "sound.toml", *options[:-1], "--json").out)
    assert without["alternatives"] == []
    assert without["consortium"] == found["consortium"]


def test_alternatives_are_no_advice_on_settings(command):
    said = command.refused("forecast", "sound.toml", "--alternatives", "--tune")
    assert "given --alternatives; allowed without --invite, --tune and --market" in said
