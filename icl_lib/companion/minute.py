"""In one minute: what a section says, whether it is so and what is new, beside its main picture."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import xarray as xr
from markupsafe import Markup

from icl_lib.companion.claim import Claim
from icl_lib.companion.html import template
from icl_lib.companion.marks import marked, marked_html
from icl_lib.companion.mathematics import plain, typeset
from icl_lib.companion.verdict import HOLDS
from icl_lib.typed import Misdeclared, unknown

PARTS = ("Says", "So", "New")
TITLES = dict(zip(PARTS, ("It says", "Is it so?", "New here"), strict=True))
PLACE = re.compile(r"\{(\w+)\}")
SMALL = "The numbers in this box are from the quick profile, those in the text below from the full one."
Numbers = Callable[[xr.Dataset], Mapping[str, str] | None]


@dataclass(frozen=True)
class Minute:
    """The answer of one section, from its main result.

    told      its parts by name; ``{name}`` in them is one of the ``numbers``, or the id of a claim of the section
    """

    experiment: str
    told: Mapping[str, str]
    numbers: Numbers

    def box(
        self, dataset: xr.Dataset, claims: list[Claim], verdicts: Mapping[str, str], pages: Mapping[str, str] | None = None
    ) -> "Box":
        """Return the box; ``verdicts`` are those found here, and the recorded ones stand for the other claims.

        ``pages`` are the addresses of the claims' pages, on a page that reviews a whole part.
        """
        known = {claim.id: claim.recorded for claim in claims} | dict(verdicts)
        numbers = dict(self.numbers(dataset) or {})
        return Box(self.told, numbers, known, pages or {}, small=bool(numbers) and dataset.attrs.get("profile") == "quick")


@dataclass(frozen=True)
class Box:
    """The box of one section, filled in; ``small`` if its numbers are of the quick profile, as those of the text are not."""

    told: Mapping[str, str]
    numbers: Mapping[str, str]
    verdicts: Mapping[str, str]
    pages: Mapping[str, str] = field(default_factory=dict)
    small: bool = False

    def __post_init__(self):
        known = {*self.numbers, *self.verdicts}
        for name in PLACE.findall(re.sub(r"\$[^$]*\$", "", " ".join(self.told.values()))):
            if name not in known:
                raise ValueError(f"the minute has a place for {name}: {unknown('name', name, known)}")

    def __repr__(self) -> str:
        def filled(name: str) -> str:
            return marked(self.numbers[name]) if name in self.numbers else f"{name} ({self.verdicts[name]})"

        lines = [f"{TITLES[part]}: {''.join(self._pieces(text, plain, filled))}" for part, text in self.told.items()]
        return "\n".join([*lines, *([self._count()] if self.verdicts else []), *([SMALL] if self.small else [])])

    def _pieces(self, text: str, words: Callable[[str], str], filled: Callable[[str], str]) -> list[str]:
        """Return the text in pieces, what stands between the places through ``words``, the places through ``filled``."""
        names, pieces, start = "|".join([*self.numbers, *self.verdicts]), [], 0
        for found in re.finditer(rf"\$[^$]*\$|\{{({names})\}}", text):
            if found[1]:  # else a formula, in which braces are no place
                pieces += [words(text[start : found.start()]), filled(found[1])]
                start = found.end()
        return [*pieces, words(text[start:])]

    def _count(self) -> str:
        failing = [claim_id for claim_id, verdict in self.verdicts.items() if verdict != HOLDS]
        rest = f"; the others: {', '.join(failing)}" if failing else ""
        return f"{len(self.verdicts) - len(failing)} of {len(self.verdicts)} claims hold{rest}."

    def _repr_html_(self) -> str:
        def filled(name: str) -> Markup:
            return marked_html(self.numbers[name]) if name in self.numbers else self._link(name)

        parts = [(TITLES[part], Markup("").join(self._pieces(text, typeset, filled))) for part, text in self.told.items()]
        holding = sum(verdict == HOLDS for verdict in self.verdicts.values())
        failing = [self._link(claim_id) for claim_id, verdict in self.verdicts.items() if verdict != HOLDS]
        where = "in this part" if self.pages else "on this page"
        found = {"holding": holding, "total": len(self.verdicts), "where": where, "failing": failing}
        return BOX.render(parts=parts, **found, small=SMALL if self.small else "")

    def _link(self, claim_id: str) -> Markup:
        verdict, page = self.verdicts[claim_id], self.pages.get(claim_id, "")
        return LINK.format(page, claim_id, verdict.replace(" ", "-"), claim_id, verdict)


LINK = Markup('<a class="icl-chip chip-{2}" href="{0}#claim-{1}">{3} {4}</a>')
BOX = template(
    """
<section class="icl-minute" aria-label="In one minute">
<p class="icl-minute-title">In one minute</p>
<dl>
{% for title, text in parts %}
<dt>{{ title }}</dt><dd>{{ text }}</dd>
{% endfor %}
</dl>
{% if total %}
<p class="icl-tally">{{ holding }} of {{ total }} claims {{ where }} hold{% if failing %}. The others: \
{% for each in failing %}{{ each }}{{ "" if loop.last else ", " }}{% endfor %}{% endif %}. {{ small }}</p>
{% endif %}
</section>"""
)


def minute_of(experiment: str) -> Callable[[Numbers], Minute]:
    """Return the decorator that makes the box of a section of a function of its main result.

    The docstring holds all that is said, formulas between dollar signs, and the function returns the numbers in it as text::

        @minute_of("zhang-risk")
        def minute(risk):
            \"\"\"Says: training ends at least squares.

            So: Yes, {Z8}; the error deviates by {worst} at most, {Z10}.
            New: Longer prompts can hurt.
            \"\"\"
            return {"worst": f"{100 * worst(risk):.1f}%"}

    >>> import xarray as xr
    >>> from icl_lib.companion import minute_of
    >>> @minute_of("toy-coin")
    ... def minute(data):
    ...     '''Says: a coin is fair.
    ...
    ...     So: Yes, {C1}; it shows heads {often} of the time.
    ...     New: Nothing.
    ...     '''
    ...     return {"often": f"{float(data.heads):.0%}"}
    >>> minute.box(xr.Dataset({"heads": 0.45}), claims=[], verdicts={"C1": "holds"})
    It says: a coin is fair.
    Is it so?: Yes, C1 (holds); it shows heads ⟨45%⟩ of the time.
    New here: Nothing.
    1 of 1 claims hold.
    """

    def made(function: Numbers) -> Minute:
        pieces = re.split(rf"(?:^|\n)\s*({'|'.join(PARTS)}): ", inspect.getdoc(function) or "")
        told = {name: " ".join(text.split()) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
        if pieces[0] or tuple(pieces[1::2]) != PARTS or not all(told.values()):
            raise Misdeclared(f"{function.__module__}: a minute says {', '.join(f'{part}:' for part in PARTS)} in this order")
        return Minute(experiment, told, function)

    return made
