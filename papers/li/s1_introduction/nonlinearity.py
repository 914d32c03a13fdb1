"""li-nonlinearity: the paper's network with and without its softmax and its ReLU, trained and tested alike."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    Positive,
    PositiveShare,
    Several,
    expectation,
    near_misses,
    variable,
)
from icl_lib.seeds import stream
from papers.li.classification import Readings, hinge, read, same_pattern, wrong
from papers.li.evaluate import beside_draws, combined
from papers.li.mechanism import bilinear_form, neurons
from papers.li.s1_introduction.trained_variants import train_variant
from papers.li.softmax_attention_variants import variant
from papers.li.task_sets import task_set, unseen_tasks
from papers.li.theory import nonlinearity
from papers.li.trained import A, Setting, Trained

FOUR = ("softmax, ReLU", "softmax, linear", "linear, ReLU", "linear, linear")
ODR_COUNT, ODI_COUNT = 3, 10


@dataclass(frozen=True)
class Nonlinearity(Declaration):
    """The four variants, each with every step size of ``eta``; the step with the least training loss at the end is kept.

    eta       step sizes that are tried
    seeds     models of each variant and step size
    alpha     shares of contexts with a pattern of the task in long test prompts
    S_1       coefficient sums of the ODR patterns
    short     examples of a short test prompt; length: examples of a long test prompt
    draws     sets of ODR and ODI patterns of a model at each S_1
    prompts   test prompts of a model in a cell; out of domain they are shared among the draws
    ``setting`` gives all but the step size. Short prompts have the training share.
    One size: M1, d, D, d_Y: sizes of the trained networks; tests average the distribution exactly at other ones.
    """

    setting: Setting
    eta: Several[Positive]
    seeds: AtLeastTwo
    alpha: Several[PositiveShare]
    S_1: Several[float]
    short: Several[Count]
    length: Count
    draws: Count
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        if self.prompts < self.draws:
            raise ValueError(f"{self.prompts} prompts for {self.draws} draws of patterns: take one prompt a draw at least")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Train the four variants and read them on common prompts."""
        found = {name: self._train(name, seed, device) for name in FOUR}
        shifted = _best(self._train("shifted linear, ReLU", seed, device))
        kept = {name: _best(models) for name, models in found.items()}
        cells = {name: self._read(name, trained, seed) for name, trained in kept.items()}
        form, readout = _linear_parts(kept["linear, linear"])
        column = {key: torch.stack([cell[key] for cell in cells.values()]).numpy() for key in READINGS}
        return xr.Dataset(
            {
                "eta": variable("variant", [trained.setting.eta for trained in kept.values()], "step size that was kept"),
                "loss_end": variable(
                    "variant step_size",
                    [[_last_quarter(trained.losses) for trained in models] for models in found.values()],
                    "training loss over the last quarter, mean over seeds; infinite where a run diverged",
                ),
                **{key: variable(dims, column[key], text) for key, (dims, text) in READINGS.items()},
                "feature_shifted": variable("seed", _response(shifted), "the same for shifted linear attention, ReLU"),
                "form": variable("seed key query", form, "W_K^T W_Q between unit vectors, linear both"),
                "readout": variable("seed key", readout, "W_V^T W_O^T a along unit vectors, linear both"),
            },
            coords={
                "variant": list(FOUR),
                "step_size": list(self.eta),
                "seed": range(self.seeds),
                "alpha": list(self.alpha),
                "S_1": list(self.S_1),
                "short": list(self.short),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside the margins, and the error that one sign of all weights would make."""
        setting = self.setting
        relevant, q = setting.beta * np.eye(setting.M1), np.array([setting.q])
        pairs = zip(dataset.form.values, dataset.readout.values, strict=True)
        slope = np.array([nonlinearity.margin_slope(relevant, form, readout, q) for form, readout in pairs])
        follows = [[float(name.endswith("ReLU"))] for name in FOUR]  # a linear MLP answers the labels alone
        absent = [[nonlinearity.absent_error(setting.alpha, l, sign) for l in self.short] for sign in (1, -1)]
        feature = xr.DataArray(follows * dataset.response.values, dims=("variant", "seed"))
        push = (feature * dataset.S_1 * dataset.total_S_1).mean("seed")
        predicted = dataset.margin_S_1.isel(S_1=-1).mean("seed") + push - push.isel(S_1=-1)
        law = np.array(self.alpha)[:, None] / 2 * slope
        measured = dataset.margin_alpha.sel(variant="linear, linear").values
        factors = {
            "a factor 1 − 1/l, as under the softmax": 1 - 1 / self.length,
            "l + 1 for l, the query counted as a context": self.length / (self.length + 1),
        }
        return (
            dataset.assign(_pooled(measured / law, factors))
            .assign(
                feature=variable("variant seed", feature.values, FEATURE),
                margin_predicted=variable("variant S_1", predicted.transpose("variant", "S_1"), PREDICTED),
                margin_alpha_theory=variable("alpha seed", law, "mean z F in closed form, linear both"),
                absent_error=variable(
                    "sign short", absent, "error from prompts without the query's pattern, weights of one sign"
                ),
            )
            .assign_coords(sign=[1, -1])
        )

    def _train(self, name: str, seed: int, device: str) -> tuple[Trained, ...]:
        return train_variant(name, self.setting, self.eta, self.seeds, seed, device)

    def _read(self, name: str, trained: Trained, seed: int) -> dict[str, Tensor]:
        setting = trained.setting
        own, every = task_set(setting.tasks, setting.M1), task_set("all", setting.M1)
        unseen = self._in_domain(name, trained, unseen_tasks(own, setting.M1), setting.alpha, setting.l, seed)
        hidden = trained._replace(parameters=trained.parameters | {"W_Q": 0 * trained.parameters["W_Q"]})
        blind = self._in_domain(name, hidden, unseen_tasks(own, setting.M1), setting.alpha, setting.l, seed)
        shares = [self._in_domain(name, trained, every, alpha, self.length, seed) for alpha in self.alpha]
        short = [self._in_domain(name, trained, every, setting.alpha, l, seed) for l in self.short]
        outside = [self._out_of_domain(name, trained, S_1, seed) for S_1 in self.S_1]
        return {
            "half": _half_time(trained.losses),
            "error": wrong(unseen.margin).mean(-1),
            "hinge": hinge(unseen.margin).mean(-1),
            "error_blind": wrong(blind.margin).mean(-1),
            "relevant": self._relevant(name, trained, every, seed),
            "response": _response(trained),
            "margin_alpha": _stack(shares, lambda margin: margin),
            "hinge_alpha": _stack(shares, hinge),
            "error_alpha": _stack(shares, wrong),
            "error_short": _stack(short, wrong),
            **{key: torch.stack([at[key] for at in outside]) for key in outside[0]},
        }

    def _in_domain(self, name: str, trained: Trained, tasks: Tensor, alpha: float, length: int, seed: int) -> Readings:
        law = trained.setting.law(tasks, alpha)
        model = variant(name, trained.model(), law.patterns)
        role = f"in domain/{alpha:g}/{length}/{len(tasks)}"
        return read(model, law, prompts=self.prompts, length=length, lead=(self.seeds,), seed=seed, name=role)

    def _out_of_domain(self, name: str, trained: Trained, S_1: float, seed: int) -> dict[str, Tensor]:
        """Return mean z F, mean hinge and mean sum of the attention on ODR patterns, (seeds,) each.

        Every S_1 takes the same draws: the part of the patterns with coefficient sum 0, the codes.
        """
        count = dict(count=ODR_COUNT, distractors=min(ODI_COUNT, trained.setting.M2), draws=self.draws)
        patterns = combined(trained, S_1, **count, seed=seed, name="ODR")
        law = trained.setting.law(task_set("all", ODR_COUNT), trained.setting.alpha, patterns)
        model = variant(name, beside_draws(trained.model()), patterns)
        shape = (self.seeds, self.draws, self.prompts // self.draws)
        codes = law.codes(stream(seed, "out of domain"), shape, self.setting.l)
        attention = model.attention(codes)
        margin = codes.y[..., -1] * model.output(codes, attention)
        found = {"margin_S_1": margin, "hinge_S_1": hinge(margin), "total_S_1": attention.sum(-1)}
        return {key: value.mean((1, 2)) for key, value in found.items()}

    def _relevant(self, name: str, trained: Trained, tasks: Tensor, seed: int) -> Tensor:
        """Return the sum of attn_i over the contexts with the query's pattern, mean over prompts."""
        law = trained.setting.law(tasks, self.setting.alpha)
        codes = law.codes(stream(seed, "attention"), (self.seeds, self.prompts), self.setting.l)
        attention = variant(name, trained.model(), law.patterns).attention(codes)
        return (attention * same_pattern(codes)).sum(-1).mean(-1)


def _pooled(ratio: np.ndarray, near: dict[str, float]) -> dict[str, object]:
    """Return the mean of a ratio over shares and seeds (rows and columns), and that over small shares less over large ones.

    Prompts are drawn for each share and each model by themselves. Blocks are Satterthwaite's degrees of freedom, and one.
    """
    A, n = ratio.shape
    square = ratio.var(1, ddof=1) / n
    small = np.arange(A) < A // 2
    weight = np.array([np.full(A, 1 / A), small / max(A // 2, 1) - ~small / (A - A // 2) * (A > 1)])
    standard_error = variable("part", (weight**2 @ square) ** 0.5, "its standard error")
    standard_error.attrs["blocks"] = 1 + int(square.sum() ** 2 / (square**2).sum() * (n - 1))
    return {
        "margin_ratio": variable("part", weight @ ratio.mean(1), "mean z F over its closed form, linear both"),
        "margin_ratio_theory": variable("part", [1.0, 0.0], "1, and the same at small and large shares"),
        "margin_ratio_se": standard_error,
        "margin_ratio_scale": variable("", 1.0, "deviations are those of the ratio"),
        "margin_ratio_near": near_misses("part", {label: [factor, 0.0] for label, factor in near.items()}),
        "part": ("part", ["all shares", "small less large shares"]),
    }


FEATURE = "change of the mean margin per unit of S_1 and of total attention, in closed form"
PREDICTED = "mean z F on ODR patterns, from its value at the largest S_1 and the feature parts of the neurons"
READINGS = {
    "half": ("variant seed", "first step with training loss below 1/2, mean of 10 steps"),
    "error": ("variant seed", "classification error on unseen tasks"),
    "hinge": ("variant seed", "hinge loss on unseen tasks"),
    "error_blind": ("variant seed", "classification error on unseen tasks with W_Q = 0"),
    "relevant": ("variant seed", "sum of the attention over contexts with the query's pattern, all tasks"),
    "response": ("variant seed", "half the sum of |a_r| times neuron r's feature part along the mean pattern"),
    "margin_alpha": ("variant alpha seed", "mean z F over all tasks, long prompts"),
    "hinge_alpha": ("variant alpha seed", "hinge loss over all tasks, long prompts"),
    "error_alpha": ("variant alpha seed", "classification error over all tasks, long prompts"),
    "error_short": ("variant short seed", "classification error over all tasks, short prompts"),
    "margin_S_1": ("variant S_1 seed", "mean z F on ODR patterns of the training norm"),
    "hinge_S_1": ("variant S_1 seed", "hinge loss on ODR patterns of the training norm"),
    "total_S_1": ("variant S_1 seed", "sum of the attention over all contexts, ODR patterns"),
}


def _best(models: tuple[Trained, ...]) -> Trained:
    """Return the models of the step size with the least training loss over the last quarter, mean over seeds."""
    return min(models, key=lambda trained: _last_quarter(trained.losses))


def _last_quarter(losses: Tensor) -> float:
    return float(losses[-(len(losses) // 4 or 1) :].mean().nan_to_num(torch.inf))


def _half_time(losses: Tensor) -> Tensor:
    """Return the first step at which the mean of 10 losses is below 1/2, for each model; the last step where none is."""
    below = losses.unfold(0, min(10, len(losses)), 1).mean(-1) < 0.5
    return torch.where(below.any(0), below.int().argmax(0), len(losses)).double()


def _response(trained: Trained) -> Tensor:
    """Return (1/2) sum_r |a_r| <feature part of neuron r, mean of the mu_j>, (seeds,)."""
    model = trained.model()
    along = torch.einsum("smj,j->sm", neurons(model).feature, trained.setting.patterns().relevant.mean(0))
    return (along @ model.a.abs()) / 2


def _linear_parts(trained: Trained) -> tuple[np.ndarray, np.ndarray]:
    """Return W_K^T W_Q and W_V^T W_O^T a of the models along the axes of the relevant patterns and of the label."""
    setting, model = trained.setting, trained.model()
    axes = [*range(setting.M1), setting.M1 + setting.M2]
    readout = torch.einsum("svi,smv,m->si", model.W_V, model.W_O, model.a)
    return bilinear_form(model)[:, axes][:, :, axes].numpy(), readout[:, axes].numpy()


def _stack(readings: list[Readings], what: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the mean of ``what`` of the margins over prompts, (cells, seeds)."""
    return torch.stack([what(at.margin).mean(-1) for at in readings])


NONLINEARITY = Experiment(
    slug="li-nonlinearity",
    title="With and without softmax and ReLU",
    quick=Nonlinearity(
        setting=replace(A, B=32, T=100, m=40),
        eta=(1.0,),
        seeds=6,
        alpha=(0.2, 0.4, 0.6, 0.8, 1.0),
        S_1=(-1.0, 0.0, 1.0),
        short=(2, 4),
        length=12,
        draws=5,
        prompts=2000,
    ),
    full=Nonlinearity(
        setting=replace(A, B=128, T=600),
        eta=(0.1, 0.25, 0.5, 1.0),
        seeds=10,
        alpha=(0.2, 0.4, 0.6, 0.8, 1.0),
        S_1=(-1.0, -0.5, 0.0, 0.5, 0.75, 1.0, 1.15),
        short=(2, 3, 4, 5, 6),
        length=50,
        draws=10,
        prompts=5000,
    ),
)
