"""Runs commands of `python -m papers` that are to be killed: each in a fork of this process, which has imported their modules.

Reads a line of JSON for each, and writes the number of its process and, when that has ended, its status. Workers of a command
are forks, too: else most kills would fall into the seconds in which torch is imported, where nothing can go wrong.
"""

import json
import multiprocessing
import os
import runpy
import sys

import sitecustomize as hook

import papers.__main__
import papers.regression.decoders  # noqa: F401

context = multiprocessing.get_context
multiprocessing.get_context = lambda method=None: context("fork")


def command(asked: dict) -> None:
    """Become the command: the leader of a group of its own, which is counted and killed as it was asked."""
    os.setsid()
    os.chdir(asked["folder"])
    said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(said, stream)
    hook.AT, hook.GROUP = asked["at"], str(os.getpid())
    sys.argv = ["papers", *asked["words"]]
    runpy.run_module("papers", run_name="__main__", alter_sys=True)


for line in sys.stdin:
    if not (process := os.fork()):
        command(json.loads(line))
    print(process, flush=True)
    print(os.waitpid(process, 0)[1], flush=True)
