"""Claims on later versions and sequels that are tests now: they show that our code computes what it says.

The test of each is ``test_<id>`` in ``tests/papers/dherin/test_dherin_moved_sequels.py``, with the assertion that the
claim had.
"""

MOVED = {
    "D35b": "Neither part of this patch can be left out: without the bias part, or the matrix part, 1% error or more is left.",
    "D35f": "The patch is no constant of the context: both parts taken from another query leave 5% error or more.",
    "D36c": "Without ε the update is exact however short the vector n is that W reads for the query alone.",
    "D39c": "Without skips there is no such anomaly.",
    "D40b": "The query's composed patches are those made of the blocks' true inputs: Δz = 0 once the block below is patched.",
    "D40c": "The last block's patch alone does it, fitted to what unpatched blocks send: it makes good for all below.",
    "D42b": "Without its site the patch is no repair: the typical error of the logits is above 0.3 in every architecture.",
    "D44b": "In parallel blocks the patches of W_gate and W_up are 0: z does not see the context, given the right stream.",
    "D45b": "One change for all experts takes no larger a norm than one change for each active expert.",
    "D47b": "What W_down alone can reach is all m⊙s with RMS(s) < 1: the nearest one is reached, none comes nearer.",
    "D48b": "With d = v_C − v it changes the scale by RMS(d/m)/RMS(n) at most, the published form some entry by no less.",
    "D48e": "Made where they are used, both forms err in bfloat16 by less than bfloat16 itself does with the context in view.",
    "D50b": "Along the whole generation, greedy or sampled, the logits agree at rounding.",
    "D50c": "In Gemma-style networks with the published patch of the gain the logits agree at rounding too.",
    "D50d": "A network that keeps the last tokens in view and has the rest in its patches gives the same tokens as well.",
    "D50e": "A lower block may go unpatched: the blocks above take up what it left wrong, and the logits are exact.",
    "D50f": "But for Gemma's published form, position matters neither to a token alone nor, if all shift alike, to a window.",
    "D51": "Sampling with common random numbers gives the same tokens too.",
    "D52b": "The formulas for the operations of matrix products are what PyTorch counts.",
    "D54b": "One query less is not enough: with K = d − 1 at least the share 1/(5d) of the distance is left.",
    "D55c": "A change of matrix and bias together does as well, but needs one query more, K = d + 1.",
    "D56b": "The same for ten blocks.",
}
