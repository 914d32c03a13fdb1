"""Tables of this part, cell by cell."""

from fractions import Fraction

import numpy as np

from icl_lib.companion import rounded
from papers.regression.published import GPT2_VALUES, GPT2_WORDS
from papers.zhang.appendices import figures as appendices
from papers.zhang.s1_introduction import figures as introduction
from papers.zhang.s3_preliminaries import figures as preliminaries
from papers.zhang.s4_2_shifts import figures_garg_prompts as garg_prompts
from papers.zhang.s4_3_gpt2 import figures as gpt2
from papers.zhang.s4_3_random_covariances import figures as random_covariances
from papers.zhang.s5_1_quadratic_form import figures as quadratic_form
from papers.zhang.s5_3_pl_inequality import figures as pl_inequality
from tests.papers.tables import shows


@shows(introduction.remaining, "zhang-one-step")
def remaining(d, title, kappa):
    """In 20 dimensions; measured, where the title does not say formula."""
    of_20 = d.sel(d=20, kappa=float(kappa))
    if title == "floor, formula":
        spectrum = float(kappa) ** -np.linspace(0, 1, 20)
        return 1 - (spectrum**2).sum() ** 2 / (spectrum.sum() * (spectrum**3).sum())
    model, M = title.split("M = ")
    of_model = {"one step, ": of_20.risk_long, "trained at N = ": of_20.trained_long}[model]
    return of_model.sel(M_long=int(M.replace(",", "")))


@shows(preliminaries.losses, "zhang-population-loss")
def losses(d, title, N):
    """By the formula, which along multiples of the minimiser is a parabola through d/2 at 0; d = 4."""
    at = d.loss_theory.values[d.N.values.tolist().index(int(N))]
    parabola = at[3] + (2 - at[3]) / 4
    return dict(zip(("initial A", "a dense A", "Γ⁻¹", "Λ⁻¹"), at[[0, 1, 3, 5]], strict=True)).get(title, parabola)


@shows(garg_prompts.garg_table, "zhang-garg-prompts")
def garg_table(d, title, prompt, k):
    """Averaging and zero are exact, least squares is measured."""
    cell = d.sel(prompt=prompt, k=int(k))
    told = dict(GPT2_WORDS).get(prompt, "–") if k == "10" else "–"
    printed = {kind[:2]: rounded(kind[2], 3) for kind in GPT2_VALUES}
    width = 2 * cell.risk_se.sel(model="LSA")
    return {
        "LSA, formula": rounded(cell.risk_theory.sel(model="LSA"), 3),
        "LSA ± 2 s.e.": f"{rounded(cell.risk.sel(model='LSA'), 3)} ± {rounded(width, 1)}",
        "averaging, formula": rounded(cell.risk_theory.sel(model="averaging"), 3),
        "least squares, measured": "no finite mean"
        if (prompt, k) == ("label noise", "20")
        else rounded(cell.risk.sel(model="OLS"), 3),
        "zero": rounded(Fraction(prompt.rpartition("× ")[2]) ** 2 if "×" in prompt else 1, 3),
        "GPT-2 (Garg et al.)": printed.get((prompt, int(k)), told),
    }[title]


@shows(gpt2.relative, "zhang-gpt2")
def relative(d, title, trained, N):
    """At M = N, in the mean over trainings; predicting 0 errs by c."""
    runs = d.risk.sel(test=title, trained=trained, N=int(N), M=int(N)).values
    return runs.sum() / len(runs) / {"covariance I": 1, "c = 1": 1, "c = 4": 4, "c = 9": 9}[title]


@shows(gpt2.by_way, "zhang-gpt2-scale")
def by_way(d, title, trained, N):
    """At c = 9, in the mean over trainings."""
    runs = d.risk.sel(trained=trained, N=int(N), way=title).values[:, d.c.values.tolist().index(9)]
    return runs.sum() / len(runs)


@shows(random_covariances.gains, "zhang-random-covariance")
def gains(d, title, variances, c):
    cell = d.isel(d=0).sel(law=variances, c=float(c), M=int(title.removeprefix("M = ")))
    return cell.risk.sel(trained="random") / cell.risk.sel(trained="mean")


@shows(quadratic_form.curvature, "zhang-full-loss")
def curvature(d, title, setting):
    sign, place = title.split(" at the ")
    return {"negative": d.negative, "zero": d.zero}[sign].sel(setting=setting, place=place)


@shows(pl_inequality.slacks, "zhang-pl")
def slacks(d, title, dimension):
    """From ΘΘᵀ = I/√d, at N = 20 and σ² at 0.3 of the largest that Theorem 4.1 allows; μ is computed anew."""
    n, kappa, share = int(dimension), float(title.removeprefix("κ = ")), 0.3
    spectrum = kappa ** -np.linspace(0, 1, n)
    spectrum *= n / spectrum.sum()
    gamma = 21 / 20 * spectrum + n / 20
    pull = 2 * share * (2 - 2 * share) / (n * gamma.max()) * (spectrum**2).sum()
    mu = pull / (n**0.5 * spectrum.max() ** 2 * (1 / (gamma * spectrum)).sum() * (1 / spectrum).sum())
    return d.pl_ratio_isotropic.sel(d=n, kappa=kappa) / mu


@shows(pl_inequality.heights, "zhang-long-prompts")
def heights(d, title, setting):
    """Of the two descents the lower one that ends in a minimum and not at L*."""
    cell = d.sel(setting=setting, N=int(title.removeprefix("N = ").replace(",", "")))
    ends = zip(cell.loss.values / cell.minimum.values, cell.negative.values, strict=True)
    return min((over for over, negative in ends if over > 1.001 and not negative), default=np.nan)


@shows(appendices.slack, "zhang-off-diagonal")
def slack(d, title, variances):
    flow = d.sel(law=variances)
    u, ratio = (np.sort(each.values)[0] for each in (flow.u, flow.pl_ratio))
    return {"least u over its bound": u / flow.u_bound, "least PL ratio over ν": ratio / flow.nu}[title]
