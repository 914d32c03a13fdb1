"""Weights of a decoder under the names of Hugging Face's GPT2Model and of the published models of Garg et al."""

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.models.gpt2 import GPT2, Weights

BLOCK = {
    "attention_in": "attn.c_attn",
    "attention_out": "attn.c_proj",
    "mlp_in": "mlp.c_fc",
    "mlp_out": "mlp.c_proj",
    "attention_norm": "ln_1",
    "mlp_norm": "ln_2",
}
"""Our names of what a block holds, and theirs under ``_backbone.h.LAYER``."""


def state_dict(weights: Weights, model: int = 0) -> dict[str, Tensor]:
    """Return one model as the state dict of Garg et al.'s ``TransformerModel``.

    What stands behind the prefix ``_backbone.`` is the state dict of a Hugging Face ``GPT2Model`` of the same shape, less
    its unused token embedding ``wte``; load it with ``strict=False``. Without a table of positions ``wpe`` is left out.
    """
    own = {name: weight[model].detach() for name, weight in weights.items()}
    state = {
        "_read_in.weight": own["read_in"].mT,
        "_read_in.bias": own["read_in_bias"],
        "_read_out.weight": own["read_out"][None],
        "_read_out.bias": own["read_out_bias"][None],
        "_backbone.ln_f.weight": own["last_norm"],
        "_backbone.ln_f.bias": own["last_norm_bias"],
    }
    if "positions" in own:
        state["_backbone.wpe.weight"] = own["positions"]
    for name, theirs in BLOCK.items():
        for layer in range(len(own[name])):
            state[f"_backbone.h.{layer}.{theirs}.weight"] = own[name][layer]
            state[f"_backbone.h.{layer}.{theirs}.bias"] = own[f"{name}_bias"][layer]
    return {name: weight.contiguous() for name, weight in state.items()}


def from_state_dict(state: dict[str, Float[Tensor, "..."]], heads: int) -> tuple[GPT2, Weights]:
    """Return the shape and the weights, as one model (1, ...), that a state dict of Garg et al.'s ``TransformerModel`` holds.

    A state dict does not tell the number of ``heads``. Raises ValueError that names what is missing.
    """
    layers = 0
    while f"_backbone.h.{layers}.ln_1.weight" in state:
        layers += 1
    try:
        weights = {
            "read_in": state["_read_in.weight"].mT,
            "read_in_bias": state["_read_in.bias"],
            "read_out": state["_read_out.weight"][0],
            "read_out_bias": state["_read_out.bias"][0],
            "last_norm": state["_backbone.ln_f.weight"],
            "last_norm_bias": state["_backbone.ln_f.bias"],
        }
        for name, theirs in BLOCK.items():
            for ours, part in ((name, "weight"), (f"{name}_bias", "bias")):
                weights[ours] = torch.stack([state[f"_backbone.h.{layer}.{theirs}.{part}"] for layer in range(layers)])
    except (KeyError, RuntimeError) as error:
        missing = error.args[0] if isinstance(error, KeyError) else "_backbone.h.0"
        raise ValueError(f"no decoder of Garg et al.: the state dict has no {missing}") from None
    entries, width = weights["read_in"].shape
    if "_backbone.wpe.weight" in state:
        weights["positions"] = state["_backbone.wpe.weight"]
    decoder = GPT2(layers, heads, width, entries, len(weights.get("positions", ())))
    return decoder, {name: weight.detach().clone()[None] for name, weight in weights.items()}
