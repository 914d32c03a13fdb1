"""Classical classifiers of one prompt: fitted on the l examples of a prompt, asked for the label of its query.

They are those of scikit-learn, with its defaults where no field says otherwise. Logistic regression is fitted here for many
prompts at once. Examples with one label only give that label.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from icl_lib.tasks.prompts import Prompts

NEWTON_STEPS = 100

Predict = Callable[[Float[ndarray, "P l d"], Float[ndarray, "P l"], Float[ndarray, "P d"]], Float[ndarray, "P"]]
"""(examples, labels, queries) of prompts with both labels -> labels of the queries."""


def fitted_labels(predict: Predict, prompts: Prompts) -> Float[Tensor, "..."]:
    """Return the label, +1 or -1, that a fit on the prompt's own examples gives every query."""
    x, y, x_query = (part.flatten(0, -rest).cpu().double().numpy() for part, rest in zip(prompts[:3], (3, 2, 2), strict=True))
    found = y[:, 0].copy()
    both = abs(y.sum(-1)) < y.shape[-1]
    found[both] = predict(x[both], y[both], x_query[both])
    return torch.tensor(found, dtype=prompts.y.dtype).reshape(prompts.x_query.shape[:-1])


@dataclass(frozen=True)
class LogisticRegression:
    """Least C sum_i ln(1 + exp(-y_i (<w, x_i> + b))) + |w|^2/2; scikit-learn's default is C = 1."""

    C: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        C = _positive("C", self.C)

        def predict(x: ndarray, y: ndarray, query: ndarray) -> ndarray:
            a, b = fit_logistic(x @ x.swapaxes(-1, -2), y, C)
            return np.where(np.einsum("pi,pid,pd->p", a, x, query) + b > 0, 1, -1)

        return fitted_labels(predict, prompts)


@dataclass(frozen=True)
class LinearSVM:
    """Least C sum_i max(0, 1 - y_i (<w, x_i> + b)) + |w|^2/2; scikit-learn's default (SVC) is C = 1."""

    C: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        return fitted_labels(one_by_one(kernel="linear", C=_positive("C", self.C)), prompts)


@dataclass(frozen=True)
class GaussianSVM:
    """The SVM with kernel exp(-gamma |x - x'|^2); defaults C = 1, gamma = 1/(d * variance of the prompt's entries).

    ``gamma_factor`` multiplies that default, which follows the scale of the inputs.
    """

    C: float = 1.0
    gamma_factor: float = 1.0

    def __call__(self, prompts: Prompts) -> Float[Tensor, "..."]:
        """Return the labels."""
        factor = _positive("gamma_factor", self.gamma_factor)
        gamma = {} if factor == 1 else {"gamma": lambda x: factor / (x.shape[1] * x.var())}  # the default is "scale"
        return fitted_labels(one_by_one(C=_positive("C", self.C), **gamma), prompts)


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


def one_by_one(gamma: Callable[[ndarray], float] | None = None, **settings) -> Predict:
    """Return the labels of scikit-learn's SVM, fitted prompt by prompt; ``gamma`` maps its examples to the kernel's gamma."""
    from sklearn import config_context, svm  # over a second, which all but the SVMs do without

    def predict(x: ndarray, y: ndarray, query: ndarray) -> ndarray:
        found = np.empty(len(y))
        with config_context(assume_finite=True, skip_parameter_validation=True):
            for p in range(len(y)):
                own = {"gamma": gamma(x[p])} if gamma else {}
                found[p] = svm.SVC(random_state=0, **settings, **own).fit(x[p], y[p]).predict(query[p : p + 1])[0]
        return found

    return predict


def fit_logistic(K: Float[ndarray, "P l l"], y: Float[ndarray, "P l"], C: float) -> tuple[ndarray, ndarray]:
    """Minimise C sum_i ln(1 + exp(-y_i f_i)) + a^T K a / 2, f = K a + b, by Newton's method.

    At the least a = C y sigma(-y f) and sum_i a_i = 0. A step solves (K + 1/D) a + b = f + g/D, sum_i a_i = 0, with
    g = C y sigma(-y f) and D = C sigma(f) sigma(-f). Raises RuntimeError when NEWTON_STEPS steps do not suffice.
    """
    (P, l), a, f = y.shape, np.zeros_like(y), np.zeros_like(y)
    system = np.ones((P, l + 1, l + 1))
    system[:, -1, -1] = 0
    for _ in range(NEWTON_STEPS):
        wrong = 1 / (1 + np.exp(y * f))
        g, D = C * y * wrong, C * wrong * (1 - wrong)
        system[:, :l, :l] = K + np.eye(l) / D[:, :, None]
        right = np.concatenate([f + g / D, np.zeros((P, 1))], -1)
        solution = np.linalg.solve(system, right[..., None])[..., 0]
        a, b = solution[:, :l], solution[:, l]
        f = np.einsum("pij,pj->pi", K, a) + b[:, None]
        if (abs(a - C * y / (1 + np.exp(y * f))) <= 1e-9 * C).all():
            return a, b
    raise RuntimeError(f"logistic regression did not converge within {NEWTON_STEPS} steps of Newton's method")
