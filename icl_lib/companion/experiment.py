"""A declared experiment: two frozen declarations and one run."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
import xarray as xr

from icl_lib.companion import book, identity, laid_open, origins, results, settings, weights
from icl_lib.companion.book import Book
from icl_lib.companion.declaration import Declaration
from icl_lib.companion.marks import CHANGED, IN_THE_BOOK
from icl_lib.companion.paper import HERE, notebook_of, paper_of, section_of
from icl_lib.needed import Missing, require_beside

PROFILES = ("quick", "full")
PUBLISHED = "published"
"""A third profile, of the few experiments that declare it: the scale of the paper, for a GPU. The book does not need it."""


@dataclass(frozen=True, repr=False)
class Experiment:
    """One result of one section, at two scales: ``quick`` in seconds, ``full`` as on the published page.

    ``published`` is the paper's own scale where neither is; ``section`` is told where the room's name does not tell it;
    ``needs`` are packages that measuring needs beside those of the library, and reading what is stored does not.
    The room is where the class of the declaration is defined, and with it paper and notebook.

    >>> from dataclasses import dataclass
    >>> from icl_lib.companion import Count, Declaration, Experiment
    >>> @dataclass(frozen=True)
    ... class Toss(Declaration):
    ...     tosses: Count
    >>> coin = Experiment("toy-coin", "A coin", quick=Toss(10), full=Toss(1000)).with_settings("quick", ["tosses=20"])
    >>> coin.declaration("quick"), coin.declaration("full")
    (Toss(tosses=20), Toss(tosses=1000))

    With other settings at both scales, which stay beside what it gives:

    >>> coin.but(tosses=50).changed
    {'tosses': 50}
    """

    slug: str
    title: str
    quick: Declaration
    full: Declaration
    published: Declaration | None = None
    section: str = ""
    needs: tuple[str, ...] = ()
    in_the_book: "Experiment | None" = field(default=None, compare=False)
    """Of one with other settings, what it was before."""

    def __post_init__(self):
        if not re.fullmatch(r"\w[\w-]*", self.slug):
            raise ValueError(f"the slug is {self.slug!r}, and names files: take letters, digits and hyphens")
        if isinstance(self.needs, str):
            raise ValueError(f"needs= of {self.slug} is one text: write needs=({self.needs!r},)")
        scales = [self.quick, self.full, *([self.published] if self.published else [])]
        if not isinstance(self.quick, Declaration) or {type(each) for each in scales} != {type(self.quick)}:
            told = ", ".join(
                dict.fromkeys(f"{each!r:.40}" if isinstance(each, type) else type(each).__name__ for each in scales)
            )
            raise ValueError(f"{self.slug} is declared by {told}: quick and full are declarations of one class")
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
        """The name of the notebook that shows it, without its ending; empty in a script."""
        return notebook_of(self.module)

    def declaration(self, profile: str) -> Declaration:
        """Return the declaration of a profile; raises ValueError for an unknown one, or one this experiment does not have."""
        if profile == PUBLISHED and not self.published:
            raise ValueError(f"{self.slug} declares nothing at the paper's own scale: take quick or full")
        if profile not in self.profiles:
            raise settings.Refused(f"unknown profile {profile!r}: take one of {', '.join(self.profiles)}")
        return getattr(self, profile)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles that it declares."""
        return (*PROFILES, *([PUBLISHED] if self.published else []))

    def with_settings(self, profile: str, changes: list[str]) -> "Experiment":
        """Return the experiment with fields of one profile changed by ``NAME=VALUE``; raises ValueError for a bad one."""
        made = {}
        for change in changes:
            name, equals, text = (part.strip() for part in change.partition("="))
            if not equals:
                raise ValueError(f"{change!r} is no setting: write NAME=VALUE, for example alpha_test=0.7")
            if name in made:
                raise ValueError(f"{name} is set twice: set it once")
            made[name] = settings.read(text, name)
        return self._changed({profile: settings.changed(self.declaration(profile), made)})

    def but(self, **values: object) -> "Experiment":
        """Return the experiment with other settings at every scale, ``but(d=10)``, or ``but(**{"setting.beta": 3.0})``.

        Raises ValueError in one sentence for a field that there is not, and for a value that its annotation refuses.
        """
        made, declarations = {name: settings.given(value, name) for name, value in values.items()}, {}
        for profile in self.profiles:
            try:
                declarations[profile] = settings.changed(self.declaration(profile), made)
            except ValueError as error:
                raise settings.Refused(str(error) if profile == "quick" else f"in the {profile} profile, {error}") from None
        return self._changed(declarations)

    def _changed(self, declarations: dict[str, Declaration]) -> "Experiment":
        return replace(self, **declarations, in_the_book=self.in_the_book or self)

    @property
    def changed(self) -> dict[str, object]:
        """What is other than in the book, by name."""
        return {name: values[0] for profile in self.profiles for name, values in self._differences(profile).items()}

    def changed_in(self, profile: str) -> dict[str, object]:
        """What is other in one profile."""
        return {name: mine for name, (mine, _) in self._differences(profile).items()}

    def _differences(self, profile: str) -> dict[str, tuple[object, object]]:
        before = (self.in_the_book or self).declaration(profile)
        return {name: tuple(both) for name, *both in settings.differences(self.declaration(profile), before)}

    def not_stored(self, seed: int) -> str:
        """Return in a sentence why the book can store no full result of it, and what computes one; an empty text if it can."""
        here = f"its run('full', {seed})"
        if self.module == HERE:
            return f"{self.slug} is declared in a cell or a script, which is not stored: {here} computes it here"
        if changed := self.changed_in("full"):
            command = next(iter(laid_open.commands(self, f"--profile full --seed {seed}", "full")), here)
            return f"{self.slug} with {settings.told(changed)} is not stored: {command} computes it, which may take long"
        return ""

    def origin(self, profile: str, seed: int, device: str = "cpu", made_with: str | None = None) -> dict[str, str]:
        """Return all that determines a result of this experiment, and its digest ``identity``."""
        return weights.origin(self.declaration(profile), seed, device, made_with)

    def measure(self, profile: str, seed: int, device: str = "cpu") -> xr.Dataset:
        """Measure what a profile declares, with its provenance as attributes; this is what is stored.

        Raises ValueError in a sentence where a package is missing, or other settings cannot be run.
        """
        require_beside(self.slug, *self.needs)
        with self._refused(profile):
            return run_declared(self.slug, profile, self.declaration(profile), seed, device)

    def expect(self, measured: xr.Dataset) -> xr.Dataset:
        """Return measured data with what theory and papers say beside them; provenance stays."""
        profile = measured.attrs["profile"]
        with self._refused(profile):
            expected = self.declaration(profile).expect(measured, int(measured.attrs["seed"]))
            _require_dataset("expect", self.declaration(profile), expected)
        expected = expected.assign_attrs(measured.attrs)
        if not (both := self._differences(profile)):
            return expected
        mine, before = ({name: values[place] for name, values in both.items()} for place in (0, 1))
        return expected.assign_attrs({CHANGED: settings.told(mine), IN_THE_BOOK: settings.told(before)})

    def run(self, profile: str, seed: int, device: str = "cpu") -> xr.Dataset:
        """Measure, then expect."""
        return self.expect(self.measure(profile, seed, device))

    @contextmanager
    def _refused(self, profile: str) -> Iterator[None]:
        """Put in a sentence what goes wrong with settings of a reader's; with those of the book it is an error of ours."""
        try:
            yield
        except Exception as error:
            if type(error) in (ValueError, settings.Refused, Missing) or not (mine := self.changed_in(profile)):
                raise
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise settings.Refused(f"{self.slug} cannot be run with {settings.told(mine)} ({why[:120]})") from error

    def __repr__(self) -> str:
        return laid_open.in_words(self)

    def _repr_html_(self) -> str:
        return laid_open.as_html(self)


