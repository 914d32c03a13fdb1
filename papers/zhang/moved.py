"""Claims that are tests now: they show that our code computes what it says, not what the paper says.

The test of each is ``test_<id>`` in ``tests/papers/zhang/test_zhang_moved.py``, with the assertion that the claim had.
"""

MOVED = {
    "Z13a": "At a fixed test length M the error is least at training length N = M, for every covariance tried.",
    "Z19c": "The loss never rises along the flow of Lemma 5.2.",
    "Z20b": "The limit of Theorem 4.1 minimises the full loss: no sampled parameter point lies below it.",
    "Z24d": "The slack of the PL inequality also grows with the condition number κ, at every d.",
    "ZF9b": "So divided, the error over that of predicting 0 is the same at c = 1, 4 and 9.",
}
