"""Every claim on its stored result: with twice the error it says why it holds, and what is no number holds none."""

from collections.abc import Iterator

import numpy as np
import pytest

from icl_lib.companion import HOLDS, Agreement, Discrepancy
from icl_lib.companion.slack import LOOSE, _asked
from papers import registry

ENTRIES = 3
"""So many entries of a variable are tried, evenly spaced."""
MOVED = 100
"""So many, where each is moved alone."""
SLUGS = [each.slug for each in registry.EXPERIMENTS.values() if registry.claims_of(each.slug)]


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_a_claim_with_slack_has_a_reason(slug, stored):
    judged = [claim.judge(stored(slug)) for claim in registry.claims_of(slug)]
    loose = [each for each in judged if each.verdict == HOLDS and each.slack > LOOSE and not each.claim.slack_reason]
    found = {each.claim.id: f"{each.slack:.3g}" for each in loose}
    assert not found, f"their docstrings need Slack: and a reason, or a tighter margin: {found}"


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_what_is_no_number_holds_no_claim_that_reads_it(slug, stored):
    """A variable of none, or an entry that is none, counts no better than one that is far too large or far too small."""
    dataset, silent = stored(slug), []
    for claim, before in _holding(slug, dataset):
        for name, values in _asked(claim.check, dataset, before).items():
            if values.dtype.kind == "f":
                silent += [f"{claim.id} without {what}" for what in _left_out(claim, dataset, name, before)]
    assert not silent, "sum, average and compare so that NaN stays: skipna=False, np.maximum, ~(x > 0), all_known"


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_a_claim_that_reads_no_error_holds_within_those_of_its_data(slug, stored):
    """Two standard errors of what it reads, up or down, of all entries or of one, turn no verdict that is given without any."""
    dataset, turned = stored(slug), []
    for claim, before in _holding(slug, dataset):
        if np.any(before.two_se):
            continue
        asked = _asked(claim.check, dataset, before)
        for name in [each for each in asked if f"{each}_se" in dataset and f"{each}_se" not in asked]:
            values = 1.0 * dataset[name]
            two_se = (values * 0 + 2 * dataset[f"{name}_se"]).transpose(*values.dims).values
            for where in (np.ones(values.shape), *_entries(values.shape, MOVED).values()):
                moved = (values.values + sign * two_se * where for sign in (1, -1))
                turned += [f"{claim.id}: {name}" for each in moved if _put(claim, dataset, name, each) == np.inf]
    assert not turned, f"give Discrepancy their two_se, or read errors of what is paired: {sorted({*turned})}"


def _holding(slug: str, dataset) -> Iterator[tuple]:
    """Yield the claims that hold, but for agreements, which look at all that they read, and what their checks find."""
    for claim in registry.claims_of(slug):
        found = claim.check(dataset)
        if not isinstance(found, Agreement) and found.verdict(claim.margin) == HOLDS:
            yield claim, found


def _entries(shape: tuple[int, ...], most: int) -> dict[int, np.ndarray]:
    """Return where some entries are, evenly spaced, by their place."""
    size = int(np.prod(shape))
    places = {*np.linspace(0, size - 1, min(size, most)).astype(int)}
    return {place: np.arange(size).reshape(shape) == place for place in places}


def _left_out(claim, dataset, name: str, before: Discrepancy) -> Iterator[str]:
    """Yield what of a variable may be no number while the claim, whose number rests on it, is no worse off."""
    values = dataset[name].values
    if _put(claim, dataset, name, values * np.nan) < np.inf:
        grown = values * np.linspace(1.5, 3, values.size).reshape(values.shape)
        found = claim.check(dataset.assign({name: dataset[name].copy(data=grown)}))
        if not (np.array_equal(found.value, before.value) and np.array_equal(found.two_se, before.two_se)):
            yield name
    if not np.isfinite(values).all():
        return  # an entry that is none may mean something there
    far = 1e3 * (abs(values).max() + 1)
    for place, here in _entries(values.shape, ENTRIES).items():
        one = _put(claim, dataset, name, np.where(here, np.nan, values))
        if one < np.inf and one < max(_put(claim, dataset, name, np.where(here, x, values)) for x in (far, -far)):
            yield f"{name}[{place}]"


def _put(claim, dataset, name: str, values) -> float:
    """Return the worst number of a claim, with its error, of other values of a variable; infinite where it does not hold."""
    with np.errstate(all="ignore"):
        try:
            found = claim.check(dataset.assign({name: dataset[name].copy(data=values)}))
            return sum(found.worst()) if found.verdict(claim.margin) == HOLDS else np.inf
        except (ArithmeticError, LookupError, ValueError):
            return np.inf
