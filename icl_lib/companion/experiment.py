"""A declared experiment: two frozen declarations and one run."""

import ast
import time
from dataclasses import dataclass, fields, is_dataclass, replace

import torch
import xarray as xr

from icl_lib.companion import book, results, weights
from icl_lib.companion.book import Book
from icl_lib.companion.declaration import Declaration
from icl_lib.companion.paper import notebook_of, paper_of, section_of
from icl_lib.typed import unknown

PROFILES = ("quick", "full")
PUBLISHED = "published"
"""A third profile, of the few experiments that declare it: the scale of the paper, for a GPU. The book does not need it."""


class Divided(Declaration):
    """A declaration whose run falls apart into independent cells, which a sweep runs one by one, in any order and place."""

    def cells(self) -> tuple[Declaration, ...]:
        """Return the declarations of the cells, each with its own run."""
        raise NotImplementedError

    def assemble(self, datasets: list[xr.Dataset]) -> xr.Dataset:
        """Return the dataset of the whole from those of the cells, in the order of ``cells``."""
        raise NotImplementedError

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Run the cells one after the other and assemble them."""
        return self.assemble([cell.run(seed, device) for cell in self.cells()])


@dataclass(frozen=True)
class Experiment:
    """One result of one section, at two scales: ``quick`` in seconds, ``full`` as on the published page.

    ``published`` is the paper's own scale where neither is; ``section`` is told where the room's name does not tell it.
    The room is where the class of the declaration is defined, and with it paper and notebook.

    >>> from dataclasses import dataclass
    >>> from icl_lib.companion import Count, Declaration, Experiment
    >>> @dataclass(frozen=True)
    ... class Toss(Declaration):
    ...     tosses: Count
    >>> coin = Experiment("toy-coin", "A coin", quick=Toss(10), full=Toss(1000)).with_settings("quick", ["tosses=20"])
    >>> coin.declaration("quick"), coin.declaration("full")
    (Toss(tosses=20), Toss(tosses=1000))
    """

    slug: str
    title: str
    quick: Declaration
    full: Declaration
    published: Declaration | None = None
    section: str = ""

    def __post_init__(self):
        if not self.section:
            object.__setattr__(self, "section", section_of(self.module))

    @property
    def module(self) -> str:
        """The module of the declaration's class."""
        return type(self.quick).__module__

    @property
    def book(self) -> Book:
        """The book that it stands in."""
        return book.of(self.quick)

    @property
    def paper(self) -> str:
        """The key of the wing."""
        return paper_of(self.module)

    @property
    def notebook(self) -> str:
        """The notebook of the room."""
        return notebook_of(self.module)

    def declaration(self, profile: str) -> Declaration:
        """Return the declaration of a profile; raises ValueError for an unknown one, or one this experiment does not have."""
        if profile == PUBLISHED:
            if self.published is None:
                raise ValueError(f"{self.slug} declares nothing at the paper's own scale: take quick or full")
            return self.published
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}: take one of {', '.join(PROFILES)}")
        return getattr(self, profile)

    def with_settings(self, profile: str, changes: list[str]) -> "Experiment":
        """Return the experiment with fields of one profile changed by ``NAME=VALUE``; raises ValueError for a bad one."""
        declaration = self.declaration(profile)
        for change in changes:
            field, equals, text = change.partition("=")
            if not equals:
                raise ValueError(f"{change!r} is no setting: write NAME=VALUE, for example alpha_test=0.7")
            declaration = altered(declaration, field, text)
        return replace(self, **{profile: declaration})

    def origin(self, profile: str, seed: int, device: str = "cpu") -> dict[str, str]:
        """Return all that determines a result of this experiment, and its digest ``identity``."""
        return weights.origin(self.declaration(profile), seed, device)

    def measure(self, profile: str, seed: int, device: str = "cpu") -> xr.Dataset:
        """Measure what a profile declares, with its provenance as attributes; this is what is stored."""
        return run_declared(self.slug, profile, self.declaration(profile), seed, device)

    def expect(self, measured: xr.Dataset) -> xr.Dataset:
        """Return measured data with what theory and papers say beside them; provenance stays."""
        declaration = self.declaration(measured.attrs["profile"])
        return declaration.expect(measured, int(measured.attrs["seed"])).assign_attrs(measured.attrs)

    def run(self, profile: str, seed: int, device: str = "cpu") -> xr.Dataset:
        """Measure, then expect."""
        return self.expect(self.measure(profile, seed, device))


def run_declared(slug: str, profile: str, declaration: Declaration, seed: int, device: str) -> xr.Dataset:
    """Measure what a declaration says, with provenance as attributes; raises ValueError for a negative seed."""
    require_device(device)
    if seed < 0:
        raise ValueError(f"the seed is {seed}: take a whole number of at least 0")
    origin = weights.origin(declaration, seed, device)  # the code as it is now
    made_from = results.provenance(slug, profile, origin, book.of(declaration))
    began = time.perf_counter()
    dataset = declaration.run(seed, device)
    return dataset.assign_attrs(made_from, seconds=f"{time.perf_counter() - began:.2f}")


def altered(declaration, field: str, text: str):
    """Return a declaration with one field changed, ``setting.beta`` for a field of a field, and its value read from text.

    The value takes the type of the present one: a whole number may stand for a float, and a single value for a tuple of
    one. Raises ValueError naming the fields when there is no such field, and the type when the value has another.
    """
    head, _, rest = field.partition(".")
    names = [each.name for each in fields(declaration)]
    if head not in names:
        raise ValueError(unknown(f"field of {type(declaration).__name__}", head, names))
    present = getattr(declaration, head)
    if is_dataclass(present):
        inner = ", ".join(each.name for each in fields(present))
        if not rest:
            raise ValueError(f"{head} is made of fields: name one, such as {head}.X=VALUE with X one of {inner}")
        return replace(declaration, **{head: altered(present, rest, text)})
    if rest:
        raise ValueError(f"{head} is one value: write {head}=VALUE")
    return replace(declaration, **{head: _like(present, text, field)})


def _like(present, text: str, field: str):
    try:
        value = present if text == "" else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    except (MemoryError, RecursionError) as error:  # thousands of signs, or of brackets
        raise ValueError(f"{field}={text[:20]}... is too long to be read") from error
    several = isinstance(present, tuple)
    entries = value if several and isinstance(value, tuple | list) else (value,)
    one = present[0] if several and present else present
    try:
        entries = tuple(float(entry) if type(one) is float and type(entry) is int else entry for entry in entries)
    except OverflowError as error:
        raise ValueError(f"{field}={text[:20]}... is larger than any number that can be computed with") from error
    if text == "" or not entries or any(type(entry) is not type(one) for entry in entries):
        text = text if len(text) < 60 else f"{text[:60]}..."
        raise ValueError(f"{field}={text} is not of the kind of its present value {present!r}: give one of that kind")
    return entries if several else entries[0]


def require_device(device: str) -> None:
    """Raise ValueError with a reason when ``device`` cannot be used here."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: take cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device is available here: take --device cpu")
