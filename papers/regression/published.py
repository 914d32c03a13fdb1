"""What Garg et al. print; nothing measured here.

Code takes these numbers from here alone; a test compares what docstrings quote.
"""

GPT2_VALUES = (
    ("no shift", 20, 0.02),
    ("no shift", 40, 0.0006),
    ("weights × 1/3", 40, 0.0012),
    ("weights × 1/2", 40, 0.0008),
    ("weights × 2", 40, 0.0016),
    ("weights × 3", 40, 0.0278),
    ("inputs × 1/3", 40, 0.30),
    ("inputs × 1/2", 40, 0.013),
    ("inputs × 2", 40, 0.043),
    ("inputs × 3", 40, 0.58),
    ("copied query", 10, 0.001),
    ("copied query", 20, 0.001),
    ("copied query", 40, 0.0005),
    ("half subspace", 10, 0.036),
    ("half subspace", 20, 0.0014),
    ("half subspace", 40, 0.00057),
    ("orthants", 20, 0.062),
    ("orthants", 40, 0.004),
)
"""(prompt, k, error/d) of GPT-2 at d = 20, read from the text of Garg et al. 2022 [V]; nothing measured here."""

GPT2_WORDS = (
    ("label noise", "tracks least squares, with its bump at k = d"),
    ("orthogonal query", "error about 1"),
    ("skewed covariance", "follows least squares to k = 10, then a plateau"),
)
"""What Garg et al. say of GPT-2 where no value was found in their text [V]."""

SPARSE_VALUES = ((5, 0.58, 0.62), (10, 0.09, 0.08))
"""(k, error of GPT-2, error of the Lasso) on functions of 3 of d = 20 entries [V]."""

QUOTED = {
    "G3": tuple(GPT2_VALUES[k][2] / scale for k, scale in ((2, 1 / 9), (4, 4))),  # over the error of predicting 0
}
"""What claims make of these numbers and quote, by claim."""
