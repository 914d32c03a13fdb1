"""The picture in cards for shared links."""

import io
from collections import Counter
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest

from book.builder import card
from icl_lib.companion import FAILS, HOLDS
from papers import registry


def row(paper: str, verdict: str, tier: str) -> SimpleNamespace:
    return SimpleNamespace(claim=SimpleNamespace(paper=paper), shown=SimpleNamespace(verdict=verdict), tier=tier)


def pixels(rows: list) -> np.ndarray:
    drawn = matplotlib.image.imread(io.BytesIO(card.picture("Title", rows)))
    return np.round(255 * drawn[..., :3]).astype(int)


def coloured(verdict: str, drawn: np.ndarray) -> np.ndarray:
    """Height and place of every pixel in the colour of a verdict."""
    wanted = [int(card.MARKS[verdict][2][at : at + 2], 16) for at in (1, 3, 5)]
    return np.argwhere((drawn == wanted).all(-1))


def test_a_card_has_one_mark_a_claim_below_each_other_by_paper_and_none_beyond_its_edge():
    zhang = [row("zhang", HOLDS, "ours"), *(row("zhang", HOLDS, "paper") for _ in range(40))]
    drawn = pixels([*zhang, row("dherin", FAILS, "paper")])
    assert drawn.shape == (card.HEIGHT, card.WIDTH, 3)
    green, red = coloured(HOLDS, drawn), coloured(FAILS, drawn)
    lines = np.flatnonzero(np.diff(np.unique(green[:, 0])) > 1)
    assert len(lines) == 1 and green[:, 0].max() < red[:, 0].min()
    assert green[:, 1].min() > card.FIRST - 12 and green[:, 1].max() < card.LAST + card.WIDEST
    assert drawn[:, :3].min() == 255 and drawn[:, -3:].min() == 255


def test_all_claims_of_the_book_have_room_and_the_words_beside_them():
    rows = [row(claim.paper, claim.recorded, "ours" if claim.ours else "paper") for claim in registry.CLAIMS.values()]
    drawn = pixels(rows)
    assert drawn[-12:].min() == 255 and drawn[:, -30:].min() == 255
    names = np.argwhere((drawn == [int(card.INK[at : at + 2], 16) for at in (1, 3, 5)]).all(-1))
    assert names[names[:, 0] > card.TOP - 20, 1].max() < card.FIRST - card.WIDEST / 2
    numbers = Counter(each.claim.paper for each in rows).values()
    pitch = card.widest(numbers)
    assert pitch > 10 and card.widest([*numbers, 10**4]) < pitch


@pytest.mark.parametrize("tier", ["paper", "ours"])
@pytest.mark.parametrize("verdict", card.MARKS)
def test_every_verdict_has_its_mark(verdict, tier):
    assert len(coloured(verdict, pixels([row("li", verdict, tier)]))) > 5


def test_the_paper_s_own_marks_are_filled_and_ours_are_hollow():
    of_paper, ours = (coloured(HOLDS, pixels([row("li", HOLDS, tier)])) for tier in ("paper", "ours"))
    middle = [card.TOP, card.FIRST]
    assert (of_paper == middle).all(-1).any() and not (ours == middle).all(-1).any() and 0 < len(ours) < len(of_paper) / 2
