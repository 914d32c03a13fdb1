"""Every claim judged on the data that is there, in both profiles."""

from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from icl_lib.companion import results
from icl_lib.companion.claim import Claim
from papers import registry

NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One claim's verdict in one profile, or why there is none."""

    verdict: str
    control: str = ""
    value: str = ""

    def as_json(self) -> dict[str, str]:
        return {"verdict": self.verdict, "control_verdict": self.control, "value": self.value}


@dataclass(frozen=True)
class Row:
    """One line of the ledger."""

    claim: Claim
    notebook: str
    quick: Finding
    full: Finding

    def as_json(self) -> dict[str, object]:
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "section": claim.section,
            "sentence": claim.sentence,
            "confidence": claim.confidence,
            "kind": claim.kind,
            "experiment": claim.experiment,
            "margin": claim.margin,
            "reason": claim.reason,
            "recorded": claim.recorded,
            "notebook": f"notebooks/{self.notebook}.ipynb",
            "quick": self.quick.as_json(),
            "full": self.full.as_json(),
        }


def ledger(folders: list[Path]) -> list[Row]:
    """One row per claim, in the registry's order; `folders` hold what executed notebooks left behind."""
    claims = registry.CLAIMS.values()
    slugs = dict.fromkeys(claim.experiment for claim in claims)
    quick = {slug: quick_dataset(slug, folders) for slug in slugs}
    full = {slug: full_dataset(slug) for slug in slugs}
    return [
        Row(
            claim,
            registry.EXPERIMENTS[claim.experiment].notebook,
            judge(claim, quick[claim.experiment]),
            judge(claim, full[claim.experiment]),
        )
        for claim in claims
    ]


def quick_dataset(slug: str, folders: list[Path]) -> xr.Dataset | None:
    """The quick result that an executed notebook left in one of `folders`."""
    paths = (folder / f"{slug}.quick.nc" for folder in folders)
    return next((results.load(path) for path in paths if path.exists()), None)


def full_dataset(slug: str) -> xr.Dataset | None:
    """The stored measurements with what is expected of them, if they still answer for the code."""
    experiment = registry.EXPERIMENTS[slug]
    try:
        return experiment.expect(results.stored(experiment))
    except results.StaleResult:
        return None


def judge(claim: Claim, dataset: xr.Dataset | None) -> Finding:
    """The claim's verdict on one dataset."""
    if dataset is None:
        return Finding(NOT_RUN)
    judgement = registry.judge(claim.id, dataset)
    return Finding(judgement.verdict, judgement.control_verdict, judgement.shown_value)
