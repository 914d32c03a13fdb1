"""What the number behind a verdict is, in a few words, as a claim's docstring tells."""

import re

from icl_lib.companion import Claim

ENDS = re.compile(r"(?<!s\.e)[.;](?:\s|$)|, a little above q |: (?:float64 |some |the tolerance )")
LONGEST = 110


def meaning(claim: Claim) -> str:
    """What a claim's number is: what its docstring says, or the first words of its margin's reason."""
    if told := claim.told.get("Number"):
        return told.rstrip(".")
    words = ENDS.split(claim.reason, maxsplit=1)[0]
    if len(words) > LONGEST and ", " in words[:LONGEST]:
        words = words[:LONGEST].rpartition(", ")[0]
        if words.count("(") > words.count(")"):
            words = words.rpartition(" (")[0]
    return words.rstrip(".")
