"""Formulas between dollar signs in sentences: as they are in a terminal, typeset on a page.

They are written in Unicode, ``$u₋₁U₁₁ = Γ⁻¹$``, so that they can be read in the source, too.
"""

import re

from markupsafe import Markup

_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱᵈᵀᵏˡᵗᴸᴹ", "0123456789+-()nidTkltLM", strict=True)) | {"ᐟ": "/"}
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼᵣ", "0123456789+-()aeoxhklmnpstijr", strict=True))
_ACCENTS = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar"}
_COMPOSED = {
    "ŷ": r"\hat y",
    "ŵ": r"\hat w",
    "ẑ": r"\hat z",
    "Ŵ": r"\hat W",
    "ā": r"\bar a",
    "·": r"\cdot ",
    "×": r"\times ",
    "√": r"\surd ",
    "′": "'",
    "−": "-",
    "…": r"\ldots ",
    "...": r"\dots ",
    "^½": "^{1/2}",
    "^¼": "^{1/4}",
    "‖": r"\|",
    "%": r"\%",
    "#": r"\#",
}
FORMULA = re.compile(r"\$([^$]+)\$")
_WORD = re.compile(
    r"(?<![A-Za-z\\{])(tr|exp|ln|log|ReLU|max|min|sign|rank|span|attn|Var|Cov|diag|arg|cos|sin|tanh|det|vec)(?![A-Za-z])"
)


def plain(text: str) -> str:
    """Return a sentence without the dollar signs."""
    return FORMULA.sub(lambda found: found[1], text)


def typeset(text: str) -> Markup:
    """Return a sentence as HTML, its formulas for MathJax."""
    pieces = enumerate(FORMULA.split(text))
    return Markup("").join(FORMULA_HTML.format(tex(piece)) if place % 2 else piece for place, piece in pieces)


FORMULA_HTML = Markup(r'<span class="math notranslate nohighlight">\({}\)</span>')


def tex(formula: str) -> str:
    """Return a formula in Unicode as TeX; small Greek letters and relations are left to MathJax, which knows them.

    >>> from icl_lib.companion.mathematics import tex
    >>> print(tex("x₁² + U₁₁"), tex("W⁻¹yᵀ"))
    x_{1}^{2} + U_{11} W^{-1}y^{T}
    """
    for raised, mark in ((_RAISED, "^"), (_LOWERED, "_")):
        run = re.compile(f"[{''.join(raised)}]+")
        formula = run.sub(lambda found, raised=raised, mark=mark: f"{mark}{{{''.join(raised[c] for c in found[0])}}}", formula)
    for accent, name in _ACCENTS.items():
        formula = re.sub(rf"(\w){accent}", rf"\\{name}{{\1}}", formula)
    formula = re.sub(r"\^\(([^()]+)\)", r"^{\1}", formula)
    formula = re.sub(r"(?<=[A-Za-z])\*(?!\w)", "^*", formula)  # the best of its kind, and not times
    formula = re.sub(r"(?<=[_^])(?!\{)([A-Za-z]{2,}|[-−]?\d+(?:\.\d+)?)", r"{\1}", formula)
    formula = re.sub(r"_\{(up|[a-z]{3,})\}", r"_{\\mathrm{\1}}", formula)  # a name, not a product of letters
    formula = re.sub("|".join(map(re.escape, _COMPOSED)), lambda found: _COMPOSED[found[0]], formula)
    formula = re.sub("[ΓΔΘΛΞΠΣΦΨΩ]", lambda found: rf"\mathrm{{{found[0]}}}", formula)  # upright, as TeX has them
    return _WORD.sub(r"\\operatorname{\1}", formula)
