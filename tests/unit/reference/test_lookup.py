"""Whatever has a name can be described; pages and the schema say the same."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from asyncdp_sim.cli.catalogue import files_by_topic, page_text, schema_text, topics
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Spec, kind_of, members
from asyncdp_sim.measures.energy import ENERGY_RATIOS
from asyncdp_sim.measures.scores import SCORES
from asyncdp_sim.measures.summary import RATIOS
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.table_file import EXAMPLES
from asyncdp_sim.results.columns import COUNT, NEVER, NUMBER, SPREAD, UNITLESS, Column, summary
from asyncdp_sim.results.columns import tables as tables_of_results
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.scenario.fields import (
    Field,
    TableEntry,
    domain,
    fields,
    specs,
    tables,
    takes_numbers,
)
from asyncdp_sim.scenario.paths import labels as labels_of_pictures
from asyncdp_sim.sentences import topic
from asyncdp_sim.sentences.names import RESULTS, entries, labels, look_up, page_of_path
from tests.cli.scenes import SMALL
from tests.conformance.members import FAMILIES, FORMS
from tests.reproducibility.runs import scenario
from tests.together import together

# The generated pages of the reference: fields of scenarios, and columns of results.

TEXTS = tomllib.loads(Path(__file__).with_name("pages.toml").read_text("utf-8"))
PARTS = TEXTS["parts"]


def scenario_pages() -> dict[str, str]:
    """Return the pages of the fields of scenario files, by their paths in the reference."""
    found = dict[str, str]()
    for name, (title, roots) in PARTS.items():
        inner = [table for table in tables() if table.path.partition(".")[0] in roots]
        heading = f"# {title}\n\n[How to read this page, and other tables](../scenario.md)."
        found[f"scenario/{name}"] = _page(heading, inner, "../../")
    placed = {root for _, roots in PARTS.values() for root in roots}
    rest = [table for table in tables() if table.path.partition(".")[0] not in placed]
    found["scenario"] = _page(TEXTS["scenario"], rest, "../")
    return found


def _page(heading: str, shown: Iterable[TableEntry], up: str) -> str:
    return (
        "\n".join([heading, *(line for table in shown for line in ("", *_table(table, up)))]) + "\n"
    )


def results_page() -> str:
    """Return the page of the columns of results and of the figures of summaries."""
    lines, known = [TEXTS["results"]], set[tuple[str, str]]()
    for name, table in tables_of_results().items():
        new = [each for each in table.columns if (each.name, each.meaning) not in known]
        old = [f"`{each.name}`" for each in table.columns if (each.name, each.meaning) in known]
        known |= {(each.name, each.meaning) for each in new}
        also = f" Also {', '.join(old)}, as above." if len(old) > 0 else ""
        lines += ["", f"## {name}.parquet", "", f"{table.meaning}.{also}", "", *_rows(new)]
    ratios = fill(", ".join(f"`{name}`" for name in (*RATIOS, *ENERGY_RATIOS)), 100)
    lines += ["", "## summary in manifest.json", "", f"{TEXTS['summary']}\n{ratios}.", ""]
    lines += [*_rows(summary().values()), "", "## Scores", "", TEXTS["scores"], ""]
    lines += ["| score | meaning |", "|---|---|"]
    for score in SCORES:
        unit = " (in the target's unit)" if score.in_units else ""
        lines.append(_row(f"`{score.name}`", f"{score.words}: {score.meaning}{unit}"))
    return "\n".join(lines) + "\n"


def _rows(columns: Iterable[Column]) -> list[str]:
    """Return a table with one row for all scores, and one for the spread over replicates."""
    found = dict[str, Column]()
    for column in columns:
        name, meaning = column.name, column.meaning
        score = next((each for each in SCORES if name.startswith(f"held_out_{each.name}")), None)
        spread = next((each for each in SPREAD if name.endswith(f".{each}")), None)
        if "95 % confidence interval" in meaning:
            continue
        if spread is not None:
            name = f"{name.removesuffix(spread)}*"
            meaning = meaning.removesuffix(f": {SPREAD[spread]}")
        if score is not None:
            name = name.replace(score.name, "{score}")
            meaning = f"Score{meaning.removeprefix(score.words).removesuffix(f': {score.meaning}')}"
            column = replace(column, unit=UNITLESS, domain="see Scores", null="")
        found.setdefault(name, replace(column, name=name, meaning=meaning))
    head = ["| name | meaning | values |", "|---|---|---|"]
    lines, before = head, ""
    for name, column in found.items():
        null = column.null if column.null in ("", NEVER) or column.null != before else "as above"
        lines.append(_row(f"`{name}`", column.meaning, _held(replace(column, null=null))))
        before = column.null
    return lines


def _held(column: Column) -> str:
    """Return domain, unit and reason for null in one; numbers of things need no unit."""
    unit = column.unit.partition(" (10")[0]
    counted = column.domain in (COUNT, NUMBER) and unit not in ("ticks", "bytes")
    unit = "" if counted or unit == UNITLESS else f" ({unit})"
    null = "" if column.null in ("", NEVER) else f"; null: {column.null}"
    return f"{column.domain.replace('whole numbers', 'integers')}{unit}{null}"


def _table(table: TableEntry, up: str) -> Iterator[str]:
    yield f"## {'The top' if table.path == '' else table.path}"
    more, root = page_of_path(table.path), page_of_path(table.path.partition(".")[0])
    if "." in table.path and table.path in _named():  # its row there has its meaning
        yield from () if more == root else ("", f"[More]({up}{more.removeprefix('docs/')}).")
    elif table.path != "":
        yield from ("", f"[{table.meaning}]({up}{more.removeprefix('docs/')}).")
    if len(table.kinds) > 0:
        yield from ("", "| kind | meaning |", "|---|---|")
        yield from (_row(f"`{kind.kind}`", kind.meaning) for kind in table.kinds)
    if len(table.fields) > 0:
        yield from ("", "| field | meaning | values |", "|---|---|---|")
        yield from (_field(table, each) for each in table.fields)


@cache
def _named() -> frozenset[str]:
    """Return the tables that are fields of another one, whose row has their meaning."""
    below = {table.path for table in tables()}
    return frozenset(f.path for table in tables() for f in table.fields if f.path in below)


def _field(table: TableEntry, field: Field) -> str:
    name, default = field.name, ""
    if field.default == "required" and "Absent" not in field.meaning:
        name = f"**`{name}`**"
    elif field.default in ("absent", "required"):
        name = f"`{name}`"
    else:
        default = f"`{field.default}`"
        name = f"`{name}` = {default}"
    kinds = f" ({', '.join(field.kinds)})" if len(field.kinds) < len(table.kinds) else ""
    return _row(f"{name}{kinds}", field.meaning, _values(field))


def _values(field: Field) -> str:
    """Return domain and unit in few words; limits of the machine's integers are left out."""
    counted = "whole numbers" in field.domain and field.unit not in ("bytes", "time units")
    unit = "" if counted or field.unit in ("", "none") else f" ({field.unit})"
    if field.path in _named():
        several = ", or list" if "list of them" in field.domain else ""
        return f"[table]({_place(field.path)}){several}"
    domain = field.domain
    for long, short in _SHORT:
        domain = re.sub(long, short, domain)
    return f"{domain}{unit}"


