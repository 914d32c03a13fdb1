"""Telling the reader what is going on while long things run."""

import sys
import threading
import time


class Progress:
    """A line for everything that has ended, and one for everything that is under way.

    On a terminal the second line is rewritten twice a second; elsewhere it is printed every ten seconds.
    """

    def __init__(self, stream=None):
        self.stream = stream or sys.stdout
        self.live = self.stream.isatty()
        self.started = time.monotonic()
        self._running: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()

    def __enter__(self):
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        self._ticker.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._ticker.join()
        self._erase()

    def say(self, line: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._erase()
            print(line, file=self.stream, flush=True)

    def begin(self, name: str, state: str) -> None:
        with self._lock:
            self._running[name] = (time.monotonic(), state)

    def update(self, name: str, state: str) -> None:
        with self._lock:
            self._running[name] = (self._running[name][0], state)

    def end(self, name: str) -> float:
        """Forget `name`; the seconds it took."""
        with self._lock:
            return time.monotonic() - self._running.pop(name)[0]

    def status(self) -> str:
        """What is under way, in one line."""
        now = time.monotonic()
        parts = [f"{name} {state}, {now - begun:.0f} s" for name, (begun, state) in self._running.items()]
        return f"[{now - self.started:4.0f} s] " + " · ".join(parts)

    def _tick(self) -> None:
        while not self._over.wait(0.5 if self.live else 10):
            with self._lock:
                if self._running:
                    self._erase()
                    print(
                        self.status()[: 110 if self.live else None],
                        end="" if self.live else "\n",
                        file=self.stream,
                        flush=True,
                    )

    def _erase(self) -> None:
        if self.live:
            print("\r\x1b[2K", end="", file=self.stream, flush=True)
