"""li-decoder-positions: the transformer of three layers with and without GPT-2's learned positions (section 5 of Li et al.)."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from icl_lib.companion.declaration import AtLeastThree, Count, Declaration, Several
from icl_lib.companion.experiment import Experiment
from icl_lib.companion.results import variable
from icl_lib.companion.weights import Checkpoint
from papers.li.s5_experiments.decoder import SETTING, DecoderPrompts, require_tests
from papers.li.s5_experiments.decoder_training import DecoderSetting, train_decoders


@dataclass(frozen=True)
class DecoderPositions(Declaration):
    """``seeds`` decoders on one set of training tasks with a table of l + 1 positions, and as many without one.

    Tested at the training share, in and out of domain, on the same prompts. count, distractors, draws, prompts, S_1 as in
    ``DecoderPrompts``.
    """

    setting: DecoderSetting
    tasks: str
    seeds: Count
    lengths: Several[Count]
    S_1: float
    count: AtLeastThree
    distractors: Count
    draws: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        table = replace(self.setting, positions=self.setting.l + 1)
        require_tests(table, (self.tasks,), self.lengths, self.draws, self.prompts)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train both kinds and measure their classification errors."""
        tables = (0, self.setting.l + 1)
        found = [self._errors(replace(self.setting, positions=table), seed, device) for table in tables]
        return xr.Dataset(
            {
                "error": variable("positions domain l seed", [errors for errors, _ in found], "classification error"),
                "loss": variable("positions seed", [losses for _, losses in found], "training loss, last tenth"),
            },
            coords={
                "positions": ["none", "learned"], "domain": ["in", "out"], "l": list(self.lengths), "seed": range(self.seeds),
            },
        )  # fmt: skip

    def _errors(self, setting: DecoderSetting, seed: int, device: str) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (domain, l, S) and the last training losses (S,)."""
        tests = DecoderPrompts(
            setting, (self.tasks,), self.seeds, (setting.alpha,), self.lengths, self.S_1, (self.S_1,), self.count,
            self.distractors, self.draws, self.prompts,
        )  # fmt: skip
        checkpoint = Checkpoint.of(tests, seed, device, every=200)
        runs = train_decoders(setting, (self.tasks,), self.seeds, seed, device, checkpoint)
        checkpoint.remove()
        last = runs.losses[-max(1, setting.steps // 10) :, 0].mean(0).numpy()
        return tests.cells(runs.after[0], seed)[:, 0], last


_QUICK = DecoderPositions(
    setting=DecoderSetting(
        M1=6, M2=10, d_Y=2, beta=2.0, K=0.5, layers=3, heads=2, width=16, rate=1e-2, B=32, steps=150, l=12, alpha=0.8
    ),
    tasks="cyclic 4", seeds=3, lengths=(4, 12), S_1=1.1, count=3, distractors=10, draws=4, prompts=200,
)  # fmt: skip
DECODER_POSITIONS = Experiment(
    slug="li-decoder-positions",
    title="A transformer of three layers with learned positions",
    quick=_QUICK,
    full=replace(_QUICK, setting=SETTING, tasks="cyclic 3", seeds=8, lengths=(2, 4, 8, 12, 20), draws=10, prompts=1000),
)  # fmt: skip
