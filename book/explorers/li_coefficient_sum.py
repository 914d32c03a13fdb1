"""What the coefficient sum does to the neurons, to the margin, to the hinge and to the 0-1 error (section 3.3 of Li et al.)."""

from functools import cache

import numpy as np
import xarray as xr

from book.explorers.controls import Choice, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset
from book.explorers.plane import Axis, Plane, dots, number, path, ring
from icl_lib.companion import over_seeds, results, rounded
from icl_lib.companion.html import template
from papers import BOOK
from papers.li.theory import coefficient_sum as theory
from papers.li.theory.prompt_length import attention_mass, label_law

SUMS = tuple(round(-1.3 + 0.05 * k, 2) for k in range(53))
ALPHA, LENGTH = 0.8, 20
"""Share and length of the test prompts of the stored result."""
RARE = 0.01
"""A share of wrong answers below which they are called rare."""
ACROSS = (-1, -0.5, 0, 0.5, 1)
LOSSES = Plane(Axis(-1.3, 1.3, 50, 350, ACROSS), Axis(0, 1, 178, 40))
"""Losses are drawn at their square root."""
MARGIN = Plane(Axis(-1.3, 1.3, 50, 350, ACROSS, "coefficient sum S₁"), Axis(0, 2, 300, 225, (0, 1, 2), "margin zF"))
INPUTS = Plane(Axis(-0.55, 0.55, 50, 350, (-0.4, -0.2, 0, 0.2, 0.4), "input of a row"), Axis(0, 1, 478, 370))
BANDS = {"right": (0.58, 0.92), "wrong": (0.06, 0.4)}
"""Where the rows are drawn in INPUTS under each label."""


@cache
def stored() -> dict[str, dict]:
    """Return by setting what the script needs of the stored result: one network, and the measured means of all."""
    dataset = results.load(BOOK.result("li-coefficient-sum"))
    return {str(setting): _stored(dataset.sel(setting=setting)) for setting in dataset.setting.values}


def _stored(cell: xr.Dataset) -> dict:
    one = cell.isel(seed=0)
    suffixes = {"fixed": "", "rescaled": "_rescaled"}
    return {
        "gap": round(float(theory.mean_gap(one.scores.values[None])[0]), 4),
        "phi": one.feature_response.values.round(4).tolist(),
        "lam": one.label_response.values.round(4).tolist(),
        "S": cell.S_1.values.tolist(),
        "margin": cell.margin.mean("seed").values.round(4).tolist(),
        "hinge": {norm: _measured(cell[f"hinge{suffix}"]) for norm, suffix in suffixes.items()},
        "error": {norm: _measured(cell[f"error{suffix}"]) for norm, suffix in suffixes.items()},
    }


def _measured(values: xr.DataArray) -> list[list[float]]:
    found = over_seeds(values)
    ends = (found.value, found.value - found.two_se, found.value + found.two_se)
    return [[float(f"{max(0.0, value):.3g}") for value in row] for row in zip(*(end.values for end in ends), strict=True)]


# --- formulas -----------------------------------------------------------------------------------------------------


def gap_at(state: State) -> float:
    """Return the score gap that the reading of the sum gives."""
    gamma = stored()[state["setting"]]["gap"]
    return gamma if state["norm"] == "fixed" else theory.rescaled_gap(gamma, state["S"])


