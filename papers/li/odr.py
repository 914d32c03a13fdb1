"""How many patterns a test out of domain has, and how often they are drawn."""

from dataclasses import dataclass

from icl_lib.companion import AtLeastThree, Count, Declaration
from papers.li.evaluate import combined
from papers.li.patterns import Patterns
from papers.li.trained import Trained


@dataclass(frozen=True)
class ODRPatterns(Declaration):
    """Sets of patterns out of domain, drawn anew for each model.

    count        ODR patterns of a set
    distractors  ODI patterns of a set
    draws        sets for each model
    """

    count: AtLeastThree
    distractors: Count
    draws: Count

    def drawn(self, trained: Trained, S_1: float, seed: int, name: str) -> Patterns:
        """Draw them for each of the S models, as long as the IDR patterns, coefficient sum S_1; (S, draws, ...)."""
        sizes = {"count": self.count, "distractors": self.distractors, "draws": self.draws}
        return combined(trained, S_1, **sizes, seed=seed, name=name)
