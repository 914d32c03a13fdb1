"""`python -m book.sentences`: the short sentences of the book, and the claims that carry them.

A person writes in `sentences.yml` which claims carry a sentence of the front pages, of the answers and of the boxes, what it
says of each (holds, fails, not reproduced here; ``told`` where the verdict itself is printed), and under ``if`` which
quantifier, condition or number it leaves to the page. A sentence without a claim says what it ``is``. Beside each claim stands
a digest of what the person saw: when sentence or verdict of the claim change, somebody has to look again. What a sentence and
its ``if`` leave out of their claims, or say beyond them, is told as far as words show it.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from icl_lib.companion import HOLDS, Claim, digests
from papers import registry

BOOK = Path(__file__).parent
TABLE = BOOK / "sentences.yml"
PAGES = {"index.md": "## Every claim", "index.zh.md": "## 全部论断", "answers.md": None}
"""The pages that are read, and the heading behind which they are lists."""
KINDS = ("definition", "description", "proved", "number", "link")
"""What a sentence without a claim may be: proved on its page, or a number of the box's own result."""
TOLD = "told"
ID = re.compile(rf"(?<![\w.]){registry.ID}(?!\w)")
END = re.compile(r"(?<=[.?!])(?<!al\.)\s+(?=[A-Z$“\"(*])|(?<=\.)\s+(?=\{)|(?<=[。？！])\s*")
NO_TEXT = re.compile(r"^(---|lang:|:|<!--|\([\w-]+\)=|#{1,2} |\| )")
ASKED = re.compile(r"[?？]\*?$|^(?:New|Does not hold|Not reproduced here)\.$|^(?:不成立|此处未能重现|新发现)。$")
"""Questions, and the words that open a list."""
LINK = re.compile(r"\{doc\}`([^`<]*?) ?<[^>]*>`|\[([^]]*)\]\([^)]*\)|<a [^>]*>([^<]*)</a>")
MEAN = r"in the mean|\bmean (?:over|of)|on average|in the median|in root mean square|typically|平均|通常"
PART = (
    r"in one (?!block)|in (?:the )?two (?:and|networks)|one of (?!scale)|not every|(?:in|the) (?:the )?three networks|first of"
    r"|两个网络|并非每"
)
LIMITS = {
    "mean": (MEAN, MEAN),
    "part": (PART, PART),
    "isotropic": (r"Λ ∝ I|Λ = λI", r"isotropic|Lambda ?= ?I|one variance|各向同性"),
    "independent": (r"drawn apart|independent of the context", r"apart|independent"),
    "dimension": (r"At \$d = \d", r"dimension|d = \d|维"),
    "random": (r"[Ii]n random networks", r"random|随机"),
    "trained": (r"[Ii]n trained blocks", r"trained|训练"),
    "size": (r"ξ = 0", r"[Ss]mall \$?W_O|ξ = 0|初值很小"),
    "skips": (r"[Ww]ith skips", r"skip"),
    "norm": (r"fixed norm|norm held fixed", r"length|norm|范数"),
    "setting": (r"setting A", r"setting|设定"),
    "projected": (r"projected on the query", r"project|投影"),
    "prompts": (r"[Ss]hort prompts|prompts are short", r"short|contexts|examples"),
}
"""What makes a claim narrower, and how a sentence that it carries may say so."""
ALL = re.compile(r"\b(?:every|all|always|any|never|whatever|each)\b|每|任何|总是|所有", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.^_{\\-])\d+(?:\.\d+)?%?")
NO_NUMBER = re.compile(r"(?:predicting|by|near) 0|⟦.*?⟧|\{\w+\}|(?:Theorem|Condition|Example) [\d.]+\d|" + ID.pattern)
DENIED = re.compile(r"\b(?:not?|nor|wrong|repair|fewer|less|inequality)\b|不|未|并非|修补", re.IGNORECASE)
"""How a sentence says that a claim does not hold."""


def spoken() -> dict[str, list[str]]:
    """The sentences as they stand, by place: a page, or the result of a box."""
    pages = {name: list(_of_page((BOOK / name).read_text(encoding="utf-8"), end)) for name, end in PAGES.items()}
    boxes = {slug: [*_split(one.told["So"]), *_split(one.told["New"])] for slug, one in registry.MINUTES.items()}
    return pages | boxes


def _of_page(text: str, end: str | None) -> Iterator[str]:
    lines = text.partition(end)[0].splitlines() if end else text.splitlines()
    kept = ["" if NO_TEXT.match(line) else re.sub(r"^- |^#+ (.*)", r"\n\n\1", line) for line in lines]
    for paragraph in re.split(r"\n\s*\n", "\n".join(kept)):
        joined = re.sub(r"\s+", " ", LINK.sub(lambda link: f"⟦{link[1] or link[2] or link[3]}⟧", paragraph)).strip()
        bare = re.sub(r"\*Also:\*.*", "", joined)
        yield from (one for one in _split(bare) if "⟧ · " not in one and re.sub(r"⟦.*?⟧|\W", "", one) and not ASKED.search(one))


