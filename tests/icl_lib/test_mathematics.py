"""Formulas in sentences: plain in a terminal, TeX on a page."""

import pytest

from icl_lib.companion.mathematics import plain, tex, typeset


@pytest.mark.parametrize(
    "formula, expected",
    [
        ("u₋₁U₁₁ = Γ⁻¹", r"u_{-1}U_{11} = \mathrm{Γ}^{-1}"),
        ("(d+1)tr Λ/M", r"(d+1)\operatorname{tr} \mathrm{Λ}/M"),
        ("ŷ = x'W_KQ x", r"\hat y = x'W_{KQ} x"),
        ("Λ\u0302²", r"\hat{\mathrm{Λ}}^{2}"),
        ("‖w‖² ≤ 10%", r"\|w\|^{2} ≤ 10\%"),
        ("W_down + W_up, x_ij", r"W_{\mathrm{down}} + W_{\mathrm{up}}, x_{ij}"),
        ("u_-1, W^PV, x_10", "u_{-1}, W^{PV}, x_{10}"),
        ("e^{-t}, x_i", "e^{-t}, x_i"),
        ("R*(Ψ) = D* x, L^*, A_*", r"R^*(\mathrm{Ψ}) = D^* x, L^*, A_*"),
        ("1 + ... + ρ⁻ᴸ, (1 - a)ᴹ, ‖A‖^½", r"1 + \dots  + ρ^{-L}, (1 - a)^{M}, \|A\|^{1/2}"),
        ("1 - attn_i", r"1 - \operatorname{attn}_i"),
        ("10^−3, 10^-3.5, x⁽ⁱ⁾, rᵈ", "10^{-3}, 10^{-3.5}, x^{(i)}, r^{d}"),
    ],
)
def test_unicode_becomes_tex(formula, expected):
    assert tex(formula) == expected


def test_a_sentence_is_plain_in_a_terminal_and_escaped_and_typeset_on_a_page():
    sentence = "If $x₁ < 2$ & so on, $d²$."
    assert plain(sentence) == "If x₁ < 2 & so on, d²."
    page = str(typeset(sentence))
    assert r"\(x_{1} &lt; 2\)" in page and "&amp; so on" in page and page.count('class="math') == 2
