"""What is read of one block along the contexts of one case: curves over the length n, their slopes and levels over kappa."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.measure.slope import log_log_slope
from icl_lib.models.contextual.weights import Weights
from papers.dherin.network import Network
from papers.dherin.s4_3_convergence.along import marginal_norms
from papers.dherin.s4_3_convergence.endless import distances, task_values, tilt
from papers.dherin.s4_3_convergence.heads import parts
from papers.dherin.theory import convergence


def of_case(
    network: Network,
    weights: Weights,
    sequence: Float[Tensor, "B T n"],
    w: Float[Tensor, "B d"],
    a: Float[Tensor, "B T k"],
    first: int,
) -> dict[str, np.ndarray | float]:
    """Return READINGS and CURVES, slopes from n = ``first`` on; a are A_0 .. A_N, updates are divided by |A(x)| of softmax."""
    (layer, block), n = parts(network, weights), torch.arange(1, sequence.shape[1])
    own, length = a[:, :1].norm(dim=-1), layer(block, sequence[:, -1:]).norm(dim=-1)[:, None]
    marginal, total = (norms * own / length for norms in marginal_norms(block["W"], a))
    kappa = torch.from_numpy(convergence.kappa(task_values(layer, block, w), tilt(layer, block, sequence, w)))[:, None]
    levels = {
        "scaled": n * marginal * length / kappa,
        "apart": n**0.5 * distances(layer, block, sequence, w, a) / own * length / kappa,
    }
    output = network.read(weights, network.block.feed_forward(block, a)).diff(dim=1).abs().median(0).values
    curves = {name: root_mean_square(values.numpy()) for name, values in levels.items()}
    curves |= {"marginal": marginal.mean(0).numpy(), "output": output.numpy()}
    late = n[first - 1 :].double().numpy()
    return {
        **curves,
        "marginal_se": (marginal.std(0) / len(marginal) ** 0.5).numpy(),
        "slope": log_log_slope(late, curves["marginal"][first - 1 :]),
        "output_slope": log_log_slope(late, curves["output"][first - 1 :]),
        "falling": (np.diff(curves["marginal"]) < 0).mean(),
        **{f"{name}_late": root_mean_square(curves[name][len(n) // 2 :]) for name in levels},
        "total": total.mean().item(),
    }


def root_mean_square(values: Float[np.ndarray, "n ..."]) -> np.floating | Float[np.ndarray, "..."]:
    """Return the root mean square over the first dimension."""
    return np.square(values).mean(0) ** 0.5


def pooled(networks: list[dict]) -> dict[str, np.ndarray]:
    """Return the curves of several networks as one: means of means and medians, root mean squares of the others."""
    curves = {name: np.stack([each[name] for each in networks]) for name in CURVES}
    found = {name: root_mean_square(values) for name, values in curves.items()}
    found |= {name: curves[name].mean(0) for name in ("marginal", "output")}
    return found | {"marginal_se": found["marginal_se"] / len(networks) ** 0.5}


CURVES = {
    "marginal": ("n", "mean over trials of |DeltaW_n - DeltaW_{n-1}|"),
    "marginal_se": ("n", "its standard error"),
    "output": ("n", "median over trials of |prediction after n tokens - prediction after n-1|"),
    "scaled": ("n", "root mean square of n |DeltaW_n - DeltaW_{n-1}| over kappa/|A(x)|"),
    "apart": ("n", "root mean square of sqrt(n) |DeltaW_n - DeltaW_oo| over kappa/|A(x)|"),
}
"""Readings along n by case, of all networks together."""
READINGS = {
    "slope": ("", "log-log slope of the mean marginal update"),
    "output_slope": ("", "log-log slope of the median step of the prediction"),
    "scaled_late": ("", "root mean square of n |DeltaW_n - DeltaW_{n-1}| over kappa/|A(x)|, n > N/2"),
    "apart_late": ("", "root mean square of sqrt(n) |DeltaW_n - DeltaW_oo| over kappa/|A(x)|, n > N/2"),
    "total": ("", "mean over trials of |DeltaW_N|"),
    "falling": ("", "share of steps at which the mean curve falls"),
}
"""Readings of one block in one case, by case and network."""
OF_LIMITS = ("scaled_late", "apart_late", "total")
"""Those that say nothing where there is no limit."""