def _split(text: str) -> list[str]:
    return [piece.strip() for piece in END.split(" ".join(text.split()).replace("**", "")) if piece.strip()]


def digest(claim: Claim, condition: str) -> str:
    """What a person has seen of a claim, and which condition of it was noted."""
    return digests.of_text(f"{claim.sentence}\n{condition}\n{claim.recorded}")[:8]


def problems(places: dict[str, list[str]], table: dict[str, list[dict]]) -> Iterator[str]:
    """What is missing, gone, out of date or says more than its claims, a line each."""
    for place in [*places, *(name for name in table if name not in places)]:
        entries = {entry["says"]: entry for entry in table.get(place, [])}
        for text in places.get(place, []):
            if text not in entries:
                yield f"{place}: not in the table: {text}"
        for text, entry in entries.items():
            if text not in places.get(place, []):
                yield f"{place}: is said no more: {text}"
            yield from (f"{place}: {what}: {text}" for what in wrong(entry))


def wrong(entry: dict) -> Iterator[str]:
    """What is wrong with one entry."""
    carried, condition = entry.get("claims", {}), entry.get("if", "")
    if not carried and entry.get("is") not in KINDS:
        yield "no claim carries it, and it is not said what else it is"
    yield from (f"{id} is named and not recorded" for id in sorted({*ID.findall(entry["says"])} - {*carried}))
    for id, noted in carried.items():
        if id not in registry.CLAIMS:
            yield f"{id} is no claim"
            continue
        verdict, _, seen = noted.rpartition(" ")
        claim = registry.CLAIMS[id]
        if seen != digest(claim, condition):
            yield f"{id} has changed since a person looked"
        if verdict not in (claim.recorded, TOLD):
            yield f"says of {id} that it {verdict}; recorded is: {claim.recorded}"
        elif verdict not in (HOLDS, TOLD) and not DENIED.search(entry["says"] + condition):
            yield f"does not say that {id} does not hold"
    yield from wider(entry["says"], condition, [registry.CLAIMS[id] for id in carried if id in registry.CLAIMS])


def wider(text: str, condition: str, claims: list[Claim]) -> Iterator[str]:
    """Where a sentence says more than its claims: a limit left out, an "all" or a number that none of them has."""
    said, carried = f"{text} {condition}", " ".join(claim.sentence for claim in claims)
    for claim in claims:
        for name, (has, says) in LIMITS.items():
            if re.search(has, claim.sentence, re.I) and not re.search(says, said, re.I):
                yield f"leaves out a limit of {claim.id} ({name})"
    everything = ALL.search(text)
    if claims and everything and not ALL.search(carried) and everything[0].lower() not in condition.lower():
        yield f"says “{everything[0]}”, which none of its claims does"
    known = {*NUMBER.findall(carried), *NUMBER.findall(condition)}
    for number in dict.fromkeys(NUMBER.findall(NO_NUMBER.sub(" ", text)) if claims else ()):
        if number not in known:
            yield f"says {number}, which none of its claims does"


def looked(entry: dict) -> dict:
    """The entry with the digests of its claims as they are now; a claim that is new in it holds, or else is told."""
    before, condition = entry.get("claims", {}), entry.get("if", "")
    ids = [id for id in dict.fromkeys([*before, *ID.findall(entry["says"])]) if id in registry.CLAIMS]
    said = {id: before[id].rpartition(" ")[0] if id in before else registry.CLAIMS[id].recorded for id in ids}
    claims = {id: f"{said[id]} {digest(registry.CLAIMS[id], condition)}" for id in ids}
    return {**entry, "claims": claims} if claims else entry


def read() -> dict[str, list[dict]]:
    """The table."""
    return yaml.safe_load(TABLE.read_text(encoding="utf-8")) or {}


def renewed(places: dict[str, list[str]], table: dict[str, list[dict]], parts: list[str]) -> dict[str, list[dict]]:
    """The table in the order of the pages, without what is said no more; entries with one of `parts` are as looked at."""
    found = {}
    for place, texts in places.items():
        known = {entry["says"]: entry for entry in table.get(place, [])}
        entries = [known.get(text, {"says": text}) for text in texts if text in known or any(part in text for part in parts)]
        found[place] = [looked(one) if any(part in one["says"] for part in parts) else one for one in entries]
    return found


def main(arguments: list[str] | None = None) -> int:
    """List what has to be looked at; ``--looked`` notes that a person has."""
    parser = argparse.ArgumentParser(prog="python -m book.sentences", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--looked", nargs="+", metavar="WORDS", default=[], help="you have looked at the sentences with these words"
    )
    parts = parser.parse_args(arguments).looked
    places = spoken()
    if parts:
        text = yaml.safe_dump(renewed(places, read(), parts), allow_unicode=True, sort_keys=False, width=128)
        TABLE.write_text(text, encoding="utf-8")
    found = list(problems(places, read()))
    print("\n".join(found) or "Every sentence stands in the table, and its claims are as they were.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
