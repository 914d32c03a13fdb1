"""A notebook's kernel as a fork of the process that executes the notebook, which has imported the large libraries."""

import logging
import multiprocessing
import os
import sys
from multiprocessing.connection import Connection

from jupyter_client import AsyncKernelClient, AsyncKernelManager
from jupyter_client.channels import AsyncZMQSocketChannel

SILENCE = 0.02
"""Seconds without a message after which a kernel that has answered is ready; jupyter_client waits for ten times as long."""


class Waiting:
    """A fork of this process, made while it has one thread; it waits for a connection file and becomes a kernel."""

    stdin = stdout = stderr = None  # what jupyter_client asks of a process, besides the methods

    def __init__(self):
        context = multiprocessing.get_context("fork")
        theirs, self._orders = context.Pipe(duplex=False)
        self._process = context.Process(target=_wait_and_serve, args=(theirs, self._orders))
        self._process.start()
        theirs.close()
        self.pid = self._process.pid
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def start(self, connection_file: str, folder: str) -> None:
        """Let the kernel begin, in a folder."""
        self._orders.send((connection_file, os.fspath(folder)))

    def poll(self) -> int | None:
        """Return the exit status, or None while the kernel lives."""
        return self._process.exitcode

    def wait(self) -> int:
        """Wait for the end, and return the exit status."""
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel."""
        os.kill(self.pid, number)


class Outputs(AsyncZMQSocketChannel):
    """What a kernel shows; nobody waits longer than `SILENCE` for nothing."""

    async def get_msg(self, timeout: float | None = None) -> dict:
        return await super().get_msg(timeout and min(timeout, SILENCE))


class Client(AsyncKernelClient):
    """What speaks with a kernel."""

    iopub_channel_class = Outputs


class ForkedKernelManager(AsyncKernelManager):
    """Starts the kernel that is waiting, and any further one as a program of its own."""

    client_factory = Client
    waiting: Waiting | None = None

    async def _async_launch_kernel(self, kernel_cmd, **options):
        waiting, ForkedKernelManager.waiting = ForkedKernelManager.waiting, None
        if waiting is None:
            await super()._async_launch_kernel(kernel_cmd, **options)
            return
        waiting.start(self.connection_file, options.get("cwd", os.getcwd()))
        self.provisioner.process, self.provisioner.pid = waiting, waiting.pid
        self._reconcile_connection_info(self.provisioner.connection_info)

    async def _async_interrupt_kernel(self):
        """Nothing: a kernel is only interrupted before it is killed, and would say so now and then."""


def _wait_and_serve(orders: Connection, other_end: Connection) -> None:
    other_end.close()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__  # a kernel watches their files; the parent's have none
    try:
        connection_file, folder = orders.recv()
    except EOFError:  # the parent is gone
        return
    os.chdir(folder)
    from ipykernel.kernelapp import IPKernelApp

    settings = {"parent_handle": os.getppid(), "log_level": logging.ERROR}  # ends with its parent; says no more than errors
    words = [f"--IPKernelApp.{name}={value}" for name, value in settings.items()]
    IPKernelApp.launch_instance(argv=["-f", connection_file, *words])
