"""The answer of how deep linear attention has to be."""

from icl_lib.companion import minute_of


@minute_of("ahn-depth")
def minute(found):
    """Says: Ahn et al. prove in which points of the training objective L layers of linear attention are L steps of
    preconditioned gradient descent. This page asks what the best L steps leave.

    So: The best step sizes are the reciprocals of the roots of one polynomial, and what they leave is a number in closed form
    ({A1}): at $d = {d}$, $N = {N}$ one layer leaves {one} of the error of no answer, {layers} layers {all}. Training of full
    matrices finds these steps ({A4d}), and nothing better ({A4b}).
    New: In many dimensions L layers leave $1/(1 + ρ⁻¹ + ... + ρ⁻ᴸ)$, $ρ = d/N$ ({A2}); equal steps leave more ({A2b}). Where
    prompts have variances of their own, depth repairs what one layer cannot: 1/3, then 1/6, 1/10 ({A3b}). Layers that also
    change features have losses which batches of prompts do not show: rare prompts carry most of the mean ({A5b}).
    """
    last = found.isel(shape=-1)
    d, N = (part.partition("=")[2] for part in str(last.shape.item()).split())
    one, rest = float(last.error_theory.isel(layers=0)), float(last.error_theory.isel(layers=-1))
    return {"d": d, "N": N, "one": f"{one:.2f}", "layers": str(int(found.layers[-1])), "all": f"{rest:.3f}"}