_LAWS = "none, constant, exponential, lognormal, gamma, uniform, empirical"
_SHORT = (
    (rf"a table whose kind is one of {_LAWS}", "law"),
    (" whose kind is one of ", ": "),
    ("the name of a kind, or a table: ", "kind, or table: "),
    (" and ≤ (2147483647|9223372036854775807)", ""),
    (r"\b1(0{6,})\b", lambda found: f"10{str(len(found[1])).translate(_POWERS)}"),
    (r"1e-(0?)(\d+)", lambda found: f"10⁻{found[2].translate(_POWERS)}"),
    (r"≥ (\S+) and ≤ (\S+)", r"\1 to \2"),
    (r"(>|≥) (\S+) and (<|≤) (\S+)", r"\1 \2, \3 \4"),
    ("whole numbers", "integers"),
    (r"numbers (?=[>≥\d])", ""),
    ("one of |, or a list of them(?=, or a table)", ""),
    (", or a list of them", ", or list"),
    (r"\ba (?=list|table)", ""),
    ("list of list of ", "lists of "),
    (r"(lists?) of (?=[>≥\d])", r"\1, "),
)
"""Words of domains, and what stands for them on a page, in this order."""
_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _place(path: str) -> str:
    """Return the link to a table's section from a page of its root, or from the first page."""
    anchor = f"#{path.replace('.', '')}"
    root = path.partition(".")[0]
    pages = [name for name, (_, roots) in PARTS.items() if root in roots]
    return f"scenario/{pages[0]}.md{anchor}" if path == root and len(pages) > 0 else anchor


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# Whatever has a name can be described; pages and the schema say the same.

