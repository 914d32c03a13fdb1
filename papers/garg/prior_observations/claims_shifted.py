"""Claims G3 to G3f: shifted prompts. All margins but that of G3e were fixed before the trained model met them.

Garg et al.'s values are theirs, at d = 20, and enter no verdict.
"""

import numpy as np
import xarray as xr

from icl_lib.companion import Discrepancy, claims_of, replaced

COVARIATE_SHIFTS = ["half subspace", "skewed covariance", "orthants"]


def _rows(dataset: xr.Dataset, start: str) -> list[str]:
    return [name for name in dataset.prompt.values if name.startswith(start)]


def _kept(dataset: xr.Dataset, prompts: list, lengths: list) -> Discrepancy:
    """Return the model's error over that of predicting 0."""
    cells = dataset.sel(prompt=prompts, model="GPT-2", k=lengths)
    return Discrepancy(cells.risk / cells.zero, 2 * cells.risk_se / cells.zero)


claim = claims_of("garg-shifts", section="distribution shifts")


@claim("V", "bound", margin=0.2, control=lambda d: d.assign(risk=d.zero.broadcast_like(d.risk), risk_se=0 * d.risk_se))
def G3(dataset):
    """Weights scaled by 1/3 to 3 are tolerated: after $N$ examples the error is below a fifth of that of predicting 0.

    Margin: For every factor. LSA keeps $(d + 1)/(N + d + 1)$, 0.23 here; Garg et al. print 0.0004 to 0.011 in this unit.
    Number: Error over that of predicting 0.
    Control: the prediction 0 in the model's place
    """
    return _kept(dataset, _rows(dataset, "weights"), [dataset.N])


@claim("V", "bound", margin=0.2, control=replaced("model", "LSA", "GPT-2"))
def G3b(dataset):
    """Half subspaces and orthants are tolerated: after $N$ examples the error is below a fifth of that of predicting 0.

    Margin: As G3. Garg et al. print 0.00057 and 0.004.
    Number: Error over that of predicting 0.
    Control: LSA in the model's place
    """
    return _kept(dataset, ["half subspace", "orthants"], [dataset.N])


@claim("V", "bound", margin=0.2, control=replaced("model", "LSA", "GPT-2"))
def G3c(dataset):
    """A query that copies an example is answered from $k = d$ to $N$: error below a fifth of that of predicting 0.

    Margin: As G3. Garg et al. print 0.001 and less.
    Number: Error over that of predicting 0.
    Slack: Tolerated is read as a fifth of the error of predicting 0; a model that reads the copy off has a fraction of that.
    Control: LSA in the model's place
    """
    return _kept(dataset, ["copied query"], [k for k in dataset.k.values if k >= dataset.d])


@claim("V", "bound", margin=0.25, control=replaced("prompt", "no shift"))
def G3d(dataset):
    """A query orthogonal to $d − 1$ examples is answered like an unknown: the error is that of predicting 0, up to a quarter.

    Margin: |error over that of predicting 0 − 1|. Garg et al. say about 1; the quarter is ours. The label is independent of all
    that the model is told, so in expectation this is the mean square of its answer, and predicting 0 exactly is best.
    Control: a query that is not orthogonal
    """
    cell = dataset.sel(prompt="orthogonal query", model="GPT-2").isel(k=0)
    return Discrepancy(abs(cell.risk / cell.zero - 1), 2 * cell.risk_se / cell.zero)


@claim("D", "order", margin=1.0, control=replaced("prompt", "inputs × 1/3", "inputs × 3"))
def G3e(dataset):
    """Of all these shifts our model tolerates inputs scaled by 3 least: after $N$ examples more than a fifth of the error of
    predicting 0 is left, and more than with any other. A query that is orthogonal to all examples is no such case (G3d).

    Margin: A fifth, as for G3, and the share that is left with every other shift, over this share. Garg et al. print 0.58 for
    error/$d$, where predicting 0 has 9, against 0.0006 without a shift, and 0.30 for inputs scaled by a third, where predicting
    0 has a ninth.
    Moved: from an error/$d$ of one half, which weights scaled by 3 exceed as well and by which no other shift was judged. The
    other shifts were compared after a look.
    Control: inputs scaled by a third
    """
    cells = dataset.drop_sel(prompt="orthogonal query").sel(model="GPT-2", k=dataset.N)
    left, error = (cells.risk / cells.zero).values, (cells.risk_se / cells.risk).values  # the second as a share of the first
    stretched = (cells.prompt == "inputs × 3").values
    ratio = np.append(left[~stretched], 0.2) / left[stretched]
    return Discrepancy(ratio, 2 * ratio * np.hypot(np.append(error[~stretched], 0.0), error[stretched]))


@claim("D", "order", margin=0.5, control=replaced("model", "LSA", "GPT-2"))
def G3f(dataset):
    """On the covariate shifts that LSA does not tolerate, half subspace, skewed covariance and orthants, the model errs at
    most half as much.

    Margin: Error after $N$ examples over the closed form of LSA at the same $N$.
    Slack: Half as much is a clear difference; equal skill would be 1.
    Control: LSA, measured, in the model's place
    """
    cells = dataset.sel(prompt=COVARIATE_SHIFTS, k=dataset.N)
    model, lsa = cells.sel(model="GPT-2"), cells.risk_theory.sel(model="LSA")
    return Discrepancy(model.risk / lsa, 2 * model.risk_se / lsa)
