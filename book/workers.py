"""Child processes, two at a time, watched line by line."""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from book.progress import Progress

AT_A_TIME = 2
STATE = "state: "  # a line a child prints to say how far it is


@dataclass(frozen=True)
class Outcome:
    """How one child ended."""

    status: int
    seconds: float
    lines: tuple[str, ...]

    @property
    def complaint(self) -> str:
        """What the child said last; a child that was killed says nothing."""
        return self.lines[-1] if self.lines else f"it ended with status {self.status}, perhaps for want of memory."


def run_all(
    commands: dict[str, list[str]],
    cwd: Path,
    env: dict[str, str],
    progress: Progress,
    succeeded: Callable[[str, Outcome], None] = lambda name, outcome: None,
) -> dict[str, Outcome]:
    """Run every command, also after one has failed, and call `succeeded` as soon as one has not.

    An interrupt ends all of them.
    """
    children: list[subprocess.Popen] = []

    def run_one(name: str) -> Outcome:
        progress.begin(name, "starting")
        child = _start(commands[name], cwd, env)
        children.append(child)
        lines = _follow(child, name, progress)
        seconds = progress.end(name)
        outcome = Outcome(child.wait(), seconds, tuple(lines))
        verb = "FAILED after" if outcome.status > 0 else "stopped after" if outcome.status else "done in"
        if not outcome.status:
            succeeded(name, outcome)
        progress.say(f"  {name:32} {verb} {seconds:.1f} s")
        return outcome

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        try:
            return dict(zip(commands, pool.map(run_one, commands), strict=True))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in children:
                child.kill()
            raise


def _start(command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen:
    # Its own session: Ctrl-C reaches the parent alone, which then ends the child. The open stdin tells
    # the child that the parent lives, also when the parent is killed and can say nothing.
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=os.name == "posix",
    )


def _follow(child: subprocess.Popen, name: str, progress: Progress) -> list[str]:
    lines = []
    for line in child.stdout:
        line = line.rstrip()
        if line.startswith(STATE):
            progress.update(name, line.removeprefix(STATE))
        elif line:
            lines.append(line)
    return lines
