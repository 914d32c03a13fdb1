"""Where the classes of Hugging Face's transformers keep their seats: one line a model type. Nothing is imported from there."""

from dataclasses import dataclass, replace
from operator import attrgetter

import torch
from jaxtyping import Float
from torch import Tensor, nn

from papers.dherin.seats import Norm, Seat, Stored


@dataclass(frozen=True)
class Family:
    """Names within a class.

    layers   the path of the blocks; each has its feed-forward part as ``mlp``
    reads    modules in it whose weight is applied to z; last: the module that makes the output
    turned   weights are stored as (n, m)
    norm     of a block, behind the output, or nothing; its gain is offset + weight
    """

    layers: str
    reads: tuple[str, ...]
    last: str
    turned: bool
    norm: str
    offset: float


_GATED = Family("model.layers", ("gate_proj", "up_proj"), "down_proj", turned=False, norm="", offset=0.0)
_NORMED = replace(_GATED, norm="post_feedforward_layernorm")
FAMILIES = {
    "gpt2": Family("transformer.h", ("c_fc",), "c_proj", turned=True, norm="", offset=0.0),
    "gpt_neox": Family("gpt_neox.layers", ("dense_h_to_4h",), "dense_4h_to_h", turned=False, norm="", offset=0.0),
    "llama": _GATED,
    "mistral": _GATED,
    "qwen2": _GATED,
    "qwen3": _GATED,
    "phi3": replace(_GATED, reads=("gate_up_proj",)),
    "gemma2": replace(_NORMED, offset=1.0),
    "gemma3_text": replace(_NORMED, offset=1.0),
    "olmo2": _NORMED,
    "mixtral": _GATED,
    "qwen2_moe": _GATED,
    "qwen3_moe": _GATED,
}
"""By ``config.model_type``. A layer with experts is told by what it has, so that dense and sparse layers may be mixed."""


def seats(model: nn.Module) -> tuple[Seat, ...]:
    """Return the seats of a model's blocks; raises ValueError for a type that is not in the table."""
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    if kind not in FAMILIES:
        raise ValueError(f"no seats are known of {kind!r}: it has to be one of {', '.join(FAMILIES)}")
    family = FAMILIES[kind]
    return tuple(_seat(layer, family) for layer in attrgetter(family.layers)(model))


def _seat(layer: nn.Module, family: Family) -> Seat:
    norm = getattr(layer, family.norm) if family.norm else None
    behind = None if norm is None else Norm(norm, family.offset, _epsilon(norm))
    made = _sparse if hasattr(layer.mlp, "experts") else _dense
    reads, last, hidden = made(layer.mlp, family)
    return Seat(layer, layer.mlp, reads, last, hidden, behind)


def _dense(mlp: nn.Module, family: Family) -> tuple:
    reads = tuple(Stored(getattr(mlp, name), "weight", family.turned, None) for name in family.reads)
    last = Stored(getattr(mlp, family.last), "weight", family.turned, None)

    def hidden(z: Float[Tensor, "R k"]) -> Float[Tensor, "R n"]:
        """Return what the class itself sends into its last module."""
        found: list[Tensor] = []
        hook = last.owner.register_forward_pre_hook(lambda _, given: found.append(given[0][0]))
        try:
            mlp(z[None])
        finally:
            hook.remove()
        return found[0]

    return reads, (last,), hidden


def _sparse(mlp: nn.Module, family: Family) -> tuple:
    """Router, experts in stacks, and an expert that is always there where the class has one: h_e is p_e times its own."""
    experts, count = mlp.experts, len(mlp.experts.down_proj)
    reads = [Stored(mlp.gate, "weight", False, None)]
    reads += [Stored(experts, "gate_up_proj", False, e) for e in range(count)]
    last = [Stored(experts, "down_proj", False, e) for e in range(count)]
    shared = _dense(mlp.shared_expert, family) if hasattr(mlp, "shared_expert") else None
    if shared:
        reads += [*shared[0], Stored(mlp.shared_expert_gate, "weight", False, None)]
        last += shared[1]

    def hidden(z: Float[Tensor, "R k"]) -> Float[Tensor, "R n"]:
        _, shares, chosen = mlp.gate(z)
        p = torch.zeros(len(z), count, dtype=shares.dtype, device=z.device).scatter(1, chosen, shares)
        gate, up = torch.einsum("ehk,rk->reh", experts.gate_up_proj, z).chunk(2, -1)
        h = (p[..., None].to(z) * experts.act_fn(gate) * up).flatten(1)
        return torch.cat([h, torch.sigmoid(mlp.shared_expert_gate(z)) * shared[2](z)], -1) if shared else h

    return tuple(reads), tuple(last), hidden


def _epsilon(norm: nn.Module) -> float:
    return norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
