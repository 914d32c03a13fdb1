"""li-neurons: where the neurons point, how long they become, and which start lets them grow."""

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import Declaration, Experiment, Several, Whole, expectation, variable
from icl_lib.measure.cosine import cosine
from papers.li.mechanism import Neurons, neurons
from papers.li.pruning import small_neurons
from papers.li.published import ENDS
from papers.li.s4_mechanism.attention import FULL_COURSE, QUICK_COURSE
from papers.li.s4_mechanism.course import NAMES, Course
from papers.li.trained import Trained


@dataclass(frozen=True)
class Alignment(Declaration):
    """The rows of W_O W_V at every mark of ``course``.

    shown   steps at which the neurons of the first model of setting A are kept one by one
    """

    course: Course
    shown: Several[Whole]

    def __post_init__(self):
        super().__post_init__()
        if not set(self.shown) <= set(self.course.marks):
            raise ValueError(f"shown {self.shown}: take steps out of the marks {self.course.marks} of the course")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the rows of W_O W_V at every mark; a row is small or large by its length in W_O at the end."""
        models = self.course.models(seed, device)
        last = self.course.marks[-1]
        small = {name: small_neurons(models[name][last].parameters["W_O"]) for name in NAMES}
        course = [[_summary(trained, small[name]) for trained in models[name].values()] for name in NAMES]
        fates = np.array([_fates(models[name][0], small[name]) for name in NAMES])
        matched = np.array([_by_match(models[name][0], small[name]) for name in NAMES])
        return xr.Dataset(
            {
                **_columns(np.array(course, dtype="float32")),
                "small": variable("setting start seed", fates[:, :, 0], "rows that end small, of those with this start"),
                "rows": variable("setting start seed", fates[:, :, 1], "rows with this start"),
                "small_matched": variable("setting match", matched[:, 0], "rows that end small, of those with this match"),
                "rows_matched": variable("setting match", matched[:, 1], "rows with this match, all seeds"),
                **_points([models["A"][step] for step in self.shown]),
            },
            coords={
                "setting": list(NAMES),
                "step": list(self.course.marks),
                "shown": list(self.shown),
                "start": ["lucky", "not lucky", "right on no pattern"],
                "match": np.arange(self.course.first.M1 + 1),
                "seed": np.arange(self.course.seeds),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put beside it the share of the rows that end small, and where the authors' curves end."""
        rows = dataset.rows_matched.where(dataset.rows_matched > 0)
        share = dataset.small_matched / rows
        columns = {f"{name}_plotted": variable("", end, f"{COLUMNS[name]}, {EYE}") for name, end in ENDS.items()}
        columns["share_matched"] = variable("setting match", share, "share of the rows with this match that end small")
        columns["share_matched_se"] = variable("setting match", (share * (1 - share) / rows) ** 0.5, "its standard error")
        return dataset.assign(columns)


EYE = "the end of the authors' curve, read off by eye"
COLUMNS = {
    "feature_cosine": "cosine of the feature part with the mean pattern, large rows",
    "label_cosine": "cosine of the label part with the label embedding times the sign of a, large rows",
    "feature_cosine_small": "cosine of the feature part with the mean pattern, small rows",
    "feature_norm": "length of the feature part, large rows",
    "label_norm": "length of the label part, large rows",
    "feature_angle": "angle of the feature part to the mean pattern, large rows",
    "label_angle_plus": "angle of the label part to q, large rows with a > 0",
    "label_angle_minus": "angle of the label part to q, large rows with a < 0",
    "wrong": "share of the large rows that are active at (mean pattern, wrong label)",
}


def _columns(course: np.ndarray) -> dict[str, xr.Variable]:
    return {
        name: variable("setting step seed", course[:, :, k], says, "rad" if "angle" in name else "1")
        for k, (name, says) in enumerate(COLUMNS.items())
    }


