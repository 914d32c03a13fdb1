"""Tables of this part, cell by cell."""

from fractions import Fraction

from icl_lib.companion import rounded
from papers.garg.prior_observations import figures_shifted as shifted
from papers.regression.published import GPT2_VALUES, GPT2_WORDS
from tests.papers.tables import shows


@shows(shifted.table, "garg-shifts")
def table(d, title, prompt, k):
    """Least squares is measured, zero exact; Garg et al.'s words stand once."""
    cell = d.sel(prompt=prompt, k=int(k))
    if title.endswith(" ± 2 s.e."):
        model = cell.sel(model=title.removesuffix(" ± 2 s.e."))
        return f"{rounded(model.risk)} ± {rounded(2 * model.risk_se, 1)}"
    infinite = prompt == "label noise" and abs(int(k) - 5) <= 1
    printed = {kind[:2]: rounded(kind[2], 3) for kind in GPT2_VALUES}
    told = dict(GPT2_WORDS).get(prompt, "–") if k == "4" else "–"
    return {
        "LSA, formula": rounded(cell.risk_theory.sel(model="LSA")),
        "least squares, measured": "no finite mean" if infinite else rounded(cell.risk.sel(model="OLS")),
        "zero": rounded(Fraction(prompt.rpartition("× ")[2]) ** 2 if "×" in prompt else 1),
        "Garg et al. at 4k": printed.get((prompt, 4 * int(k)), told),
    }[title]
