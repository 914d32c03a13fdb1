"""How much the benchmark does: the whole list, or a short look at each group."""

from dataclasses import dataclass, replace

from papers.engine.sizes import SMALL, STANDARD, TINY, Size


@dataclass(frozen=True)
class Scale:
    """Sizes and repeats of all groups.

    sizes       decoders to train; ``batch`` of them at once for the rates
    replicates  numbers of models in one batch; ``patterns`` of the softmax-attention model
    lengths     of prompts for linear attention; ``prompts``: pattern prompts, as columns and as coordinates
    growth      numbers of examples, of entries of x, of models and of layers around the first size
    accuracy    of the Monte Carlo estimate against the closed form
    laps        of a training run; ``repeats``: rounds in which contenders take turns
    side, copied   rows of a large product and bytes of a large copy
    """

    sizes: tuple[Size, ...]
    batch: int
    replicates: tuple[int, ...]
    patterns: int
    lengths: tuple[int, ...]
    prompts: int
    growth: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    accuracy: float
    laps: int
    repeats: int
    side: int
    copied: int


WHOLE = Scale(
    sizes=(TINY, SMALL, STANDARD),
    batch=8,
    replicates=(1, 2, 4, 8, 16, 32),
    patterns=30,
    lengths=(20, 100, 400),
    prompts=4096,
    growth=((10, 20, 40, 80), (5, 10, 20, 40), (1, 2, 4, 8), (1, 3, 6, 12)),
    accuracy=0.01,
    laps=2,
    repeats=3,
    side=4096,
    copied=2**28,
)
QUICK = replace(
    WHOLE,
    sizes=(replace(TINY, every=1),),
    batch=2,
    replicates=(1, 4),
    patterns=4,
    lengths=(20,),
    prompts=256,
    growth=((10,), (10,), (2,), (1,)),
    accuracy=0.1,
    laps=1,
    repeats=1,
    side=512,
    copied=2**22,
)