ROOT = Path(__file__).resolve().parents[3]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_describe_works_on_every_path():
    paths = [table.path for table in tables() if table.path != ""]
    for table in tables():
        paths += [f"{table.path}.{kind.kind}" for kind in table.kinds]
        paths += [field.path for field in table.fields]
    paths += [*summary()]
    for table in tables_of_results().values():
        paths += [table.name, *(f"{table.name}.{each.name}" for each in table.columns)]
    assert len(paths) > 450
    for path in paths:
        for entry in look_up(path):
            said = entry.lines()
            assert path in said[0] or path in entry.names
            assert len(said) > 2
            assert max(len(line) for line in said[1:] if "example  " not in line) <= 80
            assert all(line.strip() != "" and "``" not in line for line in said)


def test_every_name_of_an_entry_finds_it():
    for entry in entries():
        for name in entry.names:
            found = look_up(name)
            assert entry in found or all(each.path == name for each in found)


def test_names_that_stand_for_several_things_list_all():
    slotted = {kind_of(each) for each in members(Channel) if "slot" in each.model_fields}
    assert len(slotted) > 2
    told = {
        kind for each in look_up("slot") for kind in each.of.removeprefix("field of ").split(", ")
    }
    assert told == slotted
    assert {each.path for each in look_up("clip")} == {"privacy.sensitivity.clip"}
    assert {each.path for each in look_up("latency.query.mean")} == {"compute.mean"}
    assert {each.path for each in look_up("availability.on.mean")} == {"compute.mean"}
    assert {each.path for each in look_up("protocol.clock.rate")} == {"clock.rate"}
    assert {each.path for each in look_up("channel.each.airtime")} == {"channel.airtime"}
    assert [each.path for each in look_up("tdma.slot")] == ["channel.slot"]
    assert len(look_up("psi_final")) == 4


ELSEWHERE = {
    *("_low", "_high", "psi_final_mean"),  # of CSVs beside pictures
    "noise_bound",  # of manifests
    *("asyncdp check", "asyncdp describe"),  # commands
}
"""Names in the glossary of what the reference does not tell."""


def test_names_in_the_glossary_are_those_of_the_reference():
    named = set(re.findall(r"`([^`]+)`", GLOSSARY))
    assert len(named) > 50
    assert {" ".join(name.split()) for name in named if not is_known(name)} == ELSEWHERE


def is_known(name: str) -> bool:
    try:
        return len(look_up(name)) > 0
    except SpecError:
        return False


def test_every_family_is_a_word_of_the_glossary():
    words = set(re.findall(r"^\| ([\w -]+) \|", GLOSSARY.partition("## Words")[2], re.M))
    assert {*FAMILIES, *FORMS} <= words


def test_letters_of_the_papers_find_what_they_stand_for():
    rows = [line.split(" | ") for line in GLOSSARY.splitlines() if line.startswith("| ")]
    letters = {each: row for row in rows for each in row[0].removeprefix("| ").split(", ")}
    paths = {each.path for each in entries()}
    for letter, meant in labels()["symbols"].items():
        assert letter in letters, letter
        assert set(meant) <= paths
        assert set(meant) <= {each.path for each in look_up(letter)}
    for letter, path in (("ψ", "curve.relative_fitness"), ("ε", "privacy.epsilon"),
                         ("i_k", "updates.owner"), ("Ξ", "privacy.sensitivity"),
                         ("θ_max", "model.theta_max"), ("T", "run.updates"),
                         ("PSI", "curve.relative_fitness"), ("lambda", "clock.rate"),
                         ("Xi", "privacy.sensitivity"), ("Theta", "model.theta_max")):  # fmt: skip
        assert path in {each.path for each in look_up(letter)}