def rows_of(setting: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a, phi and lambda of the rows."""
    phi, lam = (np.array(stored()[setting][name]) for name in ("phi", "lam"))
    return (1 - 2 * (np.arange(len(phi)) % 2)) / len(phi) ** 0.5, phi, lam


def values(state: State) -> Values:
    """Return the mean label, the margin there, both losses, and what rows give in all under the right and wrong label."""
    a, phi, lam = rows_of(state["setting"])
    present = 1 - (1 - ALPHA / 2) ** LENGTH
    vote = float(theory.mean_label(present * attention_mass(gap_at(state), ALPHA, LENGTH), ALPHA))
    margin = float(theory.margin(state["S"], a, phi[None], lam[None], vote)[0])
    law = label_law(gap_at(state), ALPHA, LENGTH)
    hinge, error = theory.mean_losses(state["S"], a, phi, lam, law)
    right, wrong = (np.maximum(each, 0) @ abs(a) / 2 for each in inputs(state, vote))
    return dict(vote=vote, margin=margin, hinge=hinge, error=error, right=float(right), wrong=float(wrong))


def inputs(state: State, vote: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs of the rows under the label of the sign of a, and under the other."""
    a, phi, lam = rows_of(state["setting"])
    return state["S"] * phi + vote * np.sign(a) * lam, state["S"] * phi - vote * np.sign(a) * lam


@cache
def course(norm: str, setting: str) -> dict[str, np.ndarray]:
    """Return the values at every sum of the slider."""
    found = [values({"S": S, "norm": norm, "setting": setting}) for S in SUMS]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def kinks(norm: str, setting: str) -> list[float]:
    """Return the sums at which a row falls silent or awakes, under either label: linear between those of the slider."""
    found = [
        np.array(inputs({"S": S, "norm": norm, "setting": setting}, vote)).ravel()
        for S, vote in zip(SUMS, course(norm, setting)["vote"], strict=True)
    ]
    before, after = np.array(found[:-1]), np.array(found[1:])
    at, row = np.nonzero((before > 0) != (after > 0))
    share = before[at, row] / (before[at, row] - after[at, row])
    return sorted((np.array(SUMS)[at] + share * 0.05).tolist())


# --- what is drawn ------------------------------------------------------------------------------------------------


def parts(state: State) -> Parts:
    """Return curves, markers, rows and numbers."""
    norm, setting = state["norm"], state["setting"]
    found, over, data = values(state), course(norm, setting), stored()[setting]
    drawn = {
        f"{name}-line": {"d": path((LOSSES.x(S), height(value)) for S, value in zip(SUMS, over[name], strict=True))}
        for name in ("hinge", "error")
    }
    for name in ("hinge", "error"):
        drawn |= markers(name, data["S"], data[name][norm])
        drawn[f"{name}-now"] = {"d": ring(LOSSES.x(state["S"]), height(found[name]), 5.5)}
    seen = measured_at(state)
    x, y = MARGIN(state["S"], found["margin"])
    measured = zip(data["S"], data["margin"], strict=True) if norm == "fixed" else ()
    return drawn | {
        "margin-line": {"d": path(MARGIN(S, value) for S, value in zip(SUMS, over["margin"], strict=True))},
        "margin-dots": {"d": dots(MARGIN(S, value) for S, value in measured)},
        "margin-now": {"d": ring(x, y, 5.5)},
        "kinks": {"d": "".join(f"M{MARGIN.x(S):.1f} {MARGIN.y(0):.1f}v-6" for S in kinks(norm, setting))},
        "cursor": {"d": f"M{x:.1f} 40V178M{x:.1f} 225V300"},
        "reading": {"text": reading(state, found, over["error"])},
        **{name: {"text": number(found[name])} for name in ("vote", "margin", "hinge", "error")},
        **{f"{name}-measured": {"text": number(seen[name]) if seen else "–"} for name in ("hinge", "error")},
        "right-text": {"text": f"at the right label they add {number(found['right'])}"},
        "wrong-text": {"text": f"at the wrong label they take {number(found['wrong'])}"},
        **rows(state, found["vote"]),
    }


def height(loss: float) -> float:
    """Return where a loss lies."""
    return LOSSES.y(min(loss, 1.0) ** 0.5)


def markers(name: str, sums: list[float], measured: list[list[float]]) -> Parts:
    """Return measured means and their intervals."""
    at = [(LOSSES.x(S), *map(height, row)) for S, row in zip(sums, measured, strict=True)]
    return {
        f"{name}-dots": {"d": dots((x, y) for x, y, _, _ in at)},
        f"{name}-bars": {"d": "".join(f"M{x:.1f} {low:.1f}V{high:.1f}" for x, _, low, high in at)},
    }


def rows(state: State, vote: float) -> Parts:
    """Return the rows by the sign of a under each label, side by side in their band."""
    drawn = {}
    for (label, (low, high)), found in zip(BANDS.items(), inputs(state, vote), strict=True):
        places = [INPUTS(each, low + (high - low) * (r * 37 % 100) / 100) for r, each in enumerate(found)]
        drawn |= {f"{label}-plus": {"d": dots(places[::2])}, f"{label}-minus": {"d": dots(places[1::2])}}
    return drawn


def measured_at(state: State) -> Values:
    """Return the measured means of both losses, where they were measured."""
    data = stored()[state["setting"]]
    if state["S"] not in data["S"]:
        return {}
    return {name: data[name][state["norm"]][data["S"].index(state["S"])][0] for name in ("hinge", "error")}


def reading(state: State, found: Values, errors: np.ndarray) -> str:
    """Return the answer at these settings; measured where there is a measurement."""
    told = found | measured_at(state)
    margin, hinge, wrong = number(found["margin"]), number(told["hinge"]), how_often(told["error"])
    where = f"In setting {state['setting']} at S₁ = {number(state['S'])}"
    if state["norm"] == "rescaled":
        rare = SUMS[max(k for k, error in enumerate(errors) if error >= RARE) + 1]
        return (
            f"A length of some size, yes; a sum of 1, no. {where} as a factor of the patterns {wrong} wrong; from "
            f"{number(rare)} on it is fewer than 1 in 100."
        )
    if told["error"] < RARE:
        return f"No. {where} and fixed norm zF is {margin} at the mean vote, the hinge {hinge}, and {wrong} wrong."
    return f"Not a sum of 1. {where}, far below 0, zF is {margin} at the mean vote, rows fall silent, and {wrong} wrong."


def how_often(error: float) -> str:
    """Return a share of prompts in words."""
    if error >= RARE:
        return f"{rounded(100 * error)}% of the answers are"
    if not error:
        return "no answer is"
    return f"1 answer in {float(f'{1 / error:.2g}'):,.0f} is"


SKELETON = template(
    """
<svg viewBox="0 0 360 515" role="group" aria-labelledby="li-coefficient-sum-picture">
<title id="li-coefficient-sum-picture">Hinge loss, 0-1 error and margin over the coefficient sum, and the inputs of the \
rows at one sum</title>
<rect class="area ink" opacity="0.07" x="{{ planes.losses.x(1) }}" y="40" width="{{ 350 - planes.losses.x(1) }}" height="138"/>
<rect class="area ink" opacity="0.07" x="{{ planes.margin.x(1) }}" y="225" width="{{ 350 - planes.margin.x(1) }}" height="75"/>
<path class="line s0" d="M50 10h22"/><text class="s0" x="77" y="14">hinge</text>
<path class="line s1" d="M125 10h22"/><text class="s1" x="152" y="14">0-1 error</text>
<g stroke="currentColor" stroke-width="6" fill="none"><path class="s0" stroke-linecap="round" d="M227 10h0"/>\
<path class="s1" stroke-linecap="square" d="M237 10h0"/></g><text x="245" y="14">measured</text>
<text class="label" x="50" y="32">loss (square-root scale)</text><text x="350" y="32" text-anchor="end">S₁ ≥ 1</text>
{{ planes.losses.svg() }}
{% for value in (0, 0.01, 0.1, 0.25, 0.5, 1) %}
<path class="grid" d="M50 {{ "%.1f" % planes.losses.y(value ** 0.5) }}H350"/>
<text x="44" y="{{ "%.1f" % (planes.losses.y(value ** 0.5) + 4) }}" text-anchor="end">{{ value }}</text>
{% endfor %}
{{ planes.margin.svg() }}
<path class="thin ink" stroke-dasharray="2 3" d="M50 {{ planes.margin.y(1) }}H350"/>
{{ put("path", "cursor", "thin ink") }}
{{ put("path", "hinge-bars", "thin s0") }}{{ put("path", "error-bars", "thin s1") }}
{{ put("path", "hinge-line", "line s0") }}{{ put("path", "error-line", "line s1") }}
{{ put("path", "kinks", "thin s2") }}
<g stroke="currentColor" stroke-width="6" fill="none">
<g stroke-linecap="round">{{ put("path", "hinge-dots", "s0") }}{{ put("path", "margin-dots", "s2") }}</g>
<g stroke-linecap="square">{{ put("path", "error-dots", "s1") }}</g></g>
<g stroke="currentColor" stroke-width="2" fill="none">{{ put("path", "margin-line", "s2") }}
{{ put("path", "hinge-now", "s0") }}{{ put("path", "error-now", "s1") }}{{ put("path", "margin-now", "s2") }}</g>
<text x="350" y="216" text-anchor="end">hinge asks for 1, error for 0</text>
<text class="label" x="50" y="350">rows here</text><text x="215" y="350">a &gt; 0</text><text x="285" y="350">a &lt; 0</text>
<g stroke="currentColor" stroke-width="6"><path class="s2" stroke-linecap="round" d="M206 346h0"/>\
<path class="s3" stroke-linecap="square" d="M276 346h0"/></g>
<rect class="area ink" opacity="0.07" x="50" y="357" width="150" height="121"/>
<text x="54" y="470">silent</text>
{{ planes.inputs.svg() }}
<g stroke="currentColor" stroke-width="4.4" fill="none" opacity="0.75">
<g stroke-linecap="round">{{ put("path", "right-plus", "s2") }}{{ put("path", "wrong-plus", "s2") }}</g>
<g stroke-linecap="square">{{ put("path", "right-minus", "s3") }}{{ put("path", "wrong-minus", "s3") }}</g></g>
<g text-anchor="end" transform="translate(350 369)">{{ put("text", "right-text", "label") }}</g>
<g text-anchor="end" transform="translate(350 427)">{{ put("text", "wrong-text", "label") }}</g>
</svg>"""
)

EXPLORER = Explorer(
    name="li-coefficient-sum",
    title="Does the 0-1 error need S₁ ≥ 1?",
    tries=(
        f"Start {preset('at 1 with fixed norm', S=1, norm='fixed')} and move S₁ down to −0.5: the hinge rises, the error does "
        "not. "
        f"Then let S₁ {preset('rescale the patterns', S=0.3, norm='rescaled')}."
    ),
    note=(
        "Rows are neurons. zF is the output times the right label, v the vote that attention gathers. Prompts have 20 "
        "examples, α′ = 0.8. A: patterns of length 2, |<i>q</i>| = 1; B: length 4, |<i>q</i>| = ½."
    ),
    controls=(
        Slider("S", "coefficient sum S₁", SUMS, 0.0),
        Choice("norm", "patterns", {"fixed": "of fixed norm", "rescaled": "rescaled by S₁"}, "fixed"),
        Choice("setting", "setting", {"A": "A", "B": "B"}, "B"),
    ),
    planes={"losses": LOSSES, "margin": MARGIN, "inputs": INPUTS},
    skeleton=SKELETON,
    numbers={
        "vote": "vote v that the attention gathers",
        "margin": "margin zF at that vote",
        "hinge": "hinge, predicted, one network",
        "hinge-measured": "hinge, measured, mean over networks",
        "error": "0-1 error, predicted, one network",
        "error-measured": "0-1 error, measured, mean over networks",
    },
    parts=parts,
    stored=stored,
)
