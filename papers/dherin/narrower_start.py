"""The network of section 4.1 from another initialisation: the same shape, matrices drawn with a smaller variance."""

from dataclasses import dataclass

import torch
from torch import Tensor

from icl_lib.companion import Count
from icl_lib.models.contextual.weights import Weights
from papers.dherin.network import Network
from papers.dherin.trained import OneBlock


@dataclass(frozen=True)
class NarrowerNetwork(Network):
    """A network whose matrices start from N(0, 1/(over * columns)); biases start as they do elsewhere."""

    over: int

    def start(self, generator: torch.Generator, lead: tuple[int, ...], like: Tensor) -> Weights:
        """Draw weights."""
        drawn = super().start(generator, lead, like)
        return {name: w * self.over**-0.5 if ".W" in name else w for name, w in drawn.items()}


@dataclass(frozen=True)
class NarrowerStart(OneBlock):
    """``OneBlock`` from matrices of variance 1/(over * columns); over = 3 is the default of PyTorch's linear layers.

    over   the entries of a matrix are drawn with variance 1/(over * columns)
    """

    over: Count

    def network(self) -> NarrowerNetwork:
        """Return the shape of the network, with its start."""
        shape = super().network()
        return NarrowerNetwork(shape.block, shape.depth, shape.ends, self.over)
