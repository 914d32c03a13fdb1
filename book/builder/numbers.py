"""What the number behind a verdict is, in a few words, as the reason of its margin tells."""

import re
from collections.abc import Mapping

from icl_lib.companion import Claim

REFERS = re.compile(r"(?:As(?: for)?|Those of|The (?:margin|bound) of) ([A-Z]+\d+[a-z]?)\b")
ENDS = re.compile(r"(?<!s\.e)[.;](?:\s|$)|, a little above q |: (?:float64 |some |the tolerance )")
LONGEST = 110


def meaning(claim: Claim, claims: Mapping[str, Claim]) -> str:
    """What a claim's number is: what its docstring says, or the first words of its margin's reason, or those of the claim
    that they refer to."""
    if told := claim.told.get("Number"):
        return told.rstrip(".")
    refers = REFERS.match(claim.reason)
    if refers and refers[1] in claims and refers[1] != claim.id:
        return meaning(claims[refers[1]], claims)
    words = ENDS.split(claim.reason, maxsplit=1)[0]
    if len(words) > LONGEST and ", " in words[:LONGEST]:
        words = words[:LONGEST].rpartition(", ")[0]
        if words.count("(") > words.count(")"):
            words = words.rpartition(" (")[0]
    return words.rstrip(".")