def test_letters_that_a_swept_setting_has_in_pictures_find_it():
    """A reader of a picture asks what the letter at its axis is."""
    letters = {
        path: said
        for path, said in labels_of_pictures()["symbols"].items()
        if len(said.split("_")[0]) == 1
    }
    for path, letter in letters.items():
        assert path in {each.path for each in look_up(letter)}


def require_up_to_date(file_regression, text, file):
    try:
        file_regression.check(text, encoding="utf-8", fullpath=file)
    except AssertionError as stale:
        stale.add_note("python -m tests.regenerate writes it anew")
        raise


@pytest.mark.parametrize("name", [*scenario_pages(), "results"])
def test_pages_are_up_to_date(name, file_regression):
    text = results_page() if name == "results" else scenario_pages()[name]
    require_up_to_date(file_regression, text, ROOT / "docs" / "reference" / f"{name}.md")


def test_the_schema_is_up_to_date(file_regression):
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(by_alias=True),
        "title": "Scenario of asyncdp",
    }
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    file = ROOT / "asyncdp_sim" / "sentences" / "asyncdp.schema.json"
    require_up_to_date(file_regression, text, file)


@pytest.mark.long
def test_the_schema_takes_every_entry_of_the_catalogue_and_no_unknown_key():
    schema = json.loads(schema_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    checked = jsonschema.Draft202012Validator(schema)
    catalogue = sorted((ROOT / "asyncdp_sim" / "catalogue").glob("*.toml"))
    assert len(catalogue) > 30
    for file in catalogue:
        assert list(checked.iter_errors(tomllib.loads(file.read_text("utf-8")))) == [], file.name
    good = tomllib.loads(SMALL)
    assert checked.is_valid(good)
    assert not checked.is_valid(good | {"chanel": {"kind": "ideal"}})
    assert not checked.is_valid(good | {"channel": {"kind": "ideal", "slot": 1.0}})
    assert not checked.is_valid(good | {"channel": {"kind": "idael"}})
    assert not checked.is_valid(good | {"clock": {"rate": 1.0}})
    assert not checked.is_valid(good | {"run": {"updates": 0}})
    assert checked.is_valid(good | {"clock": {"kind": "python:mine.py:Clock", "beat": 2}})


def test_the_schema_describes_every_field():
    schema = json.loads(schema_text())
    silent = [
        (name, field)
        for name, spec in ({"": schema} | schema["$defs"]).items()
        for field, said in spec.get("properties", {}).items()
        if field != "kind" and said.get("description", "") == ""
    ]
    assert silent == []


# Pages of the documentation as ``asyncdp docs`` prints them.

DOCS = Path(__file__).parents[3] / "docs"


def test_every_page_has_a_topic():
    assert set(files_by_topic().values()) == set(DOCS.rglob("*.md"))
    assert page_text("privacy") == (DOCS / "privacy" / "README.md").read_text("utf-8")


@together
@pytest.mark.parametrize("page", sorted({RESULTS, *labels()["pages"].values()}))
def test_what_descriptions_name_is_printed(page):
    text = page_text(topic(page))
    assert re.match("#+ ", text) is not None


def test_a_section_ends_where_the_next_one_begins():
    text = page_text("semantics#clocks")
    assert text.startswith("## ")
    assert text.count("\n## ") == 0
    assert 0 < text.count("\n") < page_text("semantics").count("\n") / 3
    assert page_text("semantics#what-the-simulator-means") == page_text(
        "semantics"
    )  # with those below it


def test_every_topic_stands_with_the_title_of_its_page():
    lines = topics()
    assert [line.split()[0] for line in lines] == list(files_by_topic())
    [gaussian] = [line for line in lines if line.startswith("privacy/gaussian ")]
    assert gaussian.split(None, 1)[1] == "Gaussian answers"
    assert ["install", "Install"] in [line.split() for line in lines]


# Every field says what it means, in which unit and domain; its example is one.


def reachable(spec: type[Spec] = Scenario) -> Iterator[type[Spec]]:
    """Yield every table of a scenario, each once."""
    seen, waiting = set(), [spec]
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            yield each
            waiting += [s for info in each.model_fields.values() for s in specs(info.annotation)]


def test_every_field_has_a_meaning_a_unit_and_a_domain():
    silent = []
    for spec in reachable():
        for name, info in spec.model_fields.items():
            if name == "kind":
                continue
            extra = info.json_schema_extra or {}
            said = (info.description or "").strip()
            unit = not takes_numbers(info.annotation) or extra.get("unit", "") != ""
            if said == "" or said.endswith(".") or not unit or "any value" in domain(info):
                silent.append((spec.__name__, name))
    assert silent == []


def test_the_reference_has_every_field_of_every_kind():
    told = {(kind, each.name) for each in fields() for kind in each.kinds}
    kinds = {kind.kind for table in tables() for kind in table.kinds}
    for family in FAMILIES.values():
        for member in members(family):
            assert kind_of(member) in kinds
            assert (member.__doc__ or "").strip() != ""
            own = {(kind_of(member), name) for name in member.model_fields if name != "kind"}
            assert own - told == set()
    assert len(list(reachable())) > 80
    assert all(each.unit != "" and each.domain != "" for each in fields())


def test_defaults_are_those_of_the_fields():
    known = {(each.path, each.kinds): each.default for each in fields()}
    assert known["run.updates", ()] == "required"
    assert known["run.until", ()] == "absent"
    assert known["clock", ()] == '{ kind = "poisson" }'
    assert known["payload.header_bytes", ()] == "40"


FIELDS = {info.alias or name: info for name, info in Scenario.model_fields.items()}


@cache
def of_section(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(FIELDS[name].rebuild_annotation())


def lines() -> list[tuple[str, str]]:
    """Return every example with the path of the table that it is of, "" of a scenario's own."""
    found = [(each.table if each.kinds else each.path, each.example) for each in fields()]
    return found + [(kind.table, kind.example) for table in tables() for kind in table.kinds]


def test_every_example_is_a_line_that_is_valid():
    watts = dict.fromkeys(("idle", "listening", "computing", "sending", "receiving"), 1.0)
    base = scenario(energy=watts).plain()
    for path, line in lines():
        assert "\n" not in line
        table = tomllib.loads(line)
        [top] = table
        if top == "sweep":
            continue
        given = table[top]
        section = FIELDS[top]
        plain = [each for each in specs(section.annotation) if "kind" not in each.model_fields]
        if isinstance(given, dict) and plain and "kind" not in given:
            parse(plain[0], base.get(top, {}) | placed(given))
        elif "." in path:
            assert any(takes(each, inner(given, path)) for each in annotations(path)), line
        else:
            of_section(top).validate_python(placed(given))


def placed(value: Any) -> Any:
    """Return a table whose files are those of the package's examples, where it has them."""
    if isinstance(value, dict):
        return {key: placed(each) for key, each in value.items()}
    there = isinstance(value, str) and (EXAMPLES / Path(value).name).is_file()
    return str(EXAMPLES / value) if there else value


def inner(given: Any, path: str) -> Any:
    for key in path.split(".")[1:]:
        given = given[key]
    if path == "data.columns":
        assert list(given) == ["term"]
    return placed(given)


@cache
def annotations(path: str) -> list[Any]:
    """Return the types of the fields at a path below a table."""
    name = path.rpartition(".")[2]
    infos = [s.model_fields[name] for s in reachable() if name in s.model_fields]
    return [TypeAdapter(info.rebuild_annotation()) for info in infos]


def takes(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValueError:
        return False
    return True


def test_an_example_that_is_none_would_be_seen():
    with pytest.raises(ValueError, match="tag"):
        of_section("channel").validate_python({"kind": "canal"})
    assert not any(takes(each, {"kind": "clip"}) for each in annotations("privacy.sensitivity"))