def run_declared(slug: str, profile: str, declaration: Declaration, seed: int, device: str) -> xr.Dataset:
    """Measure what a declaration says, with provenance as attributes; raises ValueError for what is no seed, or no result."""
    require_device(device)
    results.require_seed(seed)
    known = weights.origin if identity.readable(declaration) else origins.of_a_cell
    origin = known(declaration, seed, device)  # the code as its files are: one edited since its import needs a new process
    made_from = results.provenance(slug, profile, origin, book.of(declaration))
    Declaration.__post_init__(declaration)  # which one of its own need not have called
    began = time.perf_counter()
    dataset = declaration.run(seed, device)
    _require_dataset("run", declaration, dataset)
    if both := [name for name in dataset.dims if name in dataset and dataset[name].dims != (name,)]:
        raise ValueError(f"{both[0]} is a variable and a dimension of another: give one of both another name")
    return dataset.assign_attrs(made_from, seconds=f"{time.perf_counter() - began:.2f}")


def _require_dataset(method: str, declaration: Declaration, given: object) -> None:
    if not isinstance(given, xr.Dataset):
        name, found = type(declaration).__name__, type(given).__name__
        raise ValueError(f"{method} of {name} gives a {found}: return an xarray.Dataset")


def require_device(device: str) -> None:
    """Raise ValueError with a reason when ``device`` cannot be used here."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: take cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device is available here: take cpu")
