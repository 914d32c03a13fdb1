"""How far what was computed is from what was expected, in relative terms."""

from jaxtyping import Float
from torch import Tensor


def relative(found: Float[Tensor, "... n"], expected: Float[Tensor, "... n"]) -> Float[Tensor, "..."]:
    """Return |found - expected| / |expected|, lengths of whole vectors."""
    return (found - expected).norm(dim=-1) / expected.norm(dim=-1)
