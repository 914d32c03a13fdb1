"""Claims that are tests now: they show that our code computes what it says, not what the paper says.

The test of each is ``test_<id>`` in ``tests/papers/zhang/test_zhang_moved.py``, with the assertion that the claim had.
"""

MOVED = {
    "Z1a": "At prompt length M, one step of size η has error tr Λ − 2η tr Λ² + η² tr(Γ_M Λ²), with M in place of N in Γ.",
    "Z1b": "The trained model has no such floor: at N = M = 10⁶ its error is below 10⁻³ tr Λ for κ = 1, 3, 10, 100.",
    "Z2a": "For Λ = I the general formula for e(N, ∞) reduces to d (1 − a)².",
    "Z2b": "The attention layer, fed example by example at M = 200, has the error e(N, M).",
    "Z3a": "The prediction computed from the query's column alone equals entry (d+1, M+1) of the layer as printed.",
    "Z6": (
        "With zero off-diagonal blocks and A = u U₁₁ the population loss is ½ [tr Λ − 2 tr(Λ²A) + tr(ΓΛAΛAᵀ)], at "
        "the initialisation, at the minimum and at a dense A."
    ),
    "Z6a": "The minimum ½ tr(Λ − Λ²Γ⁻¹) equals (1/2N) tr[ΛΓ⁻¹(Λ + tr(Λ) I)], so it is positive at every finite N.",
    "Z6b": "No A at any tried distance from Γ⁻¹ has a loss below that minimum.",
    "Z7b": "With ±w pairs, the gradient in u₁₂ and u₂₁ is zero for every draw, not only on average.",
    "Z9c": "With steps of 0.01 or less the factors themselves match Theorem 4.1: u₋₁ is right within 0.2%.",
    "Z11a": "Theorem 4.2 averaged over w ~ N(0, I) is e(N, M) = tr Λ − 2 tr(Λ²Γ_N⁻¹) + tr(Γ_M Λ² Γ_N⁻²).",
    "Z13a": "At a fixed test length M the error is least at training length N = M, for every covariance tried.",
    "Z14a": "At Λ = I the trained model is averaging times a = 1/(1 + (d+1)/N), prompt by prompt.",
    "Z14c": (
        "The closed form at Λ = I tends to (ν² + d/M)/(1 + ν)², ν = d/N, as d grows at fixed d/N and d/M, with a gap of order "
        "1/d: the asymptotic error of Lu et al. without label noise, for unlimited pretraining data and tasks."
    ),
    "Z15c": (
        "Weights scaled by c change nothing but the unit: the noiseless error divided by c² is the same for c = "
        "1/3, 1/2, 1, 2, 3, because LSA is linear in the labels."
    ),
    "Z17b": (
        "Inputs scaled by c: the error tends to c²(c² − 1)²‖w‖² in the norm of Λ as N, M → ∞, the error of the "
        "paper's limit c²wᵀx_query of the prediction."
    ),
    "Z17h": (
        "On all of Garg's shifted prompts the errors of LSA and of averaging at d = 20, Λ = I, N = 40 are "
        "those of the closed forms derived here."
    ),
    "Z19c": "The loss never rises along the flow of Lemma 5.2.",
    "Z20": "Over all live parameters the loss is odd part + even part under w → −w, each an exact polynomial.",
    "Z20b": "The limit of Theorem 4.1 minimises the full loss: no sampled parameter point lies below it.",
    "Z20c": "The Hessian of the full loss at that limit is positive semi-definite with exactly one zero mode.",
    "Z24d": "The slack of the PL inequality also grows with the condition number κ, at every d.",
    "Z25": "The condition on σ is sufficient, not necessary: no failure found from far below to far above it.",
    "ZF5c": (
        "Training leaves every row of the table beyond position 2N, where the last query of training stands, "
        "exactly where it started."
    ),
    "ZF9b": "So divided, the error over that of predicting 0 is the same at c = 1, 4 and 9.",
}
