"""Pages as a browser's parser sees them: elements, what they refer to, and their words."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

from asyncdp_sim.core.specification import parse
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sweeps.sweep import sweep
from tests.scenes import fields
from tests.tables import table

EVIL = "<script>alert('&\"')</script>"
"""A name that would run, were it not escaped."""
VOID = {"meta", "br", "hr", "img", "input", "link"}
LINES = {"dd", "div", "figcaption", "h1", "h2", "label", "li", "p", "summary", "title", "tr"}
CELLS = {"td": " | ", "th": " | ", "dt": " | ", "code": " ", "strong": " ", "span": " "}
"""Elements that end a line of a page as text, and what stands behind others within a line."""
ADDRESSES = ("src", "href", "srcset", "action", "data", "poster", "background", "formaction")

BASE = fields(**table(__file__, "pages.toml")["base"])
AS_PUBLISHED = {"privacy": BASE["privacy"] | {"noise": "scalar-as-published"}}
SWEEP = {"sweep": {"privacy.epsilon": [1.0, 5.0], "channel.loss": [0.0, 0.2]}}


def scenario(**parts: object) -> Scenario:
    return parse(Scenario, BASE | parts)


def written(directory: Path, *, events: bool = False, **parts: object) -> Path:
    """Write a small result of owners with names."""
    write(run(scenario(**parts), events=events), directory)
    return directory


def swept(directory: Path) -> Path:
    """Write a small sweep, none of whose cells is private."""
    sweep(scenario(**AS_PUBLISHED, **SWEEP), directory)
    return directory


@dataclass
class Seen(HTMLParser):
    """What is in a page."""

    text: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The words outside drawings, a line for each heading, paragraph, summary or row of a table."""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._line = ""
        self.feed(self.text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}")
            return
        self.open.pop()
        if tag in CELLS:
            self._line += CELLS[tag]
        elif tag in LINES and self._line.strip(" |\n") != "":
            self.lines.append(" ".join(self._line.split()).removesuffix(" |"))
        self._line = "" if tag in LINES else self._line

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.words.append(data)
            if "svg" not in self.open:
                self._line += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def answer(self) -> list[str]:
        """Its lines up to how the result is made again, which differs from machine to machine."""
        end = self.lines.index("Reproduction") if "Reproduction" in self.lines else None
        return self.lines[:end]

    @property
    def said(self) -> str:
        """All words, a space between any two."""
        return " ".join(" ".join(self.words).split())

    @property
    def foreign(self) -> list[str]:
        """Everything that a browser would fetch from elsewhere."""
        named = [
            f"{tag} {name}={value}"
            for tag, attributes in self.elements
            for name, value in attributes.items()
            if name.rpartition(":")[2] in ADDRESSES
            and not (value or "").startswith(("#", "data:image/png;base64,"))
        ]
        fetching = ("link", "iframe", "object", "embed", "base", "form")
        tags = [tag for tag, _ in self.elements if tag in fetching]
        known = ("://", "@import", "url(//", "xmlns", "fetch(", "XMLHttpRequest", "import(")
        return named + tags + [each for each in known if each in self.text]
