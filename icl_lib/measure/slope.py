"""The power with which one quantity goes with another."""

import numpy as np
from jaxtyping import Float

from icl_lib.typed import refuse


def log_log_slope(x: Float[np.ndarray, "n"], y: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b"]:
    """Return the least-squares slope of ln y against ln x, sum of (ln x - its mean) ln y over sum of (ln x - its mean)^2.

    It is the exponent p of y = c x^p, and NaN where a y is NaN. Both are positive, and two x differ.

    >>> import numpy as np
    >>> from icl_lib.measure.slope import log_log_slope
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> log_log_slope(x, np.array([x**2, 3 / x, [1.0, np.nan, 1.0]])).round(6).tolist()
    [2.0, -1.0, nan]
    """
    refuse(
        np.ndim(x) != 1 or np.shape(y)[-1:] != np.shape(x),
        f"x and y have the shapes {np.shape(x)} and {np.shape(y)}: give (n,) and (..., n)",
    )
    refuse(
        len({*np.ravel(x)}) < 2 or not (np.asarray(x) > 0).all() or not np.isfinite(x).all(),
        "a slope needs two different x, all above 0 and finite",
    )
    refuse(bool((np.asarray(y) <= 0).any()), "a y is 0 or below, and has no logarithm: give y above 0, or NaN")
    centred = np.log(x) - np.log(x).mean()
    return np.asarray(np.log(y) @ centred / (centred @ centred))
