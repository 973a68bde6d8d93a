"""The notebook of the docs, executed: what it prints is kept in it, and what it draws."""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat

from tests.documents.parts import ROOT

NOTEBOOK = ROOT / "docs" / "tutorial-researcher.ipynb"


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook after running it in an empty folder; its text and pictures are kept."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.metadata = None, nbformat.NotebookNode()
            cell.outputs = _joined([kept for each in cell.outputs for kept in _kept(each)])
    notebook.metadata.pop("language_info", None)
    return notebook


def _kept(output: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return what is kept of an output: what was printed, or a picture without its other forms."""
    if output.output_type == "stream":
        return [output] if output.name == "stdout" else []
    picture = output.get("data", {}).get("image/png")
    if output.output_type != "display_data" or picture is None:
        return []
    return [nbformat.v4.new_output("display_data", data={"image/png": picture})]


def _joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Return outputs of which what is printed in a row is one: it comes in pieces of any length."""
    found: list[nbformat.NotebookNode] = []
    for each in outputs:
        if len(found) > 0 and found[-1].output_type == each.output_type == "stream":
            found[-1].text += each.text
        else:
            found.append(each)
    return found


def write(path: Path) -> None:
    """Execute a notebook, and keep in it what it printed."""
    nbformat.write(executed(path), path)
