"""Claims of the paper's own sections that are tests now: they show that our code computes what it says.

The test of each is ``test_<id>`` in ``tests/papers/dherin/test_dherin_moved.py``, with the assertion that the claim had.
"""

MOVED = {
    "D1b": "Without the update the context is missed: with Y = C the output is off by 1% or more, in every kind of layer.",
    "D1c": "With all behind the layer in float32 the patched block agrees to 1e-5, for all four kinds of layer.",
    "D2b": "Random recurrent layers forget: leaving out the first token counts less than a tenth of the last.",
    "D4b": "‖ΔW(Y)‖ = ‖W ΔA(Y)‖ / ‖A(C∖Y, x)‖.",
    "D4c": "‖ΔW(Y)‖ ≤ ‖W‖₂ ‖ΔA(Y)‖ / ‖A(C∖Y, x)‖, with ‖W‖₂ the largest singular value.",
    "D5c": "ΔW(Y) is the least-norm solution of D A(C∖Y, x) = W ΔA(Y) that a least-squares solver finds.",
    "D6b": "The cosine of two updates is that of their columns W ΔA times that of their rows A(x).",
    "D7c": (
        "That rank is d for A(x), d + 1 with labels, heads times min(head width, d + 1) when tokens are kept, the width "
        "for an RNN."
    ),
    "D10b": "The same in float32.",
    "D10c": "It costs size: ‖ΔW‖ grows like 1/‖A(x)‖ as A(x) shrinks.",
    "D10d": "And it costs reach: a fixed small change of A(x) upsets the patched block the more, the smaller ‖A(x)‖ is.",
    "D11b": "In linear attention the columns do add up: W ΔA(Y₁) + W ΔA(Y₂) = W ΔA(C).",
    "D12b": "So does the block without Y and with ΔW(Y), for every part Y of the context.",
    "D13b": "The steps add up: W_i = W₀ − h(Δ_0 + ... + Δ_{i−1}).",
    "D14b": "Δ_i must be frozen: made with the moving W, the gradient is W(D + Dᵀ), D = (a_i − a_{i+1})A(x)ᵀ.",
    "D16b": "The printed index runs one token ahead and never sees the first: followed from W₀ it reaches W_{i+1} − W_1 + W₀.",
    "D17b": "No step ever raises L_i: not with shuffled labels, not with tokens of noise, not in an untrained network.",
    "D17c": "L_i falls without bound along its gradient: L_i(W_i − thΔ_i) = L_i(W_i) − th‖Δ_i‖², a million steps ahead too.",
    "D17f": "In a trained network the squared error falls with true labels, and a fifth as far at most with the others.",
    "D19b": "Each slip loses the output: W_{i−2} in the step, the rate 1/‖A(x)‖², or A(c_i..c_N, x) in A_i and h_i.",
    "D20b": "The rank is at most N, the sizes of W, and the dimensions of A: heads × min(head width, d + 1) for attention.",
    "D20c": "‖W_N − W₀‖ ≥ ‖ΔW(C)‖, as least norm demands.",
    "D20d": "What W_N − W₀ has beyond ΔW(C) is orthogonal to it, because both do the same to A(x).",
    "D21b": "In float32, the usual precision of training, the two predictions agree to 1e-5.",
    "D22": "In-context learning comes early: within 200 steps the loss is below a tenth of that of the prediction 0.",
    "D23": "The trained block is far from the optimum: above the error of least squares by 1% of the label variance or more.",
    "D24c": "In float32 the patched four blocks agree to 1e-6 in the mean over tasks.",
    "D25b": "That difference is rounding: in float64 the patched ten blocks agree to 1e-13.",
    "D25c": "The ten blocks do learn in context: a quarter of the error of one gradient step at most.",
    "D26b": "Each marginal update is W Σ_h W_O^h p^h (v^h − ā^h) A(x)ᵀ/‖A(x)‖²: the step of a running weighted average.",
    "D26c": "Marginal updates have rank one, so spectral and Frobenius norm are one curve.",
    "D29g": "All six of these tanh RNNs have the slope 0, whatever their error.",
    "D30": "The prediction settles like the update: |T(C_n, x) − T(C_{n−1}, x)| falls like 1/n.",
    "D32e": "Finetuning diverges from twice the rate 2/(|u|²(tr K/d)(d+2)) on.",
    "D33c": "The alignment is κρ: the share κ of finetuning that the query sees, times the alignment ρ at the query.",
    "D33e": "Finetuning goes towards u(Gw)ᵀ, at cosine √(i/(i + 3 + 2|w|² tr K/(wᵀKw))), for i = 5 to 100.",
    "D34d": "In untrained networks the label parts of patch and finetuning have alignment 0 in the mean.",
}
