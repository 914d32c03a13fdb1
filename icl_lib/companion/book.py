"""The book that a companion serves: where it lies, and which package holds its rooms."""

import sys
from dataclasses import dataclass
from pathlib import Path

LIBRARY = "icl_lib"


@dataclass(frozen=True)
class Book:
    """A book, declared once, as ``BOOK`` of the package that holds its wings; all that is declared in there finds it.

    root    the checkout, whose commit results carry; None where the book is installed
    wings   the name of that package; its code counts in the digests of what it computes, beside the library's
    store   what is committed: full results ``<slug>.full.nc``, and ``weights/<name>.safetensors``
    build   what is made on this machine
    command   how its command line is called, which draws, judges and renews by name; empty where it has none
    codes   the address, as a page of results sees it, of the words on confidence codes; empty where no card is to lead there

    >>> from pathlib import Path
    >>> from icl_lib.companion import Book
    >>> toys = Book(Path("toys"), "wings", store=Path("toys/results"), build=Path("toys/_build"))
    >>> toys.result("toy-coin").as_posix(), toys.weights("coin", seed=2).as_posix()
    ('toys/results/toy-coin.full.nc', 'toys/results/weights/coin.seed2.safetensors')
    """

    root: Path | None
    wings: str
    store: Path
    build: Path
    command: str = ""
    codes: str = ""

    def __post_init__(self):
        for name in ("root", "store", "build"):
            if isinstance(found := getattr(self, name), str):
                object.__setattr__(self, name, Path(found))

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages whose code counts."""
        return LIBRARY, self.wings

    def renewal(self, name: str) -> str:
        """Return what makes a stored file anew, in words."""
        return f"{self.command} renew {name}" if self.command else "computing it and saving it there"

    def result(self, slug: str) -> Path:
        """Return where the committed result of an experiment lies."""
        return self.store / f"{slug}.full.nc"

    def weights(self, name: str, seed: int = 0) -> Path:
        """Return where the committed weights of a training lie: those of seed 0 under its name alone."""
        return self.store / "weights" / (f"{name}.seed{seed}.safetensors" if seed else f"{name}.safetensors")


def of(declaration: object) -> Book:
    """Return the book in which the class of a declaration is defined."""
    return of_module(type(declaration).__module__)


def of_module(module: str) -> Book:
    """Return the book of a module; outside of every book, in a script or a notebook, that of the working directory."""
    here = Path.cwd()
    return declared_in(module) or Book(here, module.partition(".")[0], here / "results", here / "_build")


def declared_in(module: str) -> Book | None:
    """Return the book that the nearest package around a module declares, if one does.

    >>> from icl_lib.companion import book
    >>> book.declared_in("a.script") is None
    True
    """
    package = module
    while package:
        found = getattr(sys.modules.get(package), "BOOK", None)
        if isinstance(found, Book) and f"{module}.".startswith(f"{found.wings}."):  # and not one that it uses
            return found
        package = package.rpartition(".")[0]
    return None


def require_declared(module: str) -> None:
    """Raise ValueError for a module of a package that stands in no book: other code of that package would not count.

    >>> from icl_lib.companion import book
    >>> book.require_declared("script")
    >>> book.require_declared("toys.coins.toss")
    Traceback (most recent call last):
    ValueError: toys.coins.toss is in no book, for its code would not count: write BOOK = Book(..., "toys", ...) in toys
    """
    package = module.partition(".")[0]
    if package != module and not package_of(module):
        found = getattr(sys.modules.get(package), "BOOK", None)
        other = f"BOOK of {package} is of {found.wings!r}" if isinstance(found, Book) else "its code would not count"
        raise ValueError(f'{module} is in no book, for {other}: write BOOK = Book(..., "{package}", ...) in {package}')


def package_of(module: str) -> str:
    """Return the package of code that counts in which a module stands: the library, or the wings of a book; else nothing."""
    if module.partition(".")[0] == LIBRARY:
        return LIBRARY
    found = declared_in(module)
    return found.wings if found else ""
