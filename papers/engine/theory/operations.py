"""Operations of a training step of the GPT-2 decoder, and the speed that a device allows. Two operations a multiply-add.

One layer of width 1 with an example of 1 entry has T = 3 tokens, of which 2 are read: 6 + 18 + 36 + 36 + 4 operations forward.

>>> from papers.engine.theory.operations import attainable, forward_operations, step_operations
>>> forward_operations(layers=1, width=1, entries=1, examples=1, prompts=1)
100
>>> step_operations(layers=1, width=1, entries=1, examples=1, prompts=1)
294
>>> attainable(peak=1e12, bandwidth=1e11, intensity=4.0)
np.float64(400000000000.0)
"""

import numpy as np


def forward_operations(layers: int, width: int, entries: int, examples: int, prompts: int) -> int:
    r"""Return the operations of the matrix products of one forward pass, eq-engine-forward.

    F = 2BTdD + (L - 1)(24BTD^2 + 4BT^2 D) + 6BTD^2 + 4BT^2 D + 18BrD^2 + 2BrD with T = 2N + 1 tokens, of which
    r = N + 1 are read. Scores are counted in full, though half of them are masked.
    """
    if layers < 1:
        raise ValueError(f"a decoder of {layers} layers has no last one: take one layer or more")
    L, D, d, N, B = layers, width, entries, examples, prompts
    T, r = 2 * N + 1, N + 1
    block = 24 * B * T * D**2 + 4 * B * T**2 * D
    last = 6 * B * T * D**2 + 4 * B * T**2 * D + 18 * B * r * D**2
    return 2 * B * T * d * D + (L - 1) * block + last + 2 * B * r * D


def step_operations(layers: int, width: int, entries: int, examples: int, prompts: int) -> int:
    """Return the operations of the matrix products of one training step, eq-engine-step: 3F - 2BTdD.

    A product costs twice as much again backward, for the gradients of its two factors; the tokens need none. What a
    kernel computes a second time backward is not counted, and neither is the optimizer.
    """
    read_in = 2 * prompts * (2 * examples + 1) * entries * width
    return 3 * forward_operations(layers, width, entries, examples, prompts) - read_in


def attainable(peak: float, bandwidth: float, intensity: float | np.ndarray) -> float | np.ndarray:
    """Return the roofline min(P, I b), eq-engine-roofline: operations a second at ``intensity`` operations a byte."""
    return np.minimum(peak, intensity * bandwidth)
