"""Every claim judged on the data that is there, in both profiles."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from book.build import judged
from book.build.cache import Executed
from icl_lib.companion.claim import Claim, shown
from icl_lib.companion.experiment import PROFILES
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

    def as_json(self) -> dict[str, object]:
        return {
            "verdict": self.verdict,
            "control_verdict": self.control,
            "positive_verdict": self.positive,
            "value": self.value,
            "margin": self.margin,
            "resolution": self.resolution,
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


def ledger(executed: list[Executed], recorded: Mapping[str, dict]) -> list[Row]:
    """One row per claim, in the registry's order, on what executed notebooks left and on what is stored.

    `recorded` are quick results, by slug, that count where no notebook left any.
    """
    every = [judged.of(one) for one in executed]
    quick, full = ({slug: found for one in every for slug, found in one[profile].items()} for profile in PROFILES)
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
    return Finding(found["verdict"], found["control"], number, found["margin"], found["resolution"], found["positive"], numbers)
