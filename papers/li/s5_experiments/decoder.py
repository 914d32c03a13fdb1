"""li-decoder: a causal transformer of three layers on pattern prompts (section 5 of Li et al.)."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, PositiveShare, Several, expectation, variable
from icl_lib.seeds import stream
from papers.li.classification import wrong
from papers.li.odr import ODRPatterns
from papers.li.patterns import Patterns, combined_patterns, rescaled_patterns, rotated_patterns
from papers.li.published import ATTENTION, SHARES, sum_points
from papers.li.s5_experiments.decoder_training import (
    LOSSES,
    Decoders,
    DecoderSetting,
    DecoderTraining,
    Readings,
    draw_codes,
    run_decoders,
    trained,
    untrained,
)
from papers.li.s5_experiments.trainings import WITHOUT_POSITIONS
from papers.li.task_sets import all_tasks, task_set, unseen_tasks
from papers.li.theory import floor

CONVENTIONS = ("fixed norm", "rescaling")
"""How patterns get the coefficient sum S_1: combinations as long as the IDR patterns, or S_1 times an IDR pattern."""
EYE = "read off the authors' slides by eye, about 10%"


@dataclass(frozen=True)
class DecoderPrompts(Declaration):
    """The decoders of one training, tested in and out of domain.

    alphas, lengths   test shares and test lengths
    S_1               coefficient sum of the tests at all shares and lengths; sums: coefficient sums S_1 of the others
    odr               patterns out of domain
    prompts           test prompts of a model in a cell; those out of domain are shared among the draws
    """

    training: DecoderTraining
    alphas: Several[PositiveShare]
    lengths: Several[Count]
    S_1: float
    sums: Several[float]
    odr: ODRPatterns
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        require_tests(self.training, self.lengths, self.odr.draws, self.prompts)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train unless the weights are shipped, then measure error and attention on unseen tasks and unseen patterns."""
        models, losses = trained(self.training, seed, device)
        stages = (untrained(self.training, seed, device), models)
        layers = np.array([self._layers(stages, out, seed) for out in (False, True)])
        shifted = np.array([self._shifted(models, rule, seed) for rule in CONVENTIONS])
        marks = np.unique(np.geomspace(LOSSES, losses.shape[-1], 24).astype(int))
        where = "domain stage layer seed"
        return xr.Dataset(
            {
                "loss": variable("step seed", [losses[:, k - LOSSES : k].mean(1) for k in marks], "training loss"),
                "error": variable("domain alpha l seed", self.cells(models, seed), "classification error"),
                "untrained": variable("domain seed", layers[:, 3, 0, 0], "classification error before training"),
                "mass": variable(where, layers[:, 0], "attention to the query's pattern, of that to contexts"),
                "mass_head": variable(where, layers[:, 1], "the same, in the layer's more selective head"),
                "itself": variable(where, layers[:, 2], "attention of the query to itself"),
                "shifted": variable("convention sum seed", shifted, "error on patterns with sum S_1"),
            },
            coords={
                "domain": ["in", "out"],
                "alpha": list(self.alphas),
                "l": list(self.lengths),
                "stage": ["before", "after"],
                "layer": range(1, layers.shape[3] + 1),
                "convention": list(CONVENTIONS),
                "sum": list(self.sums),
                "step": marks,
                "seed": range(layers.shape[-1]),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the laws of section 3.2 and the points of the slides beside it."""
        cells = [(alpha, l) for alpha in self.alphas for l in self.lengths]
        shape = (len(self.alphas), len(self.lengths))
        vote = np.reshape([floor.vote_error(l, alpha) for alpha, l in cells], shape)
        patterns, layers = (self.training.setting.M1, self.odr.count), dataset.sizes["layer"]
        best = [np.reshape([floor.best_error(l, a, M1) for a, l in cells], shape) for M1 in patterns]
        mass = [*ATTENTION, *[(np.nan, np.nan)] * layers][:layers]  # the slides show three
        errors = [[SHARES.get((domain, alpha), np.nan) for alpha in self.alphas] for domain in ("in", "out")]
        columns = {
            "error_vote": variable("alpha l", vote, "error of a vote among all contexts"),
            "error_best": variable("domain alpha l", best, "least error when all tasks are equally likely"),
            "slides_error": variable("domain alpha", errors, f"GPT-2 at l = 20, {EYE}"),
            "slides_shifted": variable("sum", [sum_points(S, 20) for S in self.sums], f"GPT-2 at l = 20, {EYE}"),
            "slides_mass": variable("stage layer", np.array(mass).T, f"GPT-2, {EYE}"),
        }
        return dataset.assign(columns)

    def _read(self, models: Decoders, out: bool, alpha: float, length: int, seed: int) -> Readings:
        setting, tasks = models.setting, self.training.tasks
        if out:
            patterns = self._combined(self.S_1, seed)
            law, prompts = setting.law(all_tasks(self.odr.count), alpha, patterns), self.prompts // self.odr.draws
        else:
            patterns, prompts = setting.patterns(), self.prompts
            law = setting.law(unseen_tasks(task_set(tasks, setting.M1), setting.M1), alpha)
        name = f"decoder/{tasks}/{out}/{alpha}/{length}"
        codes = draw_codes(law, self.training.replicates, prompts, length, seed, name)
        return run_decoders(models, codes, patterns)

    def _combined(self, S_1: float, seed: int) -> Patterns:
        """Draw ``draws`` sets of patterns for each model; (S, draws, ...)."""
        own, shape = self.training.setting.patterns(), (self.training.replicates, self.odr.draws)
        generator = stream(seed, f"decoder/patterns/{self.training.tasks}/{S_1}")
        relevant = combined_patterns(generator, own.relevant, self.odr.count, S_1, prod(shape))
        irrelevant = rotated_patterns(generator, own.irrelevant, self.odr.distractors, prod(shape))
        return Patterns(*(rows.unflatten(0, shape) for rows in (relevant, irrelevant)))

    def cells(self, models: Decoders, seed: int) -> np.ndarray:
        """Classification error of every model, (domain, alpha, l, S)."""
        domains = (False, True)
        return np.array(
            [[[self._error(models, out, a, l, seed) for l in self.lengths] for a in self.alphas] for out in domains]
        )

    def _error(self, models: Decoders, out: bool, alpha: float, length: int, seed: int) -> np.ndarray:
        return wrong(self._read(models, out, alpha, length, seed).margin).mean(-1).numpy()

    def _layers(self, stages: tuple[Decoders, Decoders], out: bool, seed: int) -> np.ndarray:
        """Attention of the query's row by layer, and the error, at the longest length, (quantity, stage, layer, S)."""
        rows = []
        for models in stages:
            found = self._read(models, out, models.setting.alpha, models.setting.l, seed)
            mass = found.mass.nanmean(1)
            error = wrong(found.margin).mean(-1)[:, None].expand(-1, models.setting.layers)
            rows.append([part.T.numpy() for part in (mass.mean(-1), mass.amax(-1), found.itself.mean((1, -1)), error)])
        return np.array(rows).swapaxes(0, 1)

    def _shifted(self, models: Decoders, rule: str, seed: int) -> np.ndarray:
        """Error on patterns with coefficient sum S_1, (S_1, S)."""
        setting, shape = models.setting, (self.training.replicates, self.odr.draws)
        own, found = setting.patterns(), []
        for S_1 in self.sums:
            if rule == "fixed norm":
                patterns = self._combined(S_1, seed)
            else:
                patterns = Patterns(
                    *(rows.expand(*shape, -1, -1) for rows in (rescaled_patterns(own.relevant, S_1), own.irrelevant))
                )
            law = setting.law(all_tasks(patterns.relevant.shape[-2]), setting.alpha, patterns)
            name = f"decoder/{rule}/{self.training.tasks}/{S_1}"
            codes = draw_codes(law, self.training.replicates, self.prompts // self.odr.draws, setting.l, seed, name)
            found.append(wrong(run_decoders(models, codes, patterns).margin).mean(-1))
        return torch.stack(found).numpy()


def require_tests(training: DecoderTraining, lengths: tuple[int, ...], draws: int, prompts: int) -> None:
    """Raise ValueError for tasks that leave none unseen, prompts longer than the table of positions, and empty draws."""
    unseen_tasks(task_set(training.tasks, training.setting.M1), training.setting.M1)
    if 0 < (positions := training.setting.positions) <= max(lengths):
        longest = f"prompts of {max(lengths)} examples and a query"
        raise ValueError(f"{longest}, but {positions} positions: take shorter ones, or more positions")
    if draws > prompts:
        raise ValueError(f"{prompts} prompts for {draws} draws of patterns: take one or more for each")


SUMS = (-1.0, 0.0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3)
SHORT = DecoderTraining(
    name="",
    setting=DecoderSetting(
        M1=6, M2=10, d_Y=2, beta=2.0, K=0.5, layers=3, heads=2, width=16, rate=7e-3, B=32, steps=250, l=12, alpha=0.8
    ),
    tasks="cyclic 4",
    replicates=5,
)
"""The training of the quick profile."""
_QUICK = DecoderPrompts(
    training=SHORT,
    alphas=(0.8, 1.0),
    lengths=(4, 12),
    S_1=1.1,
    sums=(0.3, 0.5, 1.1),
    odr=ODRPatterns(count=3, distractors=10, draws=4),
    prompts=160,
)
DECODER = Experiment(
    slug="li-decoder",
    title="A transformer of three layers",
    quick=_QUICK,
    full=replace(
        _QUICK,
        training=WITHOUT_POSITIONS,
        alphas=(0.8, 0.9, 1.0),
        lengths=(2, 4, 6, 8, 10, 12, 16, 20),
        sums=SUMS,
        odr=replace(_QUICK.odr, draws=10),
        prompts=1000,
    ),
)
