"""Claims that are tests now: they show that our code computes what it says, not what the paper says.

The test of each is ``test_<id>`` in ``tests/papers/li/test_li_moved.py``, with the assertion that the claim had.
"""

MOVED = {
    "L0e": (
        "Neurons under linear attention learn a small feature part because its weights add up to almost 0 at the "
        "start: with 1/l added to each weight the part is at least half as large as under the softmax."
    ),
    "L1": (
        "The untrained network is at chance: over the draws of W_O its error is 1/2 and its hinge loss 1, for every "
        "length of the patterns and of the prompt."
    ),
    "L1c": (
        "At the start E F² = ½(1 − 1/π) ξ²δ² E|p̄|², whatever the number of neurons, so F is of order 10⁻³ and the "
        "hinge loss is 1 to first order."
    ),
    "L2b": "Unseen tasks are learnt with the trained ones: at the end their hinge loss is larger by at most 0.05.",
    "L2c": (
        "What is learnt needs the attention: with W_Q = 0 the network has error 1/2 and hinge loss at least 1, in the "
        "mean over the stages of training and the sets of tasks."
    ),
    "L3b": "|T_tr|/|T| ≥ (M₁−1)^(−1/2) takes ⌈√(M₁−1)⌉ cyclic shifts, where |T_tr| ≥ M₁ takes one: two requirements.",
    "L5b": "On its training tasks every model is right, whether or not they meet Condition 3.2: error at most 0.005.",
    "L5d": ("At uniform attention the expected push on W_KᵀW_Q is the Laplacian of the training pairs over the label balance."),
    "L5e": "The expected push on a linear value function is D·(Σⱼ bⱼ μⱼ, q): patterns enter by the label balance b alone.",
    "L5g": "One-sided tasks are memorised at every ratio |q|/β: the error on unseen tasks is 0.2 or more.",
    "L6b": "A trained model errs between 0.5 and 1 times the probability (1−α′/2)ˡ that the query's pattern is missing.",
    "L6d": "The best predictor's error, summed exactly over all prompts, is what it makes on drawn prompts.",
    "L7b": "The hinge grows below: at S₁ = −1 it exceeds that at S₁ = 1 by at least 0.03.",
    "L7e": "At fixed norm, in settings A and B, the attention on the query's pattern is the same at every S₁.",
    "L7w": "Attention and 0-1 error under rescaling follow the vote law at score gap S₁²γ, γ from the trained W_K, W_Q.",
    "L8c": "In domain covering is enough: on unseen tasks the error is below 0.005 for every number of covering tasks.",
    "L8d": "The score gap averaged over ODR draws is the one averaged over IDR pairs, whatever the training tasks.",
    "L12b": "Small neurons hardly speak: without them the output changes by less than 2% of its size.",
    "L13f": "∂F/∂sᵢ = attnᵢ (φᵢ − φ̄) at every recorded step of training.",
    "L13g": "At the end of training fewer than 1 % of the training prompts have zF < 1 and so a gradient at all.",
    "L14c": (
        "The learnt scores between different patterns follow the Laplacian of the training tasks: most negative for "
        "pairs that tasks oppose."
    ),
    "L14d": "The keys of the mean pattern never move: W_K (μ̄; 0) is conserved by every step, in all settings.",
    "L14e": "At first the logarithm of each mode of the scores grows in proportion to its eigenvalue of the task Laplacian.",
    "L15c": "Training turns small rows away from the mean pattern: their cosine falls by at least 0.2 (setting A).",
    "L15g": "After training no large row is active on μ̄ with the wrong label.",
    "L16c": "Leaving the positions out changes little: at the longest prompts errors differ by 0.1 at most, in both domains.",
    "L20h": "The trained model does not feel the noise: its error stays as it is up to κ = 3.",
}
