"""The trained networks that are asked, and how much."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from icl_lib.companion import AtLeastTwo, Declaration, Several
from papers.dherin.trained import Training
from papers.lenses.s4_what_is_left.readers import RUNS
from papers.regression.decoders import DecoderTraining


@dataclass(frozen=True)
class Asked(Declaration):
    """Shipped networks after k examples of contexts as in their training.

    blocks, decoders   trainings, three networks of each
    k                  examples; no more than in training
    contexts           of each network
    queries            of each context
    """

    blocks: Several[Training]
    decoders: Several[DecoderTraining]
    k: Several[Annotated[int, Ge(1), Le(100)]]
    contexts: AtLeastTwo
    queries: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if any(training.replicates != RUNS for training in self.blocks):
            raise ValueError(f"take trainings of {RUNS} networks each")

    @property
    def trainings(self) -> tuple[Training | DecoderTraining, ...]:
        """All that are asked."""
        return *self.blocks, *self.decoders
