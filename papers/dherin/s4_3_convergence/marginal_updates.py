"""dherin-marginal-updates: by how much one more token of context changes the update of W, at one fixed query.

Token n takes DeltaW_{n-1} to DeltaW_n; the paper's i is n - 1.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastThree, AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, variable
from icl_lib.models.contextual.layers import LinearAttention, SoftmaxAttention
from icl_lib.models.contextual.weights import Weights, linear
from icl_lib.patches.rank_one import rank_one, redirection
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.along import states_along
from papers.dherin.network import Network
from papers.dherin.s4_3_convergence.along import log_slope, marginal_norms
from papers.dherin.theory import convergence
from papers.dherin.trained import OneBlock, Training, regression, start, tokens, trained
from papers.dherin.trainings import ONE_BLOCK

CASES = ("trained", "untrained", "labels are noise", "no normalisation")
"""The trained block, fresh random weights, trained on labels that no task made, trained with a sum for the average."""
MOTIONS, PARTS = ("step", "distance"), ("early", "late")
"""n |DeltaW_n - DeltaW_{n-1}| and sqrt(n) |DeltaW_n - DeltaW_oo|; n up to N/20, and n above N/2."""


@dataclass(frozen=True)
class MarginalUpdates(Declaration):
    """Blocks of softmax attention on ``trials`` contexts of N tokens each, one query a trial.

    first      log-log slopes are fitted from this n on
    matrices   trials for which the updates are built as matrices, with their singular values
    stretch    where the constant is read, queries are this times as long, which makes scores larger
    """

    training: Training
    trials: AtLeastTwo
    N: AtLeastThree
    first: Count
    matrices: Count
    stretch: Positive

    def __post_init__(self):
        super().__post_init__()
        model = self.training.model
        if not isinstance(model, OneBlock) or model.layer != "softmax attention":
            raise ValueError("the increments are those of softmax attention: take a training of one block with that layer")
        if model.d > self.N:
            raise ValueError("fewer examples than dimensions leave the task open: take N of at least d")
        if self.first > self.N - 2:
            raise ValueError(f"a slope needs three points: take first of at most N - 2 = {self.N - 2}")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure all cases, and compare matrices with the formula of the increment."""
        replicates, network = self.training.replicates, self.training.model.network()
        shipped = trained(self.training, seed, device)
        fresh = start(self.training, seed, "cpu")
        raw = [{name: w[s].double() for name, w in fresh.items()} for s in range(replicates)]
        readings, checks = [], []
        for case in CASES:
            row = []
            for s in range(replicates):
                weights = raw[s] if case == "untrained" else shipped.replicate(s)
                row.append(self.read(network, weights, case, f"{case}/{s}", seed))
            readings.append(row)
        for kind, pick in (("trained", shipped.replicate), ("untrained", raw.__getitem__)):
            checks.append([self.check(network, pick(s), f"{kind}/{s}", seed) for s in range(replicates)])
        motion = np.array([self.motions(network, shipped.replicate(s), self.stretched(seed, s)[0]) for s in range(replicates)])
        text = "mean over n of the square of a motion of the update times |A(x)|"
        return (
            self.dataset(readings, checks)
            .assign(motion_squared=variable("seed motion part trial", motion, text))
            .assign_coords(motion=list(MOTIONS), part=list(PARTS))
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the motions over kappa, and over kappa without what scores add to the spread."""
        network, shipped = self.training.model.network(), trained(self.training, seed, "cpu")
        sizes = []
        for s in range(self.training.replicates):
            block = network.blocks(shipped.replicate(s))[0]
            G, b = tilts(network.block.joint.layer, block, *self.stretched(seed, s))
            sizes.append([convergence.kappa(G, b), untilted(G, b)])
        size = xr.DataArray(np.array(sizes), dims=("seed", "theory", "trial"))
        over, trials = dataset.motion_squared / size**2, self.trials
        value = over.mean("trial") ** 0.5
        error = over.std("trial", ddof=1) / trials**0.5 / (2 * value)
        text = "root mean square of a motion times |A(x)|/kappa"
        return dataset.assign(
            constant=value.isel(theory=0).assign_attrs(long_name=text),
            constant_se=error.isel(theory=0).assign_attrs(long_name="standard error over trials"),
            constant_untilted=value.isel(theory=1).assign_attrs(long_name="the same with I for I + b_g b_h^T in kappa"),
            constant_untilted_se=error.isel(theory=1).assign_attrs(long_name="standard error over trials"),
        )

    def stretched(self, seed: int, s: int) -> tuple[Tensor, Tensor]:
        """Return sequences with longer queries, and the tasks."""
        sequence, w = self.prompts(f"stretched/{s}", seed, self.trials)
        return torch.cat([sequence[:, :-1], self.stretch * sequence[:, -1:]], 1), w

    def motions(self, network: Network, weights: Weights, sequence: Tensor) -> np.ndarray:
        """Return mean squares over n of n |step| and sqrt(n) |distance to the limit|, times |A(x)|: (motion, part, trial)."""
        block, layer, n = network.blocks(weights)[0], network.block.joint.layer, torch.arange(1, self.N + 1)
        w = torch.linalg.lstsq(sequence[:, :-1, :-1], sequence[:, :-1, -1:]).solution[..., 0]
        a, endless = states_along(layer, block, sequence), endless_context(layer, block, sequence, w)[1]
        seen = [
            n**power * torch.einsum("mk,bnk->bnm", block["W"], moved).norm(dim=-1)
            for power, moved in ((1, a.diff(dim=1)), (0.5, a[:, 1:] - endless[:, None]))
        ]
        parts = slice(None, max(self.N // 20, 1)), slice(self.N // 2, None)
        return np.array([[each[:, part].square().mean(1).numpy() for part in parts] for each in seen])

    def prompts(self, name: str, seed: int, trials: int) -> tuple[Tensor, Tensor]:
        """Return sequences (trial, T, n), the query last, and the tasks' w (trial, d)."""
        drawn = regression(self.training.model.d).sample(stream(seed, f"prompts/{name}"), (trials,), self.N)
        return tokens(drawn), torch.linalg.lstsq(drawn.x, drawn.y[..., None]).solution[..., 0]

    def read(self, network: Network, weights: Weights, case: str, name: str, seed: int) -> dict:
        """Return the readings of one block in one case."""
        sequence, w = self.prompts(name, seed, self.trials)
        if case == "labels are noise":
            noise = normal(stream(seed, f"noise/{name}"), sequence[..., :-1, -1].shape, sequence)
            sequence[..., :-1, -1] = self.training.model.d**0.5 * noise
        block, summed = network.blocks(weights)[0], case == "no normalisation"
        layer, n = network.block.joint.layer, torch.arange(1, self.N + 1)
        a = (sums_along if summed else states_along)(layer, block, sequence)
        alone = layer(block, sequence[:, -1:]).norm(dim=-1)  # |A(x)| of softmax, also for the sum
        marginal, total = (norms * (a[:, 0].norm(dim=-1) / alone)[:, None] for norms in marginal_norms(block["W"], a))
        output = network.read(weights, network.block.feed_forward(block, a)).diff(dim=1).abs().median(0).values
        size, endless = endless_context(layer, block, sequence, w)
        distance = torch.einsum("mk,bnk->bnm", block["W"], a[:, 1:] - endless[:, None]).norm(dim=-1) / a[:, :1].norm(dim=-1)
        mean = marginal.mean(0).numpy()
        no_limit = np.nan if summed else 1.0
        scaled, apart = _rms(n * marginal / size[:, None]), _rms(n**0.5 * distance / size[:, None])
        return {
            "marginal": mean,
            "marginal_se": (marginal.std(0) / self.trials**0.5).numpy(),
            "output": output.numpy(),
            "scaled": scaled,
            "apart": apart,
            "slope": log_slope(n.numpy(), mean, self.first),
            "output_slope": log_slope(n.numpy(), output.numpy(), self.first),
            "scaled_late": no_limit * np.square(scaled[self.N // 2 :]).mean() ** 0.5,
            "apart_late": no_limit * np.square(apart[self.N // 2 :]).mean() ** 0.5,
            "total": no_limit * total.mean().item(),
            "falling": (np.diff(mean) < 0).mean(),
        }

    def check(self, network: Network, weights: Weights, name: str, seed: int) -> dict[str, float]:
        """Return how far matrices of single updates are from the formula and from rank one, over the largest patch."""
        sequence, _ = self.prompts(f"matrices/{name}", seed, self.matrices)
        block, layer = network.blocks(weights)[0], network.block.joint.layer
        a = states_along(layer, block, sequence)
        updates = redirection(block["W"], a[:, :1].expand_as(a), a)
        scale = updates.flatten(-2).norm(dim=-1).amax(-1, keepdim=True)
        found, expected, late = updates.diff(dim=1), *formula(layer, block, sequence, a[:, 0])
        turned = rank_one(torch.einsum("mk,bik->bim", block["W"], a - a[:, :1]), a).diff(dim=1)  # A(C_n, x) as row vector
        return {
            "formula": ((found - expected).flatten(-2).norm(dim=-1) / scale).max().item(),
            "formula_late": ((found - late).flatten(-2).norm(dim=-1) / scale).max().item(),
            "excess": _excess(found, scale),
            "excess_turned": _excess(turned, scale),
        }

    def dataset(self, readings: list[list[dict]], checks: list[list[dict]]) -> xr.Dataset:
        """Return the readings by case and network, curves pooled over the networks, as one dataset."""
        columns = {
            name: variable(f"{first} seed", np.array([[each[name] for each in row] for row in rows]), text)
            for rows, first, names in ((readings, "case", NAMES), (checks, "block", CHECKS))
            for name, text in names.items()
        }
        for name, (power, text) in CURVES.items():
            each = np.array([[network[name] for network in row] for row in readings])
            values = (each**power).mean(1) ** (1 / power)
            columns[name] = variable("case n", values.astype("f4"), text)
        columns["marginal_se"] = columns["marginal_se"] / self.training.replicates**0.5
        coords = {"case": list(CASES), "block": list(CASES[:2]), "n": np.arange(1, self.N + 1)}
        return xr.Dataset(columns, coords=coords)


def sums_along(layer: SoftmaxAttention, block: Weights, sequence: Tensor) -> Tensor:
    """Return the layer without softmax along the context: values times raw scores, summed (trial, T, k)."""
    found, c = 0, layer.head_width
    for h in range(layer.heads):
        rows = slice(h * c, (h + 1) * c)
        W_V = torch.einsum("kc,cn->kn", block["W_O"][:, rows], block["W_V"][rows])
        own = {"W_Q": block["W_Q"][rows], "W_K": block["W_K"][rows] / c**0.5, "W_V": W_V}
        found = found + states_along(LinearAttention(c, layer.inputs, layer.outputs), own, sequence)
    return found


def heads(layer: SoftmaxAttention, block: Weights) -> tuple[Tensor, ...]:
    """Return W_Q, W_K, W_V (h, c, n) and W_O (k, h, c)."""
    split = (layer.heads, layer.head_width)
    return *(block[name].unflatten(0, split) for name in ("W_Q", "W_K", "W_V")), block["W_O"].unflatten(1, split)


def formula(layer: SoftmaxAttention, block: Weights, sequence: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Return the single updates by the formula, and by the formula with the average one token late (trial, i, m, k)."""
    W_Q, W_K, W_V, W_O = heads(layer, block)
    order = torch.cat([sequence[:, -1:], sequence[:, :-1]], 1)  # the query at place 0
    key = torch.einsum("hcn,hcm,bm->bhn", W_K, W_Q, sequence[:, -1]) / layer.head_width**0.5
    scores = torch.einsum("bhn,btn->bht", key, order).numpy()
    values = torch.einsum("hcn,btn->bhtc", W_V, order).numpy()
    late = convergence.newest_share(scores)[..., None] * (
        values[..., 1:, :] - convergence.running_average(scores, values)[..., 1:, :]
    )
    return tuple(
        torch.from_numpy(convergence.marginal_update(block["W"].numpy(), W_O.numpy(), steps, a.numpy()))
        for steps in (convergence.increment(scores, values), late)
    )


def tilts(layer: SoftmaxAttention, block: Weights, sequence: Tensor, w: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return what kappa is made of: G (trial, h, m, d), and b (trial, h, d), which scores of x are <b, x>."""
    d, (_, _, W_V, W_O) = w.shape[-1], heads(layer, block)
    token = torch.cat([torch.eye(d, dtype=w.dtype).expand(len(w), d, d), w[:, None]], 1)  # [I; w^T]
    G = torch.einsum("mk,khc,hcn,bnd->bhmd", block["W"], W_O, W_V, token)
    return G.numpy(), tilt(layer, block, sequence, w).numpy()


def tilt(layer: SoftmaxAttention, block: Weights, sequence: Tensor, w: Tensor) -> Tensor:
    """Return b (trial, h, d): the scores of a task's examples are <b, x>."""
    d, (W_Q, W_K, _, _) = w.shape[-1], heads(layer, block)
    key = torch.einsum("hcn,hcm,bm->bhn", W_K, W_Q, sequence[:, -1]) / layer.head_width**0.5
    return key[..., :d] + key[..., d:] * w[:, None]


def untilted(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return kappa with I in the place of I + b_g b_h^T, a near miss."""
    return np.einsum("bhg,bhmd,bgmd->b", np.exp(np.einsum("bhd,bgd->bhg", b, b)), G, G) ** 0.5


def endless_context(layer: SoftmaxAttention, block: Weights, sequence: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return kappa/|A(x)| of every trial and A after an endless context of its task (trial, k)."""
    (_, _, W_V, W_O), (G, b) = heads(layer, block), tilts(layer, block, sequence, w)
    tilted = torch.from_numpy(convergence.limit(b, np.broadcast_to(w[:, None].numpy(), b.shape)))
    length = linear({"W": torch.einsum("khc,hcn->kn", W_O, W_V)}, "W", sequence[:, -1:])[:, 0].norm(dim=-1)
    size = torch.from_numpy(np.asarray(convergence.kappa(G, b))) / length
    return size, torch.einsum("khc,hcn,bhn->bk", W_O, W_V, tilted)


def _rms(values: Tensor) -> np.ndarray:
    return values.square().mean(0).sqrt().numpy()


def _excess(matrices: Tensor, scale: Tensor) -> float:
    """Return max (Frobenius norm - spectral norm) over the largest patch: 0 for rank one."""
    return ((torch.linalg.matrix_norm(matrices) - torch.linalg.matrix_norm(matrices, 2)).abs() / scale).max().item()


CURVES = {
    "marginal": (1, "mean over trials of |DeltaW_n - DeltaW_{n-1}|"),
    "marginal_se": (2, "its standard error"),
    "output": (1, "median over trials of |prediction after n tokens - prediction after n-1|"),
    "scaled": (2, "root mean square of n |DeltaW_n - DeltaW_{n-1}| over kappa/|A(x)|"),
    "apart": (2, "root mean square of sqrt(n) |DeltaW_n - DeltaW_oo| over kappa/|A(x)|"),
}
"""Readings along n by case: the power whose mean over the networks is taken, and what they are."""
NAMES = {
    "slope": "log-log slope of the mean marginal update",
    "output_slope": "log-log slope of the median step of the prediction",
    "scaled_late": "root mean square of n |DeltaW_n - DeltaW_{n-1}| over kappa/|A(x)|, n > N/2",
    "apart_late": "root mean square of sqrt(n) |DeltaW_n - DeltaW_oo| over kappa/|A(x)|, n > N/2",
    "total": "mean over trials of |DeltaW_N|",
    "falling": "share of steps at which the mean curve falls",
}
"""Readings of one block in one case, by case and network."""
CHECKS = {
    "formula": "max |single update - formula| over the largest patch of the trial",
    "formula_late": "the same with the average that has the newest token in it already",
    "excess": "max (Frobenius - spectral norm) of single updates over the largest patch",
    "excess_turned": "the same when A(C_n, x) takes the place of A(x) as row vector",
}
"""Readings of one block, by block and network."""

_QUICK = MarginalUpdates(training=ONE_BLOCK, trials=200, N=100, first=10, matrices=1, stretch=1.5)
MARGINAL_UPDATES = Experiment(
    slug="dherin-marginal-updates",
    title="Marginal updates along the context",
    quick=_QUICK,
    full=replace(_QUICK, trials=1000, matrices=10),
)
