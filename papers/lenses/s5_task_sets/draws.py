"""Sets of training tasks."""

import numpy as np
from jaxtyping import Float

from papers.regression.spectra import standard_normal


def unit_tasks(sets: int, k: int, d: int, seed: int, role: str) -> Float[np.ndarray, "sets k d"]:
    """Draw sets of k tasks, uniform on the sphere |w| = 1."""
    w = standard_normal((sets, k, d), seed, role)
    return w / np.linalg.norm(w, axis=-1, keepdims=True)
