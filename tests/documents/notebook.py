"""The notebook of the docs, executed: what it prints is kept in it, pictures are not."""

from pathlib import Path

import nbformat

from tests.documents.parts import ROOT

NOTEBOOK = ROOT / "docs" / "tutorial-researcher.ipynb"


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook after running it in its folder, with nothing but printed text kept."""
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.metadata = None, nbformat.NotebookNode()
            printed = [each for each in cell.outputs if each.output_type == "stream"]
            cell.outputs = [each for each in printed if each.name == "stdout"]
    notebook.metadata.pop("language_info", None)
    return notebook


def write(path: Path) -> None:
    """Execute a notebook, and keep in it what it printed."""
    nbformat.write(executed(path), path)
