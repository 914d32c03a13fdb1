"""dherin-marginal-updates: by how much one more token of context changes the update of W, at one fixed query.

Token n takes DeltaW_{n-1} to DeltaW_n; the paper's i is n - 1.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastThree, AtLeastTwo, Count, Declaration, Experiment, Positive, expectation, variables
from icl_lib.models.contextual.weights import Weights
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import normal
from papers.dherin.along import states_along
from papers.dherin.network import Network
from papers.dherin.s4_3_convergence.case_readings import CURVES, OF_LIMITS, READINGS, of_case, pooled
from papers.dherin.s4_3_convergence.endless import distances, task_values, tilt, untilted
from papers.dherin.s4_3_convergence.heads import parts, seen, sums_along
from papers.dherin.s4_3_convergence.single_updates import CHECKS, of_matrices
from papers.dherin.theory import convergence
from papers.dherin.trained import OneBlock, Training, regression, tokens, trained, untrained
from papers.dherin.trainings import ONE_BLOCK

CASES = ("trained", "untrained", "labels are noise", "no normalisation")
"""The trained block, the same before its training, trained on labels that no task made, trained with a sum for the average."""
MOTIONS, PARTS = ("step", "distance"), ("early", "late")
"""n |DeltaW_n - DeltaW_{n-1}| and sqrt(n) |DeltaW_n - DeltaW_oo|; n up to N/20, and n above N/2."""


@dataclass(frozen=True)
class MarginalUpdates(Declaration):
    """Blocks of softmax attention on ``trials`` contexts of N tokens each, one query a trial.

    trials     contexts of a network in each case, one query each; N: examples of a context
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
        """Measure all cases, compare matrices with the formula of the increment, and read the constant at longer queries."""
        network, shipped = self.training.model.network(), trained(self.training, seed, device)
        fresh = untrained(self.training, seed)

        def of_networks(read, case: str) -> list[dict]:
            found = fresh if case == "untrained" else shipped
            return [read(network, found.replicate(s), case, s, seed) for s in range(self.training.replicates)]

        readings = [of_networks(self.read, case) for case in CASES]
        columns = variables(READINGS, readings, "case seed {}")
        columns |= variables(CHECKS, [of_networks(self.check, block) for block in CASES[:2]], "block seed {}")
        columns |= variables(CURVES, [pooled(row) for row in readings], "case {}", "f4")
        columns |= variables(CONSTANT, of_networks(self.motions, "trained"), "seed {}")
        coords = {"case": CASES, "block": CASES[:2], "n": range(1, self.N + 1), "motion": MOTIONS, "part": PARTS}
        return xr.Dataset(columns, coords={name: list(values) for name, values in coords.items()})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the motions over kappa, and over kappa without what scores add to the spread."""
        network, shipped, sizes = self.training.model.network(), trained(self.training, seed, "cpu"), []
        for s in range(self.training.replicates):
            (sequence, w), layer, block = self.stretched(seed, s), *parts(network, shipped.replicate(s))
            of_task = task_values(layer, block, w), tilt(layer, block, sequence, w)
            sizes.append([convergence.kappa(*of_task), untilted(*of_task)])
        over = dataset.motion_squared / xr.DataArray(np.square(sizes), dims=("seed", "theory", "trial"))
        value = over.mean("trial") ** 0.5
        error = over.std("trial", ddof=1) / self.trials**0.5 / (2 * value)
        text = "root mean square of a motion times |A(x)|/kappa"
        return dataset.assign(
            constant=value.isel(theory=0).assign_attrs(long_name=text),
            constant_se=error.isel(theory=0).assign_attrs(long_name="standard error over trials"),
            constant_untilted=value.isel(theory=1).assign_attrs(long_name="the same with I for I + b_g b_h^T in kappa"),
            constant_untilted_se=error.isel(theory=1).assign_attrs(long_name="standard error over trials"),
        )

    def prompts(self, name: str, seed: int, trials: int) -> tuple[Float[Tensor, "B T n"], Float[Tensor, "B d"]]:
        """Return sequences, the query last, and the tasks' w."""
        drawn = regression(self.training.model.d).sample(stream(seed, f"prompts/{name}"), (trials,), self.N)
        return tokens(drawn), torch.linalg.lstsq(drawn.x, drawn.y[..., None]).solution[..., 0]

    def stretched(self, seed: int, s: int) -> tuple[Float[Tensor, "B T n"], Float[Tensor, "B d"]]:
        """Return sequences with longer queries, and the tasks' w."""
        sequence, w = self.prompts(f"stretched/{s}", seed, self.trials)
        return torch.cat([sequence[:, :-1], self.stretch * sequence[:, -1:]], 1), w

    def read(self, network: Network, weights: Weights, case: str, s: int, seed: int) -> dict[str, np.ndarray | float]:
        """Return the readings and curves of one block in one case; without normalisation there is no limit."""
        sequence, w = self.prompts(f"{case}/{s}", seed, self.trials)
        if case == "labels are noise":
            noise = normal(stream(seed, f"noise/{case}/{s}"), sequence[..., :-1, -1].shape, sequence)
            sequence[..., :-1, -1] = self.training.model.d**0.5 * noise
        summed = case == "no normalisation"
        a = (sums_along if summed else states_along)(*parts(network, weights), sequence)
        return of_case(network, weights, sequence, w, a, self.first) | dict.fromkeys(OF_LIMITS if summed else (), np.nan)

    def check(self, network: Network, weights: Weights, case: str, s: int, seed: int) -> dict[str, float]:
        """Return the readings of CHECKS for one block."""
        sequence, _ = self.prompts(f"matrices/{case}/{s}", seed, self.matrices)
        return of_matrices(*parts(network, weights), sequence)

    def motions(self, network: Network, weights: Weights, case: str, s: int, seed: int) -> dict[str, np.ndarray]:
        """Return mean squares over n of n |step| and sqrt(n) |distance to the limit|, times |A(x)|: (motion, part, trial)."""
        (sequence, w), (layer, block) = self.stretched(seed, s), parts(network, weights)
        a, n = states_along(layer, block, sequence), torch.arange(1, self.N + 1)
        both = n * seen(block, a.diff(dim=1)), n**0.5 * distances(layer, block, sequence, w, a)
        ends = slice(None, max(self.N // 20, 1)), slice(self.N // 2, None)
        return {"motion_squared": np.array([[each[:, end].square().mean(1).numpy() for end in ends] for each in both])}


CONSTANT = {"motion_squared": ("motion part trial", "mean over n of the square of a motion of the update times |A(x)|")}
"""Readings at longer queries, by network."""

_QUICK = MarginalUpdates(training=ONE_BLOCK, trials=200, N=100, first=10, matrices=1, stretch=1.5)
MARGINAL_UPDATES = Experiment(
    slug="dherin-marginal-updates",
    title="Marginal updates along the context",
    quick=_QUICK,
    full=replace(_QUICK, trials=1000, matrices=10),
)
