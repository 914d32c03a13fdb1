"""What section 3.3 reads off trained models: answers on ODR patterns, responses of neurons, scores between IDR axes."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from numpy import ndarray

from icl_lib.companion import Count, PositiveShare
from papers.li.classification import Readings
from papers.li.evaluate import out_of_domain, rescaled
from papers.li.mechanism import bilinear_form, neurons
from papers.li.odr import ODRPatterns
from papers.li.patterns import Patterns
from papers.li.trained import A, B, Trained

SHORT = (replace(A, T=160, B=128), replace(B, T=160, B=128))
"""Trained once for the quick experiments of this section."""


@dataclass(frozen=True)
class ODRTest(ODRPatterns):
    """A test out of domain on such patterns.

    prompts   test prompts of a draw; rescaled patterns are one set, with as many prompts in all
    alpha     share of contexts with a pattern of the task; length: examples of a test prompt
    """

    prompts: Count
    alpha: PositiveShare
    length: Count

    def combined(self, trained: Trained, S_1: float, seed: int, name: str) -> Readings:
        """Read the S models on combined patterns of the training norm; readings (S, draws, prompts)."""
        patterns = self.drawn(trained, S_1, seed, f"{name}/patterns/{S_1:g}")
        return self._read(trained, patterns, self.prompts, seed, f"{name}/prompts/{S_1:g}")

    def rescaled(self, trained: Trained, S_1: float, seed: int, name: str) -> Readings:
        """Read the S models on S_1 times the training patterns, as many prompts in all; readings (S, 1, prompts)."""
        prompts = self.draws * self.prompts
        return self._read(trained, rescaled(trained, S_1), prompts, seed, f"{name}/rescaled/{S_1:g}")

    def at(self, alpha: float, length: int) -> "ODRTest":
        """Return the same test at another share and length."""
        return replace(self, alpha=alpha, length=length)

    def _read(self, trained: Trained, patterns: Patterns, prompts: int, seed: int, name: str) -> Readings:
        at = {"alpha": self.alpha, "length": self.length}
        name = f"{name}/{self.alpha:g}/{self.length}"
        return out_of_domain(trained, patterns, **at, prompts=prompts, seed=seed, name=name)


class Responses(NamedTuple):
    """a_r; phi_r, a row of W_O W_V on the mean IDR pattern; lambda_r, the row on (0; q)."""

    a: ndarray
    phi: ndarray
    lam: ndarray


def responses(trained: Trained) -> Responses:
    """Return the responses of the m neurons of the S models, (m,), (S, m), (S, m)."""
    model, rows = trained.model(), neurons(trained.model())
    mean_pattern = trained.setting.patterns().relevant.mean(0)
    return Responses(model.a.numpy(), (rows.feature @ mean_pattern).numpy(), (rows.label @ model.q).numpy())


def idr_scores(trained: Trained) -> ndarray:
    """Return the scores of IDR patterns (rows) under IDR queries (columns), (S, M1, M1)."""
    relevant = trained.setting.patterns().relevant
    form = bilinear_form(trained.model())[..., : relevant.shape[-1], : relevant.shape[-1]]
    return torch.einsum("ia,sab,jb->sij", relevant, form, relevant).numpy()


def without_features(trained: Trained) -> Trained:
    """Return the models with W_V deaf to the IDR patterns: what is left answers to labels alone."""
    W_V = trained.parameters["W_V"].clone()
    W_V[..., : trained.setting.M1] = 0.0
    return trained._replace(parameters={**trained.parameters, "W_V": W_V})
