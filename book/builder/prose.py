"""Sentences as they are read: codes as links and words, formulas with their commas, proofs too long to stand open."""

import re
from collections.abc import Callable

from lxml.html import HtmlElement

from book.builder.site import Page, by_class, piece, replace_in, words
from icl_lib.companion.html import template
from icl_lib.companion.told import CODES

LONG = 120
TAGS = {"a", "abbr", "button", "code", "h1", "h2", "h3", "h4", "pre", "script", "select", "style", "summary", "svg", "template"}
CLASSES = {"icl-card", "icl-made", "icl-claims", "icl-kicker", "icl-neighbours", "math", "highlight"}
"""In these a code is no part of a sentence."""
CODE = re.compile(rf"\[({'|'.join(sorted(CODES, key=len, reverse=True))})\]")
CLOSE = r"[^\s\u4e00-\u9fff]"
"""Between Chinese letters a line may end."""
BEFORE, AFTER = re.compile(rf"(?<!{CLOSE}){CLOSE}{{1,15}}\Z"), re.compile(rf"{CLOSE}{{1,15}}(?!{CLOSE})")
"""What touches a formula: a bracket, a comma, the end of a word."""
NORMS = r"(?!\w|[- ](?:norm|regulari|distance|loss|penalty))"


def claim_pattern(ids: set[str]) -> re.Pattern:
    """What finds these claims in a sentence, and not the norms L1 and L2."""
    return re.compile(rf"(?<![\w.§\[])({'|'.join(sorted(ids, key=len, reverse=True))}){NORMS}")


def link_claims(page: Page, pattern: re.Pattern, address: Callable[[str], str]) -> None:
    """Make every claim that a sentence names a link to its card."""
    replace_in(page.article, (TAGS, CLASSES), pattern, lambda id: piece(LINK.render(id=id, address=address(id))))


LINK = template('<a class="icl-claim-link" href="{{ address }}">{{ id }}</a>')


def explain_codes(page: Page) -> None:
    """Say in words what a confidence code means, to those who point at it and to those who listen."""
    replace_in(page.article, (TAGS, CLASSES), CODE, lambda code: piece(ABBREVIATION.render(code=code, meaning=CODES[code])))


ABBREVIATION = template(
    """
<abbr class="icl-code" title="{{ meaning }}">[{{ code }}]<span class="visually-hidden">, {{ meaning }}</span></abbr>"""
)


def hold_together(page: Page) -> None:
    """Take what touches a formula of a sentence into its element, in which no line ends: none begins with a comma."""
    for formula in page.tree.xpath("//span[contains(@class, 'math')][not(*)]"):
        if after := AFTER.match(formula.tail or ""):
            formula.text, formula.tail = formula.text + after[0], formula.tail[after.end() :]
        earlier, parent = formula.getprevious(), formula.getparent()
        owner, which = (parent, "text") if earlier is None else (earlier, "tail")
        text = getattr(owner, which) or ""
        if before := BEFORE.search(text):
            setattr(owner, which, text[: before.start()])
            formula.text = before[0] + formula.text


def fold_proofs(page: Page) -> None:
    """Fold the proofs that are longer than a screen; print and the links that lead into them open them."""
    for proof in list(by_class(page.article, "proof")):
        if proof.get("class").split() == ["proof", "admonition"] and words(proof) > LONG:
            fold(proof)


def fold(proof: HtmlElement) -> None:
    inside = piece('<details class="icl-proof"><summary>Proof</summary></details>')
    inside.extend(list(proof))
    proof.append(inside)
    first = inside[1] if len(inside) > 1 else None
    if first is not None and first.tag == "p" and (first.text or "").startswith("Proof. "):
        first.text = first.text.removeprefix("Proof. ")
