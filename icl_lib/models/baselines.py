"""Classical predictors with a model's signature: ``baseline(prompts) -> y_hat``.

With X^T X = diag(4, 2) and X^T y = (8, 4) of three examples, least squares find w_hat = (2, 2), and the query is (1, 2):

>>> import torch
>>> from icl_lib.models.baselines import Averaging, MinimumNormOLS, OneGradientStep, Ridge, Zero
>>> from icl_lib.tasks.prompts import Prompts
>>> x, y = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), torch.tensor([4.0, 1.0, 3.0])
>>> prompts = Prompts(x[None], y[None], torch.tensor([[1.0, 2.0]]), torch.zeros(1))
>>> models = MinimumNormOLS(), Ridge(4.0), OneGradientStep(0.125), Averaging(), Zero()
>>> [round(float(model(prompts)), 3) for model in models]
[6.0, 2.333, 0.667, 5.333, 0.0]
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from icl_lib.tasks.prompts import Prompts, unread
from icl_lib.typed import refuse


def predict(prompts: Prompts, w_hat: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
    """Return <w_hat, x_query> for every prompt."""
    refuse(
        w_hat.shape[-1] != prompts.x_query.shape[-1],
        f"w_hat of shape {tuple(w_hat.shape)} and queries of shape {tuple(prompts.x_query.shape)}: give as many entries",
    )
    return torch.einsum("...d,...d->...", w_hat, prompts.x_query)


def mean_label_input(prompts: Prompts) -> Float[Tensor, "... d"]:
    """Return (1/M) sum_i y_i x_i for every prompt; NaN without examples."""
    refuse(*unread(prompts))
    return torch.einsum("...md,...m->...d", prompts.x, prompts.y) / prompts.x.shape[-2]


@dataclass(frozen=True)
class MinimumNormOLS:
    """Least squares over all M examples; of the minimisers, the one of least norm: w_hat = X^+ y."""

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions."""
        refuse(*unread(prompts))
        return predict(prompts, torch.einsum("...dm,...m->...d", torch.linalg.pinv(prompts.x), prompts.y))


@dataclass(frozen=True)
class Ridge:
    """w_hat = (X^T X + penalty I)^{-1} X^T y; with penalty = noise variance, the Bayes predictor under w ~ N(0, I)."""

    penalty: float

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions; raises ValueError unless penalty > 0 (penalty 0 is MinimumNormOLS)."""
        if not self.penalty > 0:
            raise ValueError(f"ridge needs a penalty above 0, not {self.penalty}: use MinimumNormOLS without one")
        refuse(self.penalty == float("inf"), "ridge with an infinite penalty is no number: Zero predicts its limit, 0")
        refuse(*unread(prompts))
        x, y = prompts.x, prompts.y
        gram = torch.einsum("...mi,...mj->...ij", x, x)
        ridged = gram + self.penalty * torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        moment = torch.einsum("...md,...m->...d", x, y)
        return predict(prompts, torch.linalg.solve(ridged, moment[..., None])[..., 0])


@dataclass(frozen=True)
class OneGradientStep:
    """One step of size ``step_size`` from w = 0 on (1/2M) sum (<w, x_i> - y_i)^2: w_hat = step_size (1/M) sum y_i x_i.

    NaN without examples.
    """

    step_size: float

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions."""
        return predict(prompts, self.step_size * mean_label_input(prompts))


@dataclass(frozen=True)
class Averaging:
    """Garg et al.'s averaging estimator: w_hat = (1/M) sum y_i x_i; NaN without examples."""

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions."""
        return predict(prompts, mean_label_input(prompts))


@dataclass(frozen=True)
class Zero:
    """Always predicts 0."""

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the predictions."""
        return torch.zeros_like(prompts.y_query)
