"""The docs site as a reader opens it."""

from pathlib import Path

import pytest

from tests.documents.parts import ROOT


def built(folder: Path) -> Path:
    """Build the site in a folder: broken links, anchors and omitted pages end the build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        from mkdocs.commands.build import build
        from mkdocs.config import load_config

        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder
