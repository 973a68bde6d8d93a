"""The register names tests that exist, kinds that they are about, and leaves out none."""

import ast
import re
from functools import cache
from importlib.util import find_spec

import pytest

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.network.clocks import PoissonClock
from tests.conformance.members import FAMILIES
from tests.oracles import TESTS, Basis, basis_of, marked, marks, oracles, oracles_of
from tests.tables import table

TABLE = table(__file__, "register.toml")
ALIASES = TABLE["aliases"]
"""What tests call a kind where they try its parts."""
UNVERIFIED = {
    ("availability", "churn"): "no long run",
    ("clock", "scripted"): "given times",
    ("graph", "file"): "edges of a file",
}


@cache
def source(file: str) -> str:
    """Return the text of a test file, without marks, and of modules and tables that it uses."""
    path = TESTS / file
    text = path.read_text("utf-8")
    near = re.findall(r"^from (?:\.|tests\.)([\w.]+) import", text, re.M)
    found = {mark for _, mark in marks(ast.parse(text)) if mark is not None}
    for mark in [ast.get_source_segment(text, each) or "" for each in found]:
        text = text.replace(mark, "")
    helpers = [path.parent / f"{name}.py" for name in near]
    helpers += [TESTS / f"{name.replace('.', '/')}.py" for name in near]
    files = {path: text} | {each: each.read_text("utf-8") for each in helpers if each.is_file()}
    tables = [
        file.with_name(name)
        for file, said in files.items()
        for name in re.findall(r'table\(__file__, "([\w.]+)"\)', said)
    ]
    return "\n".join([*files.values(), *(each.read_text("utf-8") for each in tables)])


def test_the_register_has_one_row_for_each_statistic():
    assert len({each.statistic for each in oracles()}) == len(oracles()) > 90
    assert all(len(each.tests) > 0 for each in oracles())


def test_every_test_of_verification_is_an_oracle_or_marked_as_no_evidence():
    files = sorted((TESTS / "verification").glob("test_*.py"))
    assert [
        f"{file.name}::{name}"
        for file in files
        for name, mark in marks(ast.parse(file.read_text("utf-8")))
        if mark is None and "test_fresh_seeds" not in name
    ] == []


MARKED = TABLE["marked"]
STATED = TABLE["stated"]


def test_the_nearest_mark_counts(tmp_path):
    (tmp_path / "test_one.py").write_text(MARKED)
    (tmp_path / "test_two.py").write_text(
        '@pytest.mark.oracle("draws")\ndef test_e(): ...\ndef test_f(): ...\n'
    )
    rate, draws = marked(tmp_path, STATED)
    assert rate.tests == ("test_one.py::test_b", "test_one.py::test_a")
    assert draws.tests == ("test_one.py::TestMore::test_c", "test_two.py::test_e")
    assert draws.basis is Basis.replay
    assert {"Aloha", "PoissonClock"} < set(rate.kinds)
    assert "SaturatedClock" not in rate.kinds


@pytest.mark.parametrize(
    ("stated", "said"),
    [({}, "::test_e: 'draws' is not stated"), (STATED, r"no test has the mark of \['rate'\]")],
)
def test_a_mark_that_is_not_stated_and_a_statement_without_a_mark_are_refused(
    stated, said, tmp_path
):
    (tmp_path / "test_one.py").write_text('@pytest.mark.oracle("draws")\ndef test_e(): ...\n')
    with pytest.raises(ValueError, match=said):
        marked(tmp_path, stated)


@pytest.mark.long
def test_a_kind_is_named_where_it_is_said_to_be_tested():
    """By its class or by its kind; or its whole family is tried, member by member."""
    family = {member: name for name, union in FAMILIES.items() for member in members(union)}
    classes = {member.__name__: member for member in family}
    silent = []
    for oracle in oracles():
        text = "\n".join(source(test.split("::")[0]) for test in oracle.tests)
        for name in oracle.kinds:
            kind = classes[name]
            words = (rf"\b{name}\b", rf"['\"]{kind_of(kind)}['\"]")
            words += (
                rf"examples\((Any)?{family[kind].capitalize()}",
                rf"FAMILIES\[.{family[kind]}",
            )
            words += (rf"\b{name.replace('Mechanism', 'Noise')}\b", *ALIASES.get(name, ()))
            if not any(re.search(word, text) for word in words):
                silent.append(f"{oracle.statistic}: {name}")
    assert silent == []


def test_bases_are_those_of_the_oracles():
    families = {member: name for name, union in FAMILIES.items() for member in members(union)}
    every = list(families)
    weak = {(families[k], kind_of(k)) for k in every if basis_of(k) is Basis.unverified}
    assert weak == set(UNVERIFIED)
    assert len({kind.__name__ for kind in every}) == len(every)
    assert {name for each in oracles() for name in each.kinds} <= {k.__name__ for k in every}
    for kind in every:
        given = [each.basis for each in oracles_of(kind)]
        assert basis_of(kind) in given or given == []


def test_a_name_of_ours_gives_a_kind_from_outside_no_oracle():
    assert len(oracles_of(PoissonClock)) > 5
    assert oracles_of(type("PoissonClock", (PoissonClock,), {"__module__": __name__})) == ()


@pytest.mark.parametrize("basis", list(Basis))
def test_each_basis_has_words(basis):
    assert len(basis.words) > 5


def test_sources_that_are_ours_are_there():
    """Modules of the package and files of tests, wherever a source names them."""
    said = " ".join(each.source for each in oracles())
    modules = set(re.findall(r"\basyncdp_sim(?:\.\w+)+", said))
    files = set(re.findall(r"\btests/[\w/]+\.py", said))
    assert len(modules) >= 8
    assert len(files) > 4
    assert [name for name in sorted(modules) if find_spec(name) is None] == []
    assert [name for name in sorted(files) if not (TESTS.parent / name).is_file()] == []
