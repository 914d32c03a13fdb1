"""Configurations of the classes that the page does not have: each is patched within its own forward as exactly."""

import pytest
import torch

pytest.importorskip("transformers")

from icl_lib.seeds import stream
from papers.dherin.fits import LeastSquares
from papers.dherin.gains import one_factor, solved
from papers.dherin.model_families import seats
from papers.dherin.passes import Passage, Rule, patched, record
from papers.dherin.transformers_models import PACKAGE, ModelSizes, blank, words

SIZES = ModelSizes(width=32, hidden=48, depth=3, heads=4, vocabulary=61)
WINDOW = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "rope_theta": 1e4}
OTHERS = {
    "one head for keys": ("Llama", {"num_key_value_heads": 1, "head_dim": 24, "mlp_bias": True}),
    "tied": ("Qwen2", {"tie_word_embeddings": True, **WINDOW}),
    "a window": ("Qwen3", {"attention_bias": True, **WINDOW}),
    "frequencies that change on the way": ("Phi-3", {"original_max_position_embeddings": 8, "rope_parameters": LONG}),
    "one part after the other": ("GPT-NeoX", {"use_parallel_residual": False, "attention_bias": False}),
    "windows and caps": ("Gemma 2", {"sliding_window": 4, "final_logit_softcapping": 2.0, "attn_logit_softcapping": 1.0}),
    "no caps": ("Gemma 3", {"sliding_window": 4, "tie_word_embeddings": False}),
    "one expert": ("Mixtral", {"num_local_experts": 1, "num_experts_per_tok": 1, "sliding_window": 4}),
    "every other layer dense": ("Qwen2-MoE", {"decoder_sparse_step": 2, "mlp_only_layers": [], "norm_topk_prob": True}),
    "a dense layer": ("Qwen3-MoE", {"mlp_only_layers": [1], "norm_topk_prob": True}),
    "square": ("GPT-2", {"n_inner": 32, "tie_word_embeddings": False, "scale_attn_by_inverse_layer_idx": True}),
}


def largest(found, full) -> float:
    pairs = zip([*found.out, found.logits], [*full.out, full.logits], strict=True)
    return max(((one - other).norm(dim=-1) / other.norm(dim=-1)).max().item() for one, other in pairs)


@pytest.mark.parametrize("label", OTHERS)
@pytest.mark.parametrize("kept", [0, 5])
def test_patches_are_exact(label, kept):
    """A token patch, also of all matrices, and a joint patch of three tokens, with a part of the context in view or none."""
    name, settings = OTHERS[label]
    model = blank(name, SIZES, settings).requires_grad_(False)
    assert PACKAGE in type(model).__module__
    for key, weight in model.named_parameters():
        weight.add_(0.2 * torch.randn(weight.shape, generator=stream(0, key)))
    tokens, positions, found = words(0, "text", 61, (1, 20)), torch.arange(20)[None], seats(model)
    for M, parts in ((1, ("last",)), (1, ("reads", "last")), (3, ("last",))):
        rows, begin = positions >= 20 - M, 20 - M - kept
        full = record(model, found, Passage(tokens, positions, rows))
        left = Passage(*(each[:, begin:] for each in (tokens, positions, rows)))
        assert largest(record(model, found, left), full) > 1e-2
        with patched(model, found, full, left, Rule(LeastSquares(), parts, solved if M > 1 else one_factor)):
            assert largest(record(model, found, left), full) < 5e-6
