"""Classical classifiers of one prompt: fitted on the l examples of a prompt, asked for the label of its query.

Logistic regression and the SVMs are scikit-learn's, with its defaults where no field says otherwise. Examples with one
label only give that label.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import sklearn
import torch
from jaxtyping import Float
from numpy import ndarray
from sklearn import linear_model, svm
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from icl_lib.tasks import Prompts


def fitted_labels(fit: Callable, prompts: Prompts) -> Float[Tensor, "..."]:
    """Return the label, +1 or -1, that ``fit(X, y).predict`` gives every query after a fit on the prompt's own examples."""
    x, y, x_query = (part.flatten(0, -rest).cpu().double().numpy() for part, rest in zip(prompts[:3], (3, 2, 2), strict=True))
    one_label = abs(y.sum(-1)) == y.shape[-1]
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [
            labels[0] if alone else fit(inputs, labels).predict(query[None])[0]
            for inputs, labels, query, alone in zip(x, y, x_query, one_label, strict=True)
        ]
    return torch.tensor(found, dtype=prompts.y.dtype).reshape(prompts.x_query.shape[:-1])


@dataclass(frozen=True)
class LogisticRegression:
    """Least C sum_i ln(1 + exp(-y_i (<w, x_i> + b))) + |w|^2/2; scikit-learn's default is C = 1."""

    C: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        return fitted_labels(linear_model.LogisticRegression(C=_positive("C", self.C)).fit, prompts)


@dataclass(frozen=True)
class LinearSVM:
    """Least C sum_i max(0, 1 - y_i (<w, x_i> + b)) + |w|^2/2; scikit-learn's default (SVC) is C = 1."""

    C: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        return fitted_labels(svm.SVC(kernel="linear", C=_positive("C", self.C), random_state=0).fit, prompts)


@dataclass(frozen=True)
class GaussianSVM:
    """The SVM with kernel exp(-gamma |x - x'|^2); defaults C = 1, gamma = 1/(d * variance of the prompt's entries).

    ``gamma_factor`` multiplies that default, which follows the scale of the inputs.
    """

    C: float = 1.0
    gamma_factor: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        _positive("C", self.C)
        _positive("gamma_factor", self.gamma_factor)
        return fitted_labels(self._fit, prompts)

    def _fit(self, X: ndarray, y: ndarray) -> svm.SVC:
        return svm.SVC(C=self.C, gamma=self.gamma_factor / (X.shape[1] * X.var()), random_state=0).fit(X, y)


@dataclass(frozen=True)
class NearestNeighbours:
    """The majority label of the k nearest examples in Euclidean distance; of the most that are odd when there are fewer."""

    k: int

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels; raises ValueError for an even or negative k, where majorities may tie."""
        if self.k < 1 or self.k % 2 == 0:
            raise ValueError(f"k = {self.k}: take an odd number of neighbours, so that no vote is a tie")
        k = min(self.k, prompts.y.shape[-1])
        k -= 1 - k % 2
        distance = (prompts.x - prompts.x_query[..., None, :]).square().sum(-1)
        nearest = distance.topk(k, dim=-1, largest=False).indices
        return torch.take_along_dim(prompts.y, nearest, -1).sum(-1).sign()


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ValueError(f"{name} = {value}: it must be above 0")
    return value
