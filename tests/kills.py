"""Kill a command with signal 9 at random moments, call it again, and see whether it ends as if nothing had happened.

    python tests/kills.py [book renew train sweep bundle] [--times 50] [--seed 0]

Every command runs in a small checkout. What it leaves when nothing disturbs it is noted first; then it is killed, each time in
a fresh copy of the checkout: the whole group of its processes or its first process alone, at a moment of the time that it
takes, or at a change to a file. Right after the kill no file may be half-written; the same command, called again, has to leave
what was noted, no file more and no file less.
"""

import argparse
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOOK = HERE / "killed_at.py"
KINDS = ("the group at a moment", "the first process at a moment", "the group at a change to a file")
CAN_KILL = hasattr(os, "killpg")


@dataclass(frozen=True)
class Command:
    """A command in a small checkout: how it is called, what it has to leave, and what is wrong with files that it left.

    prepare     writes the checkout, and a ``sitecustomize.py`` on the command's path is added to it
    left        every file that matters, with a digest of what is in it but for times
    torn        complaints about the files of a checkout in which the command was killed
    forked      it is one of `python -m papers`, and starts as a fork of a process that has imported its modules
    """

    name: str
    words: tuple[str, ...]
    prepare: Callable[[Path], object]
    environment: Callable[[Path], Mapping[str, str]]
    left: Callable[[Path], dict[str, str]]
    torn: Callable[[Path], list[str]]
    forked: bool = False


class Fork:
    """A command that was started by ``killed_forks.py``, with what is asked here of a ``subprocess.Popen``."""

    def __init__(self, starter: subprocess.Popen, asked: dict):
        self.said, self.status = starter.stdout, None
        starter.stdin.write(json.dumps(asked).encode() + b"\n")
        self.pid = int(self.said.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status."""
        if self.status is None:
            if not select.select([self.said], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("", timeout)
            self.status = os.waitstatus_to_exitcode(int(self.said.readline()))
        return self.status

    def kill(self) -> None:
        """Kill this process alone."""
        os.kill(self.pid, signal.SIGKILL)


class Trial:
    """A command with what it leaves undisturbed, how long it takes and how many changes to files it makes."""

    def __init__(self, command: Command, folder: Path):
        self.command, self.folder, self.root = command, folder, folder / "checkout"
        self.starter: subprocess.Popen | None = None
        self.pristine, self.said, self.counted = (folder / name for name in ("pristine", "said", "counted"))
        command.prepare(self.pristine)
        shutil.copy(HOOK, self.pristine / "sitecustomize.py")
        self.fresh()
        if command.forked:
            self.run()  # from now on all is imported
            self.fresh()
        self.seconds, self.changes, self.wanted = self.run(), self.counted.stat().st_size, command.left(self.root)
        for cache in self.root.rglob("__pycache__"):  # modules that were compiled now
            shutil.copytree(cache, self.pristine / cache.relative_to(self.root), dirs_exist_ok=True)

    def start(self, at: int | None = None) -> "subprocess.Popen | Fork":
        """Start the command, to be killed at a change to a file or later."""
        self.counted.write_bytes(b"")
        if not self.command.forked:
            with open(self.said, "wb") as said:
                return self._open(self.command.words, at, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        if self.starter is None:
            piped = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            self.starter = self._open([str(HERE / "killed_forks.py")], None, **piped)
        asked = dict(words=self.command.words, folder=str(self.root), said=str(self.said), at=str(at or ""))
        return Fork(self.starter, asked)

    def _open(self, words: Sequence[str], at: int | None, **streams) -> subprocess.Popen:
        told = {"KILLED_FOLDER": str(self.root), "KILLED_COUNTED": str(self.counted), "KILLED_AT": str(at or "")}
        variables = {**self.command.environment(self.root), **told}
        return subprocess.Popen([sys.executable, *words], cwd=self.root, env=variables, start_new_session=True, **streams)

    def close(self) -> None:
        """End the process of which commands are forks."""
        if self.starter:
            self.starter.communicate()

    def fresh(self) -> None:
        """Write the checkout as it was before any run."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)  # what a process that was ending wrote meanwhile
        shutil.copytree(self.pristine, self.root)

    def run(self) -> float:
        """Run the command to its end and return its seconds; raises RuntimeError with what it said when that is none."""
        began = time.monotonic()
        if status := self.start().wait():
            raise RuntimeError(f"exit {status}: {self.said.read_text(errors='replace')[-2000:]}")
        return time.monotonic() - began

    def kill(self, kind: str, draw: random.Random) -> tuple[str, list[str]]:
        """Kill it once and call it again: when it was killed, and what is wrong, nothing when all is well."""
        at_file, killed = kind.endswith("file"), False
        while not killed:
            self.fresh()
            at = draw.randint(1, self.changes) if at_file else draw.uniform(0, self.seconds)
            process, began = self.start(at if at_file else None), time.monotonic()
            try:
                process.wait(None if at_file else at)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL) if "group" in kind else process.kill()
            killed = process.wait() == -signal.SIGKILL
            if not killed:  # it was through before: the machine is faster now
                self.seconds = min(self.seconds, time.monotonic() - began)
        told = f"change {at} of {self.changes}" if at_file else f"{at:.2f} of {self.seconds:.2f} s"
        wrong = [f"right after: {each}" for each in self.command.torn(self.root)]
        try:
            self.run()
        except RuntimeError as error:
            return told, [*wrong, f"called again: {error}"]
        return told, wrong + different(self.wanted, self.command.left(self.root))


def different(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Complaints about files that are missing, left over, or not what they have to be."""
    missing = [f"{name} is missing" for name in wanted if name not in found]
    others = [f"{name} is another" for name in wanted if found.get(name, wanted[name]) != wanted[name]]
    return missing + others + [f"{name} is left over" for name in found if name not in wanted]


def survey(command: Command, times: int, seed: int, say: Callable[[str], None] = print) -> list[str]:
    """Kill a command so many times, say a line for each, and return what was wrong."""
    began, draw, wrong, killed = time.monotonic(), random.Random(f"{command.name} {seed}"), [], Counter()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"kills-{command.name}-", ignore_cleanup_errors=True))
        trial = Trial(command, Path(folder).resolve())
        stack.callback(trial.close)
        say(f"{command.name}: {trial.seconds:.1f} s undisturbed, {trial.changes} changes to files.")
        for number in range(times):
            kind = KINDS[number % len(KINDS)]
            told, found = trial.kill(kind, draw)
            killed[kind] += 1
            wrong += [f"{command.name}, {kind}, {told}: {each}" for each in found]
            say(f"  {number + 1} of {times}: {kind}, {told}: {'; '.join(found) or 'survived'}")
            failed = len({each.split(": ")[0] for each in wrong})
    kinds = ", ".join(f"{count} of {kind}" for kind, count in killed.items())
    say(f"{command.name}: {times - failed} of {times} survived ({kinds}) in {time.monotonic() - began:.0f} s.")
    return wrong


def main(words: list[str]) -> int:
    """Kill the named commands, or all; 1 when one was not as before."""
    from killed_commands import COMMANDS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"all unless named: {', '.join(COMMANDS)}")
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(words)
    if unknown := {*asked.commands} - {*COMMANDS}:
        parser.error(f"no command {min(unknown)}: take some of {', '.join(COMMANDS)}")
    if not CAN_KILL:
        parser.error("this system has no groups of processes that can be killed")
    wrong = []
    for name in asked.commands or COMMANDS:
        wrong += survey(COMMANDS[name], asked.times, asked.seed, lambda line: print(line, flush=True))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
