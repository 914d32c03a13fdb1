"""li-decoder-neurons: where the neurons of the three-layer transformer point, layer by layer (section 5 of Li et al.)."""

from dataclasses import dataclass

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import Declaration, Experiment, variable
from papers.li.s5_experiments.decoder import SHORT
from papers.li.s5_experiments.decoder_training import Decoders, DecoderTraining, trained, untrained
from papers.li.s5_experiments.trainings import WITHOUT_POSITIONS


@dataclass(frozen=True)
class DecoderNeurons(Declaration):
    """The decoders of one training, before and after it."""

    training: DecoderTraining

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Read the angles off the weights."""
        stages = (untrained(self.training, seed, device), trained(self.training, seed, device)[0])
        read = [angles(models) for models in stages]
        separation, cosine, norm = (torch.stack(part) for part in zip(*read, strict=True))
        grown = (norm[1] > norm[0]).double().mean(-1)
        where = "stage layer seed"
        return xr.Dataset(
            {
                "separation": variable(where, separation.numpy(), "mean cosine of label part and q, a > 0 less a < 0"),
                "feature_cosine": variable(where, cosine.numpy(), "mean |cosine| of feature part and mean pattern"),
                "grown": variable("layer seed", grown.numpy(), "share of the neurons that are longer after training"),
            },
            coords={
                "stage": ["before", "after"],
                "layer": range(1, separation.shape[1] + 1),
                "seed": range(separation.shape[2]),
            },
        )


def angles(models: Decoders) -> tuple[Float[Tensor, "L S"], Float[Tensor, "L S"], Float[Tensor, "L S m"]]:
    """Return the separation of label parts by the sign of a, the mean |cosine| of feature parts to mu_bar, and the lengths."""
    setting = models.setting
    rows, a = neurons(models)
    feature, label = rows[..., : setting.M1, :], rows[..., setting.M1 + setting.M2 :, :]
    to_q = label[..., 0, :] / label.norm(dim=-2)  # q is the first axis of the label
    to_mean = feature.sum(-2) / setting.M1**0.5 / feature.norm(dim=-2)
    plus, minus = (((to_q * side).sum(-1) / side.sum(-1)) for side in ((a > 0).double(), (a < 0).double()))
    length = torch.cat([feature, label], -2).norm(dim=-2)
    return plus - minus, to_mean.abs().mean(-1), length


def neurons(models: Decoders) -> tuple[Float[Tensor, "L S n m"], Float[Tensor, "L S m"]]:
    """Return what each neuron of each MLP reads from a token, on the way through its layer's own attention, and its a.

    The way is read-in, values, output of the attention and the MLP's first matrix, with the gains of the norms and without
    their divisors, which are positive. a is the way from the neuron to the output, by the read-out alone.
    """
    weights = {name: value.double() for name, value in models.weights.items()}
    width = models.setting.width
    centre = torch.eye(width).double() - 1 / width
    values = weights["attention_in"][..., 2 * width :]
    way = torch.einsum("snd,de,sle->slne", weights["read_in"], centre, weights["attention_norm"])
    way = torch.einsum("slne,slef,slfg->slng", way, values, weights["attention_out"])
    rows = torch.einsum("slng,gh,slh,slhm->lsnm", way, centre, weights["mlp_norm"], weights["mlp_in"])
    out = torch.einsum("de,se,se->sd", centre, weights["last_norm"], weights["read_out"])
    return rows, torch.einsum("slmd,sd->lsm", weights["mlp_out"], out)


DECODER_NEURONS = Experiment(
    slug="li-decoder-neurons",
    title="Neurons of the transformer of three layers",
    quick=DecoderNeurons(SHORT),
    full=DecoderNeurons(WITHOUT_POSITIONS),
)
