"""The build copies the pages of docs into the package, where ``asyncdp docs`` finds them."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithPages(build_py):
    """The build of a package with its pages."""

    def run(self) -> None:
        """Copy modules and data, then pages; an editable install reads those of its checkout."""
        super().run()
        for page in () if self.editable_mode else Path("docs").rglob("*.md"):
            copy = Path(self.build_lib, "asyncdp_sim", page)
            self.mkpath(str(copy.parent))
            self.copy_file(str(page), str(copy))


setup(cmdclass={"build_py": WithPages})