def _summary(trained: Trained, small: Tensor) -> np.ndarray:
    """Return the means of ``COLUMNS`` over rows, one per seed."""
    rows, sign = neurons(trained.model()), trained.model().a.sign()
    feature, label = _cosines(trained, rows)
    large, plus, minus = ~small, ~small & (sign > 0), ~small & (sign < 0)
    _, wrong = _active(trained, rows)
    found = [
        _mean(feature, large),
        _mean(sign * label, large),
        _mean(feature, small),
        _mean(rows.feature.norm(dim=-1), large),
        _mean(rows.label.norm(dim=-1), large),
        _mean(feature.clamp(-1, 1).arccos(), large),
        _mean(label.clamp(-1, 1).arccos(), plus),
        _mean(label.clamp(-1, 1).arccos(), minus),
        _mean(wrong.double(), large),
    ]
    return torch.stack(found).numpy()


def _mean(values: Tensor, rows: Tensor) -> Tensor:
    return (values * rows).sum(-1) / rows.sum(-1)  # NaN where there is no such row


def _cosines(trained: Trained, rows: Neurons) -> tuple[Tensor, Tensor]:
    return cosine(rows.feature, trained.setting.patterns().relevant.mean(0)), cosine(rows.label, trained.setting.label())


def _active(trained: Trained, rows: Neurons) -> tuple[Tensor, Tensor]:
    """Say which rows are active at (mean pattern, right label) and at (mean pattern, wrong label); (S, m) each."""
    feature = rows.feature @ trained.setting.patterns().relevant.mean(0)
    label = trained.model().a.sign() * (rows.label @ trained.setting.label())
    return feature + label > 0, feature - label > 0


def _matches(trained: Trained) -> Tensor:
    """Return on how many relevant patterns each row is active together with the right label, (S, m)."""
    rows = neurons(trained.model())
    feature = torch.einsum("smi,ji->smj", rows.feature, trained.setting.patterns().relevant)
    label = trained.model().a.sign() * (rows.label @ trained.setting.label())
    return (feature + label[..., None] > 0).sum(-1)


def _fates(start: Trained, small: Tensor) -> np.ndarray:
    """Return by start (start, 2, S): how many of the rows end small, and how many there are."""
    lucky, _ = _active(start, neurons(start.model()))
    groups = (lucky, ~lucky, _matches(start) == 0)
    return np.array([[(small & group).sum(-1).numpy(), group.sum(-1).numpy()] for group in groups])


def _by_match(start: Trained, small: Tensor) -> np.ndarray:
    """Return (2, M1 + 1): by the number of matched patterns, rows that end small and rows, all seeds together."""
    matches, length = _matches(start).flatten(), start.setting.M1 + 1
    counts = [torch.bincount(matches[chosen], minlength=length) for chosen in (small.flatten(), small.flatten() >= 0)]
    return torch.stack(counts).numpy()


def _points(shown: list[Trained]) -> dict[str, xr.Variable]:
    """Return every neuron of the first model at the steps shown."""
    cosines = [torch.stack(_cosines(trained, neurons(trained.model())))[:, 0] for trained in shown]
    lengths = [torch.cat(neurons(trained.model()), -1).norm(dim=-1)[0] for trained in shown]
    feature, label = np.array([pair.numpy() for pair in cosines], "float32").transpose(1, 0, 2)
    return {
        "point_feature": variable("shown neuron", feature, "cosine of one neuron's feature part with the mean pattern"),
        "point_label": variable("shown neuron", label, "cosine of one neuron's label part with q"),
        "point_length": variable("shown neuron", np.array([x.numpy() for x in lengths], "float32"), "length of one neuron"),
        "point_sign": variable("neuron", shown[0].model().a.sign().numpy(), "sign of a"),
    }


NEURONS = Experiment(
    slug="li-neurons",
    title="Where the neurons point and which of them grow",
    quick=Alignment(QUICK_COURSE, shown=(0, 20, 40, 150)),
    full=Alignment(FULL_COURSE, shown=(0, 20, 40, 1000)),
)
