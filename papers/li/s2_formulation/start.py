"""li-start: the untrained network. Attention, size of the output, hinge and error against their closed forms."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.seeds import stream
from papers.li.classification import Readings, hinge, read, wrong
from papers.li.softmax_attention import SoftmaxAttentionMLP, initial_weights, output_weights
from papers.li.task_sets import task_set
from papers.li.theory import start
from papers.li.trained import A, Setting


@dataclass(frozen=True)
class Start(Declaration):
    """Untrained networks per pattern length beta and prompt length l, each on ``prompts`` prompts of its own.

    beta      norms of a pattern; length: examples of a prompt
    seeds     groups of networks; networks: untrained networks of a group
    prompts   of each network
    Readings are means over a group.
    """

    setting: Setting
    beta: Several[Positive]
    length: Several[Count]
    seeds: AtLeastTwo
    networks: Count
    prompts: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the untrained networks; the network is small and the prompts are drawn on the CPU."""
        cells = [[self._read(replace(self.setting, beta=beta), l, seed) for l in self.length] for beta in self.beta]
        columns = {
            name: variable("beta length seed", [[cell[name] for cell in row] for row in cells], text)
            for name, text in READINGS.items()
        }
        query_norm = variable("beta", [self._query_norm(beta, seed) for beta in self.beta], "|W_Q (mu_j; 0)| at the start")
        coords = {"beta": list(self.beta), "length": list(self.length), "seed": range(self.seeds)}
        return xr.Dataset(columns | {"query_norm": query_norm}, coords=coords)

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the closed forms beside them."""

        def table(theory, *size) -> list[list[float]]:
            return [[theory(replace(self.setting, beta=beta), l, *size) for l in self.length] for beta in self.beta]

        uniform = [start.uniform_mass(self.setting.alpha, l) for l in self.length]
        return dataset.assign(
            mass_near=near_misses("beta length", {label: table(law) for label, law in NEAR.items()}),
            mass_uniform=variable("length", uniform, "the same under uniform attention"),
            mass_theory=variable("beta length", table(_mass), "the same in closed form"),
            square_theory=variable("beta length", table(_square, start.output_size), "E F^2 in closed form"),
            square_coins_theory=variable("beta length", table(_square, start.output_size_coins), "E F^2, signs of a by coins"),
        )

    def _read(self, setting: Setting, l: int, seed: int) -> dict[str, np.ndarray]:
        role = f"start/{setting.beta:g}/{l}"
        weights = self._weights(setting, stream(seed, f"{role}/weights"))
        a = output_weights(setting.m)
        signs = 1.0 - 2 * torch.randint(2, (self._all(), setting.m), generator=stream(seed, f"{role}/signs")).double()
        informed = weights | {"W_O": weights["W_O"] + setting.xi * _label_rows(a, setting)}
        law = setting.law(task_set(setting.tasks, setting.M1), setting.alpha)

        def readings(parameters: dict[str, Tensor], outer: Tensor) -> Readings:
            model = SoftmaxAttentionMLP(**parameters, a=outer, q=setting.label()).on(law.patterns)
            return read(model, law, prompts=self.prompts, length=l, lead=(self._all(),), seed=seed, name=role)

        own, coins = readings(weights, a), readings(weights, signs * setting.m**-0.5)
        found = {
            "mass": own.mass,
            "error": wrong(own.margin),
            "hinge": hinge(own.margin),
            "error_label_neurons": wrong(readings(informed, a).margin),
            "square": own.margin.square(),
            "square_coins": coins.margin.square(),
        }
        return {name: self._by_group(values) for name, values in found.items()}

    def _all(self) -> int:
        return self.seeds * self.networks

    def _by_group(self, values: Tensor) -> np.ndarray:
        """Return the means over the networks of each group and their prompts; NaN is left out."""
        return values.reshape(self.seeds, -1).nanmean(-1).numpy()

    def _weights(self, setting: Setting, generator: torch.Generator) -> dict[str, Tensor]:
        delta, xi = (torch.full((self._all(),), number, dtype=torch.float64) for number in (setting.delta, setting.xi))
        return initial_weights(generator, setting.M1 + setting.M2, setting.d_Y, setting.m, delta, xi)

    def _query_norm(self, beta: float, seed: int) -> float:
        W_Q = self._weights(self.setting, stream(seed, "any"))["W_Q"][0]
        return float((W_Q[:, : self.setting.M1] * beta).norm(dim=0).mean())


READINGS = {
    "mass": "attention on the query's pattern, mean over prompts that have it",
    "error": "classification error",
    "hinge": "hinge loss",
    "error_label_neurons": "error, W_O knows the label direction",
    "square": "mean of F^2 over prompts",
    "square_coins": "the same, signs of a by coins",
}


def _label_rows(a: Tensor, setting: Setting) -> Tensor:
    """Return rows along the label embedding, with the sign of a: each neuron votes for the label that it stands for."""
    label = torch.cat([torch.zeros(setting.M1 + setting.M2, dtype=torch.float64), setting.label() / setting.q])
    return 10 * torch.einsum("m,j->mj", a.sign(), label)


def _mass(setting: Setting, l: int) -> float:
    return start.mass(setting.alpha, l, start.ratio(setting.delta, setting.beta))


NEAR = {
    "l − 1 for l": lambda setting, l: _mass(setting, l - 1),
    "½δ²β² for δ²β²": lambda setting, l: _mass(replace(setting, beta=setting.beta / 2**0.5), l),
    "not given that the pattern is there": lambda setting, l: _mass(setting, l) * start.present(setting.alpha, l),
}
"""Near misses of the attention on the query's pattern."""


def _square(setting: Setting, l: int, size: Callable[[float, float, float], float]) -> float:
    """Return E F^2 from the ``size`` of F that E|p_bar|^2 gives."""
    g = start.ratio(setting.delta, setting.beta)
    square = start.mean_square(setting.alpha, l, g, M1=setting.M1, beta=setting.beta, K=setting.K, q=setting.q)
    return size(setting.xi, setting.delta, square) ** 2


_QUICK = Start(setting=A, beta=(1.0, 2.0, 4.0), length=(5, 20), seeds=15, networks=8, prompts=125)
START = Experiment(
    slug="li-start",
    title="The untrained network",
    quick=_QUICK,
    full=replace(_QUICK, beta=(1.0, 1.5, 2.0, 3.0, 4.0), seeds=20, networks=20, prompts=150),
)
