"""Commands that are killed with signal 9 and called again end as if nothing had happened; `tests/kills.py` does it often."""

import importlib.util
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import killed_commands
import kills
import pytest
import toy_book

MADE_OF_A_COMMIT = "a bundle is made of a commit, with git and with rocrate, which ./run bundle adds"
pytestmark = pytest.mark.skipif(not kills.CAN_KILL, reason="this system has no groups of processes that can be killed")


@pytest.mark.long
@pytest.mark.parametrize("name", killed_commands.COMMANDS)
def test_a_command_that_was_killed_and_is_called_again_leaves_the_same(name, tmp_path_factory):
    if name == "bundle" and not (importlib.util.find_spec("rocrate") and shutil.which("git")):
        pytest.skip(MADE_OF_A_COMMIT)
    command = killed_commands.COMMANDS[name]
    if name == "book":  # of which the test run has a copy already

        def prepare(root):
            toy_book.built(tmp_path_factory).rename(root)
            killed_commands.change(root)

        command = replace(command, prepare=prepare)
    assert kills.survey(command, times=len(kills.KINDS), seed=0) == []


BEGIN = "import sys, time; from pathlib import Path; one, lock = Path('one.txt'), Path('lock')"
RENAMED = "; own = one.with_name({name}); own.write_text('whole'); own.replace(one)"
LOCKED = "; lock.exists() and sys.exit(3); lock.touch()" + RENAMED.format(name="'.one'") + "; lock.unlink()"


@pytest.mark.parametrize(
    ("writes", "told"),
    [
        (RENAMED.format(name="'.one'"), None),
        ("; one.write_text('whole')", "right after: one.txt is empty"),
        (RENAMED.format(name="f'.{time.time_ns()}'"), "is left over"),
        (LOCKED, "called again: exit 3"),
    ],
)
def test_what_a_kill_spoils_is_found(tmp_path, writes, told):
    def left(root):
        return {path.name: path.read_text() for path in root.iterdir() if path.suffix not in (".py", ".pyc") and path.is_file()}

    def torn(root):
        return ["one.txt is empty"] if left(root).get("one.txt") == "" else []

    words = ("-c", BEGIN + writes)
    trial = kills.Trial(kills.Command("toy", words, Path.mkdir, lambda root: {"PYTHONPATH": str(root)}, left, torn), tmp_path)
    numbers = range(1, trial.changes + 1)
    found = [trial.kill(kills.KINDS[-1], SimpleNamespace(randint=lambda *_, number=number: number))[1] for number in numbers]
    complaints = sum(found, [])
    assert all(told in each for each in complaints) and complaints if told else not complaints
