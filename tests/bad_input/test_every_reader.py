"""Each reader of a file, given what it cannot read: the line is in plain words, none of a library.

It names the file, and says what was found there and what is allowed, or what to type.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bad_input.test_malformed_places import GOOD
from tests.bad_input.transcript import leaked

CONTENTS = {
    "nothing": b"",
    "two bytes": b"ab",
    "two bytes that are no text": b"\x00\xff",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    "Parquet cut off": b"PAR1\x15\x04\x15\x10",
    "gzip cut off": b"\x1f\x8b\x08\x00\x00",
    "JSON with an open bracket": b'{"a": {"messages": [1, 2',
    "JSON nested too deep": b'{"a": ' + b"[" * 5000,
    "CSV with an open quotation mark": b'owner,start,end\n1,"0,1\n2,3,4\n',
    "XML with an open tag": b"<graphml><graph><node id='1'>",
    "TOML with half a number": b"x = 1e",
}
TABLE = '[data]\nkind = "table"\npath = "{}"\ntarget = "y"\nfeatures = 1\npublic_records = 2\n'
PUBLIC = TABLE.replace("path", "public_path") + 'path = "good.csv"\n'
ONLINE = '[availability]\nkind = "intervals"\npath = "{}"\n'
TIMES = '[compute]\nkind = "empirical"\npath = "{}"\ncolumn = "seconds"\n'
LINKS = '[topology]\nkind = "file"\npath = "{}"\n'


def named(section: str) -> Callable[[Path], list[object]]:
    """Return the check of a scenario that names the file in a section."""

    def typed(file: Path) -> list[object]:
        kept = GOOD if "[data]" not in section else re.sub(r"\[data\][^\[]*", "", GOOD)
        scenario = file.with_name("scenario.toml")
        scenario.write_text(kept + section.format(file.name), encoding="utf-8")
        file.with_name("good.csv").write_text("x,y\n1,2\n3,5\n2,4\n5,8\n", encoding="utf-8")
        return ["check", scenario]

    return typed


def imported(file: Path) -> list[object]:
    return ["import", "trace", file, "-o", file.with_name("out.toml"), "--fit"]


READERS: dict[str, tuple[str, Callable[[Path], list[object]]]] = {
    "scenario": ("bad.toml", lambda file: ["run", file]),
    "table": ("bad.csv", named(TABLE)),
    "gzipped table": ("bad.csv.gz", named(TABLE)),
    "Parquet table": ("bad.parquet", named(TABLE)),
    "public rows": ("bad.csv", named(PUBLIC)),
    "described table": ("bad.csv", lambda file: ["data", file]),
    "described Parquet table": ("bad.parquet", lambda file: ["data", file]),
    "intervals": ("bad.csv", named(ONLINE)),
    "Parquet intervals": ("bad.parquet", named(ONLINE)),
    "durations": ("bad.csv", named(TIMES)),
    "Parquet durations": ("bad.parquet", named(TIMES)),
    "links": ("bad.csv", named(LINKS)),
    "graph": ("bad.graphml", named(LINKS)),
    "measured trace": ("bad.csv", imported),
    "measured Parquet trace": ("bad.parquet", imported),
    "drawn forecast": ("bad.json", lambda file: ["plot", file]),
    "reported forecast": ("bad.json", lambda file: ["report", file]),
    "style sheet": ("bad.mplstyle", lambda file: ["plot", file.parent, "--style", file]),
    "reported result": ("manifest.json", lambda file: ["report", file.parent]),
    "compared result": ("manifest.json", lambda file: ["compare", file.parent, "another"]),
    "replayed result": ("manifest.json", lambda file: ["replay", file.parent]),
    "sweep": ("scenario.toml", lambda file: ["sweep", file.parent, "--status"]),
}
OF_LIBRARIES = re.compile(
    r"error\b|exception|codec|errno|recursion|char \d|object is|could not|convert to|magic"
    r"|footer|infer\b|expecting|not well-formed \(|no element|opcode b|\bb'|Is a directory|No such",
)
"""Words of Python, its modules, and Arrow in errors that are passed on."""


@pytest.mark.parametrize("reader", READERS)
def test_what_cannot_be_read_is_refused_in_plain_words(reader, command, tmp_path):
    name, typed = READERS[reader]
    for number, content in enumerate([*CONTENTS.values(), None]):
        folder = tmp_path / f"place-{number}"
        folder.mkdir()
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
        if reader == "style sheet" and content == b"":
            continue  # it sets nothing
        said = command(*typed(folder / name))
        assert (said.code, said.out) == (2, ""), (content, said.out)
        for line in said.lines:
            assert leaked(line) == []
            assert OF_LIBRARIES.search(line.replace(str(tmp_path), "")) is None
            assert name in line or line.startswith(str(folder))
            assert " given " in line
            assert re.search("; .*(allowed|required|to write one|nearest|did you mean)", line)
