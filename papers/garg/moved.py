"""Claims that are tests now: they show that our code computes what it says, not what the paper says.

The test of each is ``test_<id>`` in ``tests/papers/garg/test_garg_moved.py``, with the assertion that the claim had.
"""

MOVED = {
    "G1e": (
        "The excess of the error over that of the Bayes predictor is the squared distance to that predictor: least "
        "squares without noise, ridge with it."
    ),
    "G2c": "From one example more than there are entries on, the Bayes predictor makes no error.",
}
