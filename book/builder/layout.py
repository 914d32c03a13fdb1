"""Where things lie in one checkout."""

import os
from dataclasses import dataclass
from pathlib import Path

MARK = ".made-from"
"""In a site's folder, what it was made from; a site without it is not whole."""
COPIES = "_sources/notebooks"
"""Where a site has the reading copies of its notebooks."""
UP = "../../"
"""The way from there to the site."""


@dataclass(frozen=True)
class Layout:
    """The folders of a build, all below one root."""

    root: Path

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def stored_results(self) -> Path:
        return self.root / "book" / "data"

    @property
    def build(self) -> Path:
        return self.root / "_build"

    @property
    def html(self) -> Path:
        return self.build / "html"

    @property
    def lab(self) -> Path:
        """Where a reader changes reading copies."""
        return self.build / "lab"

    def executed(self, profile: str, name: str) -> Path:
        """The folder of one executed notebook: `NAME.ipynb`, `record.json` and `results/`."""
        return self.build / "executed" / profile / name

    def child_environment(self) -> dict[str, str]:
        """Variables for a child process that computes: one thread each, and this checkout's library."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")
        return dict(os.environ) | threads | {"PYTHONPATH": str(self.root), "PYTHONUNBUFFERED": "1"}
