"""A program of its own in another checkout, which ends when its caller does, also when that is killed."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping

from book.builder.layout import Layout


def run(module: str, words: list[str], layout: Layout, settled: Mapping[str, str]) -> int:
    """Run a module of the checkout of a layout there, without the settings of the reader; its exit status."""
    variables = {name: value for name, value in layout.child_environment().items() if not name.startswith("ICL_")}
    variables["GIT_CEILING_DIRECTORIES"] = str(layout.root.parent)  # a checkout around it is another
    program = [sys.executable, "-m", module, *words]
    with subprocess.Popen(program, cwd=layout.root, env=variables | settled, stdin=subprocess.PIPE) as process:
        status = process.wait()
    if status == 130:
        raise KeyboardInterrupt
    return status


def end_with_caller() -> None:
    """Leave as soon as the process that called `run` is gone: its end of the pipe closes with it."""

    def watch() -> None:
        os.read(0, 1)  # not through a buffer, whose lock would outlive this program
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
