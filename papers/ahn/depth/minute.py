"""The answer of how deep linear attention has to be."""

from icl_lib.companion import minute_of


@minute_of("ahn-depth")
def minute(found):
    """Says: Ahn et al. prove that certain critical points of training make L layers of linear attention L steps of
    preconditioned gradient descent. This page asks how good the best L steps are.

    So: The best step sizes are the reciprocals of the roots of one polynomial, and the least error has a closed form ({A1}). In
    {d} dimensions with {N} examples one layer leaves {one} of the error of no answer, {layers} layers leave {all}. Training of
    full matrices finds these steps ({A4d}) and nothing better ({A4b}).
    New: In many dimensions L layers leave $1/(1 + ρ⁻¹ + ... + ρ^(-L))$, $ρ = d/N$ ({A2}); equal steps leave more ({A2b}). Where
    prompts draw their own variances, Exp(1), one layer leaves a third in long contexts, and depth repairs it: then 1/6 and
    1/10 ({A3b}). If three layers change features too, the error on new prompts says little of the mean over all prompts:
    rare ones carry it ({A5b}).
    """
    last = found.isel(shape=-1)
    d, N = (part.partition("=")[2] for part in str(last.shape.item()).split())
    one, rest = float(last.error_theory.isel(layers=0)), float(last.error_theory.isel(layers=-1))
    return {"d": d, "N": N, "one": f"{one:.2f}", "layers": str(int(found.layers[-1])), "all": f"{rest:.3f}"}
