"""li-decoder-positions: the transformer of three layers with and without GPT-2's learned positions (section 5 of Li et al.)."""

from dataclasses import dataclass, replace

import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, Several, variable
from papers.li.odr import ODRPatterns
from papers.li.s5_experiments.decoder import SHORT, DecoderPrompts, require_tests
from papers.li.s5_experiments.decoder_training import DecoderTraining, trained
from papers.li.s5_experiments.trainings import WITH_POSITIONS, WITHOUT_POSITIONS


@dataclass(frozen=True)
class DecoderPositions(Declaration):
    """Decoders with a table of learned positions and as many without one, trained on the same prompts.

    lengths   examples of a test prompt; S_1: coefficient sum of the ODR patterns
    odr       patterns out of domain
    prompts   test prompts of a model in a cell; out of domain they are shared among the draws
    Tested at the training share, in and out of domain, on the same prompts.
    """

    without: DecoderTraining
    learned: DecoderTraining
    lengths: Several[Count]
    S_1: float
    odr: ODRPatterns
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        require_tests(self.learned, self.lengths, self.odr.draws, self.prompts)
        table = self.learned.setting.positions
        if table == 0 or replace(self.without, name="", setting=replace(self.without.setting, positions=table)) != replace(
            self.learned, name=""
        ):
            raise ValueError("the two trainings must differ in the table of positions, and in nothing else")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the classification errors of both kinds."""
        errors, last = [], []
        for training in (self.without, self.learned):
            models, losses = trained(training, seed, device)
            alphas, sums = (training.setting.alpha,), (self.S_1,)
            tests = DecoderPrompts(training, alphas, self.lengths, self.S_1, sums, self.odr, self.prompts)
            errors.append(tests.cells(models, seed)[:, 0])
            last.append(losses[:, -max(1, losses.shape[1] // 10) :].mean(1).numpy())
        return xr.Dataset(
            {
                "error": variable("positions domain l seed", errors, "classification error"),
                "loss": variable("positions seed", last, "training loss, last tenth"),
            },
            coords={
                "positions": ["none", "learned"],
                "domain": ["in", "out"],
                "l": list(self.lengths),
                "seed": range(self.learned.replicates),
            },
        )


_QUICK = DecoderPositions(
    without=SHORT,
    learned=replace(SHORT, setting=replace(SHORT.setting, positions=SHORT.setting.l + 1)),
    lengths=(4, 12),
    S_1=1.1,
    odr=ODRPatterns(count=3, distractors=10, draws=4),
    prompts=160,
)
DECODER_POSITIONS = Experiment(
    slug="li-decoder-positions",
    title="A transformer of three layers with learned positions",
    quick=_QUICK,
    full=replace(
        _QUICK,
        without=WITHOUT_POSITIONS,
        learned=WITH_POSITIONS,
        lengths=(2, 4, 8, 12, 20),
        odr=replace(_QUICK.odr, draws=10),
        prompts=1000,
    ),
)
