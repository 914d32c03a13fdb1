"""li-attention: where the attention goes along training, the odds law, and the gradient of the scores."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.li.course import NAMES, Course, pattern_scores, unseen
from icl_lib.experiments.li.evaluate import combined, in_domain, out_of_domain
from icl_lib.experiments.li.trained import A, B, Trained
from icl_lib.models.softmax_attention import SoftmaxAttentionMLP
from icl_lib.results import variable
from icl_lib.seeds import stream
from icl_lib.tasks.patterns import write
from icl_lib.theory.li import mechanism


@dataclass(frozen=True)
class Attention:
    """Attention on the query's pattern at share ``alpha`` and ``length`` contexts, on ``prompts`` prompts a model.

    Out of domain: ``count`` combined patterns of coefficient sum ``S_1`` and ``distractors`` rotated ones, ``draws``
    times. ``checked`` prompts are differentiated.
    """

    course: Course
    alpha: float
    length: int
    prompts: int
    S_1: float
    count: int
    distractors: int
    draws: int
    checked: int

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the attention at every mark, with the odds law beside it."""
        models = self.course.models(seed, device)
        mass = np.array([[self._mass(trained, seed) for trained in models[name].values()] for name in NAMES])
        theory = np.array([[self._law(trained) for trained in models[name].values()] for name in NAMES])
        example = self._example(list(models["A"].values()), seed)
        gradient = np.array([self._gradient(trained, seed) for trained in models["A"].values()])
        return xr.Dataset(
            {
                "mass": variable("setting step split seed", mass, "attention on the contexts with the query's pattern"),
                "mass_theory": variable("setting step seed", theory[:, :, 0], "the same by the odds law, unseen tasks"),
                "mass_theory_own": variable("setting step seed", theory[:, :, 1], "odds law with other patterns' scores 0"),
                "gradient_error": variable("step", gradient[:, 0], "score gradient, relative error"),
                "gradient_error_uncentred": variable("step", gradient[:, 1], "the same without phi_bar"),
                **example,
            },
            coords={
                "setting": list(NAMES),
                "step": list(self.course.marks),
                "split": ["unseen tasks", "out of domain"],
                "seed": np.arange(self.course.seeds),
            },
        )

    def _mass(self, trained: Trained, seed: int) -> list[np.ndarray]:
        inside = in_domain(
            trained, unseen(trained.setting), alpha=self.alpha, length=self.length, prompts=self.prompts, seed=seed, name="id"
        )
        patterns = combined(
            trained, self.S_1, count=self.count, distractors=self.distractors, draws=self.draws, seed=seed, name="ODR"
        )
        prompts = max(1, self.prompts // self.draws)
        outside = out_of_domain(trained, patterns, alpha=self.alpha, length=self.length, prompts=prompts, seed=seed, name="ood")
        return [inside.mass.nanmean(-1).numpy(), outside.mass.nanmean((-1, -2)).numpy()]

    def _law(self, trained: Trained) -> list[np.ndarray]:
        """Return the odds law's mass from the weights, and from the diagonal scores alone; (S,) each."""
        setting, share = trained.setting, self.alpha / 2
        M1 = setting.M1
        others, queries = other_contexts(unseen(setting).numpy(), M1, self.alpha)
        scores = pattern_scores(trained)[:, :M1, :M1] * setting.beta**2
        asked = queries > 0
        gaps = [mechanism.score_gap(table, others)[:, asked] for table in (scores, scores * np.eye(M1))]
        return [mechanism.attention_mass_from_gap(gap, self.length, share) @ queries[asked] for gap in gaps]

    def _example(self, course: list[Trained], seed: int) -> dict[str, xr.Variable]:
        """Return one unseen prompt's attention along training, first model, contexts sorted by pattern."""
        setting = course[0].setting
        law = setting.law(unseen(setting), self.alpha)
        codes = law.codes(stream(seed, "example"), (64,), self.length)
        same = (codes.pattern[:, :-1] == codes.pattern[:, -1:]).sum(-1)
        chosen = int((same - self.length * self.alpha / 2).abs().argmin())  # as many as expected of the query's pattern
        codes = type(codes)(*(part[chosen : chosen + 1] for part in codes))
        prompts = write(codes, law.patterns)
        attention = np.array([_single(trained, 0).attention(prompts)[0].numpy() for trained in course])
        pattern, query = codes.pattern[0, :-1].numpy(), int(codes.pattern[0, -1])
        order = np.lexsort((pattern, pattern != query))
        return {
            "example": variable("step context", attention[:, order], "attention of one prompt's contexts"),
            "example_pattern": variable("context", pattern[order], "pattern of the context"),
            "example_query": variable("", query, "pattern of the query"),
        }

    def _gradient(self, trained: Trained, seed: int) -> tuple[float, float]:
        """Compare dF/ds by automatic differentiation with the formula; relative to the largest entry."""
        law = trained.setting.law(unseen(trained.setting), self.alpha)
        codes = law.codes(stream(seed, "checked"), (self.checked,), self.length)
        model = _single(trained, 0)
        scores = model.attention(write(codes, law.patterns)).log().requires_grad_()
        attention = scores.softmax(-1)
        (exact,) = torch.autograd.grad(model.on(law.patterns).output(codes, attention).sum(), scores)
        centred, uncentred = _formula(model, write(codes, law.patterns), attention.detach().numpy())
        scale = abs(exact.numpy()).max()
        return abs(centred - exact.numpy()).max() / scale, abs(uncentred - exact.numpy()).max() / scale


def other_contexts(tasks: np.ndarray, M1: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of pattern j among contexts without the query's pattern k, (M1, M1), and the law of k, (M1,).

    Tasks are drawn uniformly and either of their patterns is the query's. Columns of patterns that no task names are
    uniform; their query has probability 0.
    """
    others, queries = np.zeros((M1, M1)), np.zeros(M1)
    for query, partner in np.concatenate([tasks, tasks[:, ::-1]]):
        share = np.full(M1, (1 - alpha) / (M1 - 2))
        share[partner], share[query] = alpha / 2, 0.0
        others[:, query] += share / (1 - alpha / 2)
        queries[query] += 1
    uniform = (1 - np.eye(M1)) / (M1 - 1)
    return np.where(queries > 0, others / np.maximum(queries, 1), uniform), queries / queries.sum()


def _single(trained: Trained, k: int) -> SoftmaxAttentionMLP:
    model = trained.model()
    return replace(model, **{name: getattr(model, name)[k] for name in ("W_Q", "W_K", "W_V", "W_O")})


def _formula(model: SoftmaxAttentionMLP, prompts, attention: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return attn_i (phi_i - phi_bar) and, without the mean, attn_i phi_i; (prompts, l) each."""
    contexts = model.contexts(prompts).numpy()
    rows = (model.W_O @ model.W_V).numpy()
    active = np.einsum("bl,bld,md->bm", attention, contexts, rows) > 0
    a = model.a.numpy()
    phi = np.array([mechanism.context_outputs(a, on, rows, p) for on, p in zip(active, contexts, strict=True)])
    centred = np.array([mechanism.score_gradient(*pair) for pair in zip(attention, phi, strict=True)])
    return centred, attention * phi


QUICK_COURSE = Course(
    first=replace(A, T=300), second=replace(B, T=300), seeds=3, marks=(0, 10, 20, 30, 40, 50, 100, 300),
)  # fmt: skip
FULL_COURSE = Course(
    first=A, second=B, seeds=10, marks=(0, 10, 20, 30, 40, 50, 100, 200, 400, 1000),
)  # fmt: skip

ATTENTION = Experiment(
    slug="li-attention",
    title="Attention on the query's pattern along training",
    paper="li",
    section="4",
    notebook="li_4_mechanism",
    quick=Attention(
        QUICK_COURSE, alpha=0.8, length=20, prompts=1000, S_1=1.1, count=3, distractors=10, draws=5, checked=20,
    ),
    full=Attention(
        FULL_COURSE, alpha=0.8, length=20, prompts=5000, S_1=1.1, count=3, distractors=10, draws=10, checked=100,
    ),
)  # fmt: skip
