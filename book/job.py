"""`python -m book.job MODULE ...`: run a module as a program; what stops it outside of its own words is told in a sentence.

`run` starts every job in this way. Standard library only, so that also what happens while libraries are imported is told.
"""

import gc
import os
import runpy
import signal
import sys

from icl_lib.typed import Misdeclared


def main(words: list[str]) -> int:
    """Run a module with the words after its name."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="replace")  # a terminal may have no sign for what is printed
    module, *sys.argv[1:] = words
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        print(end="", flush=True)
    except KeyboardInterrupt:
        print("Stopped; nothing half-finished is used by the next call.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Misdeclared as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except SyntaxError as error:
        print(f"{error.filename}, line {error.lineno}: {error.msg}. Mend it, or restore it from git.", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"{error}. Restore the library from git; where a package is missing, remove .venv.", file=sys.stderr)
        return 1
    except (MemoryError, RecursionError) as error:
        print(f"Stopped: this needs more than the machine has ({type(error).__name__}).", file=sys.stderr)
        return 1
    finally:
        gc.freeze()  # an exit looks for no garbage then: in all that a build holds that takes a second
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
