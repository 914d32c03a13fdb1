"""li-small-steps: the part of training behind the escape, with steps so small that it takes many of them."""

from dataclasses import replace

from icl_lib.companion import Experiment
from papers.li.s3_3_how_many_steps.iterations import Iterations
from papers.li.trained import A

_QUICK = Iterations(
    base=replace(A, tasks="cyclic 1", beta=1.7, delta=0.4, eta=0.25, B=48, T=120),
    starts=((0.01, 1.0),),
    window=5,
    seeds=3,
    sweeps=(("alpha", (0.5, 1.0)), ("beta", (1.3, 2.2)), ("eta", (0.6, 1.6))),
    M1=(6, 16),
)
SMALL_STEPS = Experiment(
    slug="li-small-steps",
    title="Steps from hinge 0.9 to 0.1",
    quick=_QUICK,
    full=replace(
        _QUICK,
        base=replace(_QUICK.base, beta=1.0, eta=0.125, B=256, T=1000),
        window=10,
        seeds=6,
        sweeps=(("alpha", (0.4, 0.55, 0.75, 1.0)), ("beta", (0.9, 1.2, 1.5, 2.0)), ("eta", (0.5, 1.0, 2.0))),
        M1=(4, 8, 12, 24),
    ),
)
"""A larger delta shortens the escape, which does not change the part behind it."""
