"""The trainings of the part, whose weights are shipped in ``book/data/weights``."""

from dataclasses import replace

from papers.dherin.narrower_start import NarrowerStart
from papers.dherin.trained import ManyBlocks, OneBlock, Training

_ATTENTION = OneBlock(layer="softmax attention", d=2, width=32, heads=8, hidden=128)

ONE_BLOCK = Training("one-block", _ATTENTION, N=100, every_prefix=False, B=64, rate=3e-3, steps=5000, replicates=3)
"""The network of section 4.1: d = 2, N = 100, width 32, 8 heads, 128 hidden neurons."""
ONE_BLOCK_NARROWER = replace(
    ONE_BLOCK,
    name="one-block-narrower",
    model=NarrowerStart(layer="softmax attention", d=2, width=32, heads=8, hidden=128, over=3),
)
"""The same from matrices of a third of the variance, as PyTorch's linear layers draw them."""
PREFIX_ATTENTION = Training("prefix-attention", _ATTENTION, N=50, every_prefix=True, B=64, rate=3e-3, steps=4000, replicates=3)
PREFIX_RNN = Training(
    "prefix-rnn",
    OneBlock("tanh RNN", d=2, width=32, heads=1, hidden=128),
    N=50,
    every_prefix=True,
    B=64,
    rate=3e-3,
    steps=4000,
    replicates=3,
)
PREFIX_RNN_FAST = replace(PREFIX_RNN, name="prefix-rnn-fast", rate=1e-2)
PREFIX_GRU = Training(
    "prefix-gru",
    OneBlock("GRU", d=2, width=32, heads=1, hidden=128),
    N=50,
    every_prefix=True,
    B=64,
    rate=3e-3,
    steps=4000,
    replicates=3,
)
FOUR_BLOCKS = Training(
    "four-blocks",
    ManyBlocks(depth=4, d=2, width=32, heads=4, hidden=64),
    N=40,
    every_prefix=False,
    B=64,
    rate=2e-3,
    steps=5000,
    replicates=1,
)
TEN_BLOCKS = Training(
    "ten-blocks",
    ManyBlocks(depth=10, d=2, width=32, heads=4, hidden=64),
    N=40,
    every_prefix=False,
    B=64,
    rate=2e-3,
    steps=1500,
    replicates=1,
)
TRAININGS = (ONE_BLOCK, ONE_BLOCK_NARROWER, PREFIX_ATTENTION, PREFIX_RNN, PREFIX_RNN_FAST, PREFIX_GRU, FOUR_BLOCKS, TEN_BLOCKS)
