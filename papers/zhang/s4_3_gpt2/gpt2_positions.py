"""zhang-gpt2-positions: the spike above M = N, and what it becomes when rows of the table of positions are exchanged."""

from dataclasses import dataclass

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, seed_of, variable
from icl_lib.measure.estimate import mean
from icl_lib.models.gpt2 import InContextGPT2
from icl_lib.seeds import stream
from papers.regression.decoders import DecoderTraining, repeated
from papers.regression.trainings import FIXED, FROZEN, RANDOM
from papers.zhang.s4_3_gpt2.gpt2_prompts import by_covariance, common_dimension, draw, jump, prefix_errors

LAWS = ("covariance I", "c = 1")
"""The training distributions, in the order of the models; each model is tested on its own."""
TABLES = ("as trained", "zeros beyond N", "last rows beyond N", "untrained rows throughout", "frozen at 0 in training")


@dataclass(frozen=True)
class Gpt2Positions(Declaration):
    """Two models, of the fixed and of the random distribution, and their controls without a table, all of one N.

    runs                   trainings of each, of different seeds
    longest                test lengths 0 .. ``longest``
    covariances, prompts   covariances, and prompts of each

    Shared stream: weights: the initial weights again, to say which rows have moved since.
    """

    models: tuple[DecoderTraining, DecoderTraining]
    frozen: tuple[DecoderTraining, DecoderTraining]
    runs: AtLeastTwo
    longest: Count
    covariances: AtLeastTwo
    prompts: Count

    def __post_init__(self):
        super().__post_init__()
        if len({training.N for training in self.models + self.frozen}) != 1 or self.longest <= self.models[0].N:
            raise ValueError(f"test lengths up to {self.longest}: take models of one N, and test beyond it")
        if any(training.room <= self.longest for training in self.models) or any(t.room for t in self.frozen):
            raise ValueError(f"{self.longest} examples and a query: take models with rows for them, and controls with none")

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the error of every model with every table, and how far training moved the rows of the tables."""
        d, N = common_dimension(self.models + self.frozen), self.models[0].N
        draws = draw(self.covariances, self.prompts, self.longest, d, seed)
        rows = [self._tables(*pair, seed, device) for pair in zip(self.models, self.frozen, strict=True)]
        errors = torch.stack(
            [
                torch.stack([torch.stack([prefix_errors(model, prompts) for model in run]) for run in runs])
                for prompts, runs in zip(map(draws.prompts, LAWS), rows, strict=True)
            ]
        ).mT
        late = (2 * self.models[0].room - 2 * N - 2) // 2  # the last length for which the table, moved on, has rows
        errors[:, :, TABLES.index("untrained rows throughout"), late + 1 :] = torch.nan
        risk, jumps = mean(by_covariance(errors, self.covariances)), jump(errors, N, self.covariances)
        tables = torch.stack([torch.stack([run[0].weights["positions"][0] for run in runs]) for runs in rows])
        moved = torch.stack([self._moved(*pair, seed, device) for pair in zip(self.models, tables, strict=True)])
        dims = "trained run table M"
        data = {
            "risk": variable(dims, risk.value, "error over d; none where a table has no rows"),
            "risk_se": variable(dims, risk.standard_error, "its standard error over covariances"),
            "jump": variable("trained run table", jumps.value, "error for N < M <= 1.2 N over error at M = N"),
            "jump_se": variable("trained run table", jumps.standard_error, "its standard error over covariances"),
            "row_moved": variable("trained run row", moved, "largest change of an entry of a row in training"),
            "row_norm": variable("trained run row", tables.norm(dim=-1), "length of a row of the trained table"),
        }
        coords = {"trained": ["fixed", "random"], "table": list(TABLES), "M": range(self.longest + 1)}
        return xr.Dataset(data, coords=coords, attrs={"N": N, "d": d})

    def _tables(self, training: DecoderTraining, frozen: DecoderTraining, seed: int, device: str) -> list[list[InContextGPT2]]:
        """Return, for each training of a model, the model with its tables, in the order of ``TABLES``, and last its control."""
        found = []
        for model, control in zip(*(repeated(each, self.runs, seed, device) for each in (training, frozen)), strict=True):
            tables = exchanged(model.weights["positions"], 2 * training.N + 1)
            models = [InContextGPT2(model.decoder, {**model.weights, "positions": table}) for table in tables]
            found.append([*models, control])
        return found

    def _moved(self, training: DecoderTraining, tables: Float[Tensor, "S T D"], seed: int, device: str) -> Float[Tensor, "S T"]:
        """Return how far each training of a model, of seeds that follow each other, moved the rows of its table."""
        return torch.stack([moves(training, table, seed_of(training, seed) + run, device) for run, table in enumerate(tables)])


def exchanged(table: Float[Tensor, "S T D"], reached: int) -> list[Float[Tensor, "S T D"]]:
    """Return a table as it is and with its rows exchanged, in the order of ``TABLES``; training reaches ``reached`` rows.

    Zeros in place of the rows beyond; there the last rows that training reaches, of an input for an input and of a label
    for a label; the table that starts with the rows beyond, so that short prompts stand on untrained rows.
    """
    T = table.shape[1]
    beyond = torch.arange(T) >= reached
    last = reached - 1 - (torch.arange(T) - (reached - 1)) % 2
    repeated = torch.where(beyond[:, None], table[:, last], table)
    return [table, torch.where(beyond[:, None], 0.0, table), repeated, table.roll(-reached, 1)]


def moves(training: DecoderTraining, table: Float[Tensor, "T D"], seed: int, device: str) -> Float[Tensor, "T"]:
    """Return the largest change of an entry in each row of a trained table since the start of its training.

    Shipped weights started from draws of the CPU, others from draws of the device: the start that explains more rows is it.
    """
    found = []
    for place in dict.fromkeys(("cpu", device)):
        start = training.decoder().start(stream(seed, "weights", place), training.replicates, torch.zeros(()))
        found.append((table - start["positions"][0].cpu()).abs().amax(-1))
    return max(found, key=lambda change: int((change == 0).sum()))


ZHANG_GPT2_POSITIONS = Experiment(
    slug="zhang-gpt2-positions",
    title="The spike beyond the training length",
    quick=Gpt2Positions((FIXED[0], RANDOM[0]), FROZEN, runs=3, longest=40, covariances=64, prompts=3),
    full=Gpt2Positions((FIXED[0], RANDOM[0]), FROZEN, runs=3, longest=40, covariances=64, prompts=124),
)
