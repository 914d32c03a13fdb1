"""Small random models of classes of Hugging Face's transformers, which are imported when one is made and not before."""

import importlib
import importlib.util
import warnings
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from icl_lib.companion import AtLeastTwo, Count, Declaration
from icl_lib.seeds import stream

PACKAGE = "transformers"
"""Imported when a model is made and not before; its version counts for what is computed with it."""
CLASSES = {
    "GPT-2": ("GPT2", {}),
    "Llama": ("Llama", {}),
    "Qwen2": ("Qwen2", {}),
    "Qwen3": ("Qwen3", {}),
    "Phi-3": ("Phi3", {}),
    "GPT-NeoX": ("GPTNeoX", {}),
    "Gemma 2": ("Gemma2", {"query_pre_attn_scalar": 16}),
    "Gemma 3": ("Gemma3Text", {"query_pre_attn_scalar": 16}),
    "OLMo 2": ("Olmo2", {}),
    "Mixtral": ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "Qwen2-MoE": ("Qwen2Moe", {"num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [0]}),
    "Qwen3-MoE": ("Qwen3Moe", {"num_experts": 4, "num_experts_per_tok": 2}),
}
"""How each class is called there, and what it asks for beside the sizes; the first layer of Qwen2-MoE is dense."""
Name = Literal[tuple(CLASSES)]
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}


@dataclass(frozen=True)
class ModelSizes(Declaration):
    """Sizes of a small model.

    width        of the stream, D
    hidden       width of the feed-forward part, of each expert, H
    depth        blocks
    heads        of attention
    vocabulary   tokens that there are
    """

    width: Count
    hidden: Count
    depth: Count
    heads: AtLeastTwo
    vocabulary: AtLeastTwo

    def __post_init__(self):
        super().__post_init__()
        if self.heads % 2 or self.width % (2 * self.heads):
            raise ValueError(f"{self.heads} heads of {self.width} channels: take an even number, and an even share of channels")


def package():
    """Return the package; raises ValueError in a sentence when it is not installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise ValueError(f"this measures classes of Hugging Face's {PACKAGE}: install it with pip install {PACKAGE}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # of its bars, which nobody sees here
        return [importlib.import_module(name) for name in ("tqdm.auto", PACKAGE)][-1]


def made(name: str, sizes: ModelSizes, generator: torch.Generator) -> nn.Module:
    """Return a model of a class with weights of ours, in float32, in the mode that evaluates.

    Matrices are N(0, 1/fan-in), tokens enter as N(0, 1); gains and biases are off 1 and 0 by N(0, 0.1^2), so that none drops
    out.
    """
    model = blank(name, sizes, {})
    with torch.no_grad():
        for key, weight in model.named_parameters():
            draw = torch.randn(weight.shape, generator=generator)
            if weight.dim() < 2:
                weight.add_(0.1 * draw)
            else:
                weight.copy_(draw / _fan_in(name, key, weight) ** 0.5)
    return model


def blank(name: str, sizes: ModelSizes, settings: dict[str, object]) -> nn.Module:
    """Return a model of a class as the class makes it, in float32, in the mode that evaluates."""
    their, (class_name, own) = package(), CLASSES[name]
    no_token = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    config = getattr(their, f"{class_name}Config")(**(_named(name, sizes) | no_token | own | settings))
    with torch.random.fork_rng(devices=[]):  # its own draws, which are not kept, come from torch's generator
        return their.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def _fan_in(name: str, key: str, weight: Tensor) -> int:
    """Return the numbers that a matrix is applied to; of embeddings 1, or what a class of Gemma multiplies them with."""
    if "embed" in key or "wte" in key or "wpe" in key:
        return weight.shape[-1] if name.startswith("Gemma") else 1
    return weight.shape[0] if name == "GPT-2" else weight.shape[-1]


def _named(name: str, sizes: ModelSizes) -> dict[str, object]:
    """Return the sizes under the names that a class has for them; two heads share keys and values where a class can."""
    D, H, depth, heads = sizes.width, sizes.hidden, sizes.depth, sizes.heads
    if name == "GPT-2":
        return dict(n_embd=D, n_inner=H, n_layer=depth, n_head=heads, vocab_size=sizes.vocabulary, n_positions=512)
    named = dict(hidden_size=D, intermediate_size=H, num_hidden_layers=depth, num_attention_heads=heads)
    named |= dict(vocab_size=sizes.vocabulary, max_position_embeddings=512)
    if name != "GPT-NeoX":
        named |= dict(num_key_value_heads=heads // 2)
    if name not in ("GPT-NeoX", "Phi-3"):
        named |= dict(head_dim=D // heads)
    experts = dict(moe_intermediate_size=H) if name in ("Qwen2-MoE", "Qwen3-MoE") else {}
    return named | experts | (dict(shared_expert_intermediate_size=H) if name == "Qwen2-MoE" else {})


def words(seed: int, role: str, vocabulary: int, shape: tuple[int, ...]) -> Int[Tensor, "..."]:
    """Return random tokens, none of them 0, which pads in some classes and whose embedding they may keep at 0."""
    return torch.randint(1, vocabulary, shape, generator=stream(seed, role))


def round_weights(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """Round the weights, and no buffer: rotary frequencies stay in float32, as the classes read them."""
    for weight in model.parameters():
        weight.data = weight.data.to(dtype)
