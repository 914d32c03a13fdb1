"""li-attention: where the attention goes along training, the odds law, and the gradient of the scores."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr

from icl_lib.companion import Count, Declaration, Experiment, PositiveShare, expectation, variable
from icl_lib.seeds import stream
from papers.li.evaluate import in_domain, out_of_domain
from papers.li.odr import ODRPatterns
from papers.li.patterns import write
from papers.li.published import ATTENTION_COURSE, ATTENTION_STEPS
from papers.li.s4_mechanism.course import NAMES, Course, pattern_scores, unseen
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.li.theory import mechanism
from papers.li.trained import A, B, Setting, Trained


@dataclass(frozen=True)
class Attention(Declaration):
    """Attention on the query's pattern at share ``alpha`` and ``length`` contexts, on ``prompts`` prompts a model.

    alpha     share of contexts with a pattern of the task; length: examples of a prompt
    prompts   prompts of a model at a mark; out of domain they are shared among the draws
    S_1       coefficient sum of the ODR patterns
    odr       patterns out of domain
    checked   prompts whose scores are differentiated
    """

    course: Course
    alpha: PositiveShare
    length: Count
    prompts: Count
    S_1: float
    odr: ODRPatterns
    checked: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure the attention and the scores at every mark, and differentiate."""
        models = self.course.models(seed, device)
        mass = np.array([[self._mass(trained, seed) for trained in models[name].values()] for name in NAMES])
        scores = np.array([[_scores(trained) for trained in models[name].values()] for name in NAMES], "f4")
        example = self._example(list(models["A"].values()), seed)
        slope, attention, phi = map(np.array, zip(*(self._gradient(one, seed) for one in models["A"].values()), strict=True))
        where = "step prompt context"
        return xr.Dataset(
            {
                "mass": variable("setting step split seed", mass, "attention on the contexts with the query's pattern"),
                "scores": variable("setting step seed key query", scores, "score of an IDR pattern under an IDR query"),
                "slope": variable(where, slope, "dF/ds of the checked prompts, by automatic differentiation"),
                "attention": variable(where, attention, "attention of the checked prompts' contexts"),
                "context_output": variable(where, phi, "phi: what each of these contexts says through the neurons that are on"),
                **example,
            },
            coords={
                "setting": list(NAMES),
                "step": list(self.course.marks),
                "split": ["unseen tasks", "out of domain"],
                "seed": np.arange(self.course.seeds),
            },
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the odds law beside the attention, and the formula of the score gradient beside that of the layer."""
        tables = zip(self.course.settings(), dataset.scores.values, strict=True)
        law = np.array([self._law(setting, scores) for setting, scores in tables])
        slope, attention, phi = (dataset[name].values for name in ("slope", "attention", "context_output"))
        prompts = zip(attention.reshape(-1, self.length), phi.reshape(-1, self.length), strict=True)
        centred = np.reshape([mechanism.score_gradient(*pair) for pair in prompts], slope.shape)
        scale = abs(slope).max((1, 2))
        errors = [abs(formula - slope).max((1, 2)) / scale for formula in (centred, attention * phi)]
        return dataset.assign(
            plotted=variable("epoch", ATTENTION_COURSE, "attention out of domain, read off the authors' plot by eye"),
            epoch=("epoch", list(ATTENTION_STEPS)),
            mass_theory=variable("setting step seed", law[:, 0], "the same by the odds law, unseen tasks"),
            mass_theory_own=variable("setting step seed", law[:, 1], "odds law with other patterns' scores 0"),
            gradient_error=variable("step", errors[0], "score gradient, relative error"),
            gradient_error_uncentred=variable("step", errors[1], "the same without phi_bar"),
        )

    def _mass(self, trained: Trained, seed: int) -> list[np.ndarray]:
        inside = in_domain(
            trained, unseen(trained.setting), alpha=self.alpha, length=self.length, prompts=self.prompts, seed=seed, name="id"
        )
        patterns = self.odr.drawn(trained, self.S_1, seed, "ODR")
        prompts = max(1, self.prompts // self.odr.draws)
        outside = out_of_domain(trained, patterns, alpha=self.alpha, length=self.length, prompts=prompts, seed=seed, name="ood")
        return [inside.mass.nanmean(-1).numpy(), outside.mass.nanmean((-1, -2)).numpy()]

    @expectation
    def _law(self, setting: Setting, scores: np.ndarray) -> list[np.ndarray]:
        """Return the odds law's mass from the scores (step, S, M1, M1), and from the diagonal ones alone; (step, S) each."""
        share = self.alpha / 2
        others, queries = other_contexts(unseen(setting).numpy(), setting.M1, self.alpha)
        asked = queries > 0
        gaps = [mechanism.score_gap(table, others)[..., asked] for table in (scores, scores * np.eye(setting.M1))]
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

    def _gradient(self, trained: Trained, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return dF/ds by automatic differentiation, attn and phi of the first model; (checked, l) each."""
        law = trained.setting.law(unseen(trained.setting), self.alpha)
        codes = law.codes(stream(seed, "checked"), (self.checked,), self.length)
        model, prompts = _single(trained, 0), write(codes, law.patterns)
        scores = model.attention(prompts).log().requires_grad_()
        attention = scores.softmax(-1)
        (slope,) = torch.autograd.grad(model.on(law.patterns).output(codes, attention).sum(), scores)
        attention, contexts, rows = attention.detach(), model.contexts(prompts), model.W_O @ model.W_V
        active = torch.einsum("bl,bld,md->bm", attention, contexts, rows) > 0
        phi = torch.einsum("bld,md,bm->bl", contexts, rows, model.a * active)
        return slope.numpy(), attention.numpy(), phi.numpy()


def other_contexts(tasks: np.ndarray, M1: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of pattern j among contexts without the query's pattern k, (M1, M1), and the distribution of k, (M1,).

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


def _scores(trained: Trained) -> np.ndarray:
    """Return the scores of IDR patterns (rows) under IDR queries (columns), (S, M1, M1)."""
    M1, beta = trained.setting.M1, trained.setting.beta
    return pattern_scores(trained)[:, :M1, :M1] * beta**2


def _single(trained: Trained, k: int) -> SoftmaxAttentionMLP:
    model = trained.model()
    return replace(model, **{name: getattr(model, name)[k] for name in ("W_Q", "W_K", "W_V", "W_O")})


QUICK_COURSE = Course(
    first=replace(A, T=150, B=128), second=replace(B, T=150, B=128), seeds=3, marks=(0, 10, 20, 30, 40, 50, 60, 100, 150)
)
FULL_COURSE = Course(first=A, second=B, seeds=10, marks=(0, 10, 20, 30, 40, 50, 100, 200, 400, 1000))

_QUICK = Attention(
    QUICK_COURSE, alpha=0.8, length=20, prompts=1000, S_1=1.1, odr=ODRPatterns(count=3, distractors=10, draws=5), checked=5
)
ATTENTION = Experiment(
    slug="li-attention",
    title="Attention on the query's pattern along training",
    quick=_QUICK,
    full=replace(_QUICK, course=FULL_COURSE, prompts=5000, odr=replace(_QUICK.odr, draws=10)),
)
