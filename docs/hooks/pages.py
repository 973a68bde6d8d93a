"""Hooks of the docs site: its navigation, notebooks as pages, the gallery, and marked blocks.

An entry of ``nav`` that ends in "/" stands for the pages of that folder, its README first.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of folders into the navigation; a folder without any is left out."""
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every notebook, and the gallery."""
    for path in sorted(Path(config.docs_dir).rglob("*.ipynb")):
        name = path.relative_to(config.docs_dir).with_suffix(".md").as_posix()
        files.append(File.generated(config, name, content=notebook_page(path)))
    content = gallery_page(Path(config.docs_dir))
    files.append(File.generated(config, "gallery.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop the mark of commands that only nightly tests run: a block has one word after its ```."""
    return markdown.replace("\n```console nightly\n", "\n```console\n")


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search box and its lists of sections, which else have no names."""
    bare = '<div class="md-search" data-md-component="search" role="dialog">'
    output = output.replace(bare, bare.replace(">", ' aria-label="Search">'))
    return SECTION.sub(r'\1aria-label="\3"\2\3', output)


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same on the page for what is not found, which is a template."""
    return on_post_page(output_content)


SECTION = re.compile(
    r'(<nav class="md-nav"[^>]*?)aria-labelledby="[^"]*"'
    r'([^>]*>\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>\s*)([^<]*?)(?=\s*</label>)'
)
"""The list of a section, and its title; the label that it names may be an icon alone."""
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*pictures/[^)]*\.png)\)", re.S)
COMMAND = re.compile(
    r"python -m\s+tests\.(?:benchmarks\.\w+|pictures [\w-]+)"
    r"|(?:python -m\s+scenarios|asyncdp sweep|asyncdp run)\s[^`\n]+"
)


def gallery_page(root: Path) -> str:
    """Return the pictures of all pages, each with its sentence, command and page."""
    parts = ["# Gallery", "Each picture with the command that computes its numbers."]
    for page in sorted(root.rglob("*.md"), key=lambda page: (page.name != "index.md", page)):
        name, text = page.relative_to(root).as_posix(), page.read_text("utf-8")
        for found in PICTURE.finditer(text):
            before = text.rfind("\n#", 0, found.start())
            after = text.find("\n#", found.end())
            section = text[max(before, 0) : after if after >= 0 else len(text)]
            heads = [part.strip().partition("\n")[0].lstrip("# ") for part in (text, section)]
            title = ": ".join(dict.fromkeys(heads))
            command = COMMAND.search(section) or COMMAND.search(text)
            sentence = " ".join(found[1].split())
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
            parts.append(f"## {title}\n\n![{title}]({place})")
            parts.append(f"[{title}]({name}): {sentence}.")
            if command is not None:
                parts.append(f"```sh\n{' '.join(command[0].split())}\n```")
    return "\n\n".join(parts) + "\n"


def notebook_page(path: Path) -> str:
    """Return the cells of a notebook, what they print and what they draw, in Markdown."""
    parts = [f"[This page as a notebook]({path.name})\n"]
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            picture = output.get("data", {}).get("image/png")
            if picture is not None:
                shown = "".join("".join(picture).split())
                parts.append(f"![What the code above draws](data:image/png;base64,{shown})")
                continue
            printed = output.get("text") or output.get("data", {}).get("text/plain", "")
            parts.append(f"```text\n{''.join(printed).rstrip()}\n```")
    title = next(i for i, part in enumerate(parts) if part.startswith("# "))
    parts.insert(0, parts.pop(title))
    return "\n\n".join(parts)


def _expanded(entry: Any, root: Path) -> Any:
    """Return an entry of the navigation with its folders opened."""
    if isinstance(entry, dict):
        return {title: _expanded(inner, root) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [each for each in (_expanded(inner, root) for inner in entry) if not _empty(each)]
    if not entry.endswith("/"):
        return entry
    found = sorted((root / entry).rglob("*.md"), key=lambda path: (path.name != "README.md", path))
    return [path.relative_to(root).as_posix() for path in found]


def _empty(entry: Any) -> bool:
    return isinstance(entry, dict) and [] in entry.values()
