"""The decoders whose weights are shipped, at the scale of two cores: 3 layers, 2 heads, width 64, prompts of d = 5 or 10."""

from dataclasses import replace

from papers.regression.curriculum import Ramp
from papers.regression.decoders import DecoderTraining

ROOM = 42
"""Positions for 41 examples and the query, so that prompts may be twice as long as in training."""

_FIXED = DecoderTraining(
    "gpt2-fixed-10",
    layers=3,
    heads=2,
    width=64,
    d=5,
    N=10,
    law="fixed",
    sparsity=5,
    room=ROOM,
    dims=Ramp(3, 5, 1, 300),
    points=Ramp(5, 11, 2, 200),
    B=64,
    rate=1e-3,
    steps=12_000,
    replicates=1,
)
FIXED = tuple(replace(_FIXED, name=f"gpt2-fixed-{N}", N=N, points=replace(_FIXED.points, end=N + 1)) for N in (10, 15, 20))
"""Trained on covariance I, at N = 10, 15 and 20 examples."""
RANDOM = tuple(replace(each, name=f"gpt2-random-{each.N}", law="random") for each in FIXED)
"""Trained on a random diagonal covariance."""
FROZEN = tuple(replace(each[0], name=f"gpt2-{each[0].law}-10-frozen", room=0) for each in (FIXED, RANDOM))
"""The control for N = 10: positions frozen at 0."""
SPARSE = replace(
    _FIXED, name="gpt2-sparse-20", d=10, N=20, law="sparse", sparsity=2, dims=Ramp(5, 10, 1, 300), points=Ramp(11, 21, 2, 300)
)
"""Trained on tasks with 2 of 10 entries."""
SPARSE_SLOW = replace(SPARSE, name="gpt2-sparse-20-slow", dims=Ramp(3, 10, 1, 1000), points=Ramp(9, 21, 2, 1000))
"""The same training with a curriculum that begins with 3 entries and takes 7,000 steps in place of 1,500."""
TRAININGS = (*FIXED, *RANDOM, *FROZEN, SPARSE, SPARSE_SLOW)

# --- the scale of the papers: for a GPU, not shipped --------------------------------------------------------------

_PAPER = DecoderTraining(
    "gpt2-paper-fixed-40",
    layers=12,
    heads=8,
    width=256,
    d=20,
    N=40,
    law="fixed",
    sparsity=20,
    room=121,
    dims=Ramp(5, 20, 1, 2000),
    points=Ramp(11, 41, 2, 2000),
    B=64,
    rate=1e-4,
    steps=500_000,
    replicates=1,
)
PAPER_FIXED = tuple(
    replace(_PAPER, name=f"gpt2-paper-fixed-{N}", N=N, points=replace(_PAPER.points, end=N + 1)) for N in (40, 70, 100)
)
"""Zhang et al., appendix E: 12 layers, 8 heads, width 256, d = 20, 500,000 steps at rate 1e-4, Garg's curriculum.

Other than there, the rate rises and falls (``one_cycle``), and the table of positions has room for 120 examples, not 100, so
that prompts can be longer than N = 100; how the curriculum ends at N = 70 and 100 is not printed.
"""
PAPER_RANDOM = tuple(replace(each, name=f"gpt2-paper-random-{each.N}", law="random") for each in PAPER_FIXED)
PAPER_SPARSE = replace(_PAPER, name="gpt2-paper-sparse-40", law="sparse", sparsity=3)
PUBLISHED_TRAININGS = (*PAPER_FIXED, *PAPER_RANDOM, PAPER_SPARSE)
