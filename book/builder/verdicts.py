"""Every claim judged on the data that is there, in both profiles."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from book.builder import judged
from book.builder.cache import Executed
from icl_lib.companion import PROFILES
from icl_lib.companion.claim import Claim, shown
from icl_lib.companion.verdict import HOLDS, WORST_FIRST
from papers import registry

NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One claim's verdict in one profile, or why there is none."""

    verdict: str
    control: str = ""
    value: str = ""
    margin: float | None = None
    resolution: float | None = None
    positive: str = ""
    found: Mapping[str, float] | None = None
    slack: float | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "verdict": self.verdict,
            "control_verdict": self.control,
            "positive_verdict": self.positive,
            "value": self.value,
            "margin": self.margin,
            "resolution": self.resolution,
            "slack": self.slack,
            **({"found": self.found} if self.found else {}),
        }


@dataclass(frozen=True)
class Row:
    """One line of the ledger."""

    claim: Claim
    notebook: str
    quick: Finding
    full: Finding

    @property
    def profile(self) -> str:
        """The profile whose verdict counts: full where it was run."""
        return "quick" if self.full.verdict == NOT_RUN else "full"

    @property
    def shown(self) -> Finding:
        """What was found in the profile that counts."""
        return getattr(self, self.profile)

    @property
    def tier(self) -> str:
        return "ours" if self.claim.ours else "paper"

    @property
    def card(self) -> str:
        """The address of the claim's card, from the site's root."""
        return f"notebooks/{self.notebook}.html#claim-{self.claim.id}"


@dataclass(frozen=True)
class Sentence:
    """What counts once: a finding of ours, or a sentence of a paper with all claims about it."""

    parts: list[Row]

    @property
    def tier(self) -> str:
        return self.parts[0].tier

    @property
    def verdict(self) -> str:
        """The worst of its parts; one that was not run hides nothing that is worse than open."""
        found = {row.shown.verdict for row in self.parts}
        return next((verdict for verdict in (*WORST_FIRST, NOT_RUN) if verdict in found), HOLDS)

    @property
    def deciding(self) -> list[Row]:
        """The parts with its verdict."""
        return [row for row in self.parts if row.shown.verdict == self.verdict]


def sentences(rows: list[Row]) -> list[Sentence]:
    """The rows by what they are about, in the order of the first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.claim.part_of or row.claim.id, []).append(row)
    return [Sentence(parts) for parts in found.values()]


def counted(rows: list[Row]) -> Counter[tuple[str, str]]:
    """How many sentences of the papers and findings of ours came out which way, by tier and verdict."""
    return Counter((each.tier, each.verdict) for each in sentences(rows))


def ledger(executed: list[Executed], recorded: Mapping[str, dict]) -> list[Row]:
    """One row per claim, in the registry's order, on what executed notebooks left and on what is stored.

    `recorded` are quick results, by slug, that count where no notebook left any.
    """
    quick, full = ({slug: found for one in executed for slug, found in judged.of(one, profile).items()} for profile in PROFILES)
    quick = {**recorded, **quick}
    return [
        Row(claim, registry.EXPERIMENTS[claim.experiment].notebook, finding(claim, quick), finding(claim, full))
        for claim in registry.CLAIMS.values()
    ]


def finding(claim: Claim, known: dict[str, dict]) -> Finding:
    """The claim's verdict among those of one profile."""
    found = known.get(claim.experiment, {"claims": {}})["claims"].get(claim.id)
    if found is None:
        return Finding(NOT_RUN)
    number = shown(found["value"], found["two_se"], found["margin"])
    numbers = {name: found[name] for name in ("value", "two_se")}
    numbers = numbers if all(map(math.isfinite, numbers.values())) else None  # JSON has no word for others
    told = {name: found[name] for name in ("verdict", "control", "margin", "resolution", "positive")}
    return Finding(**told, value=number, found=numbers, slack=found.get("slack"))
