"""The log-partition function of a context along a ray of keys: its slope, its parabola at 0, and what it is far out."""

from functools import cache
from statistics import NormalDist

import numpy as np

from book.explorers.controls import Choice, Slider, State
from book.explorers.explorer import Explorer, Parts, Values, preset, swatch
from book.explorers.plane import Axis, Plane, number, path
from icl_lib.companion.html import template
from papers.lenses.theory import one_function

HEIGHT = Plane(Axis(0, 5, 40, 345), Axis(0, 10, 200, 30, (0, 2, 4, 6, 8, 10), "Φ, along the ray"))
SLOPE = Plane(
    Axis(0, 5, 40, 345, (0, 1, 2, 3, 4, 5), "t, standard deviation of the logits"),
    Axis(-3.5, 3.5, 400, 250, (-3, -2, -1, 0, 1, 2, 3), "tokens, and the slope of Φ"),
)
GRID = np.linspace(0, 5, 61)
ANGLE = np.pi / 6
"""Between the ray and the first axis of the patterns."""
OTHER = {"gaussian": "patterns", "patterns": "gaussian"}


@cache
def stored() -> dict:
    """Return the places of the tokens along the ray, all of mean 0 and variance 1, by their kind and number."""
    axes = 2**0.5 * np.array([np.cos(ANGLE), np.sin(ANGLE)])
    found = {}
    for N in (8, 64, 512):
        even = np.array([NormalDist().inv_cdf((i + 0.5) / N) for i in range(N)])
        found[str(N)] = (even / even.std()).round(5).tolist()
    return {"gaussian": found, "patterns": dict.fromkeys(found, np.r_[-axes, axes[::-1]].round(7).tolist())}


def tokens(state: State) -> np.ndarray:
    """Return the places of the tokens as a column; those of patterns are four, each of a quarter of the tokens."""
    return np.array(stored()[state["tokens"]][state["N"]])[:, None]


def values(state: State) -> Values:
    """Return height, slope and curvature at t, those of parabola and asymptote, and the attention on the largest token."""
    z, k = tokens(state), np.array([state["t"]])
    return {
        "phi": float(one_function.log_partition(k, z)),
        "slope": one_function.slope(k, z).item(),
        "curvature": one_function.curvature(k, z).item(),
        "step": state["t"] * one_function.curvature(np.zeros(1), z).item(),
        "most": float(one_function.attention(k, z).max()),
        "largest": float(z.max()),
        "asymptote": state["t"] * float(z.max()) - np.log(len(z)),
    }


def parts(state: State) -> Parts:
    """Return both planes: height with parabola, asymptote and tangent; tokens with their attention, and the slope."""
    found, t = values(state), state["t"]
    lines = [values({**state, "t": float(at)}) for at in GRID]
    others = [values({**state, "t": float(at), "tokens": OTHER[state["tokens"]]}) for at in GRID]
    weights = one_function.attention(np.array([t]), tokens(state))
    tangent = [(t + side, found["phi"] + side * found["slope"]) for side in (-0.6, 0.6)]
    return {
        "phi": curve(HEIGHT, [line["phi"] for line in lines]),
        "parabola": curve(HEIGHT, [at * line["step"] / 2 for at, line in zip(GRID, lines, strict=True)]),
        "asymptote": curve(HEIGHT, [line["asymptote"] for line in lines]),
        "beside": curve(HEIGHT, [line["phi"] for line in others]),
        "tangent": {"d": path(HEIGHT(*each) for each in tangent)},
        "now": {"d": dotted(*HEIGHT(t, found["phi"]), 4)},
        "slope": curve(SLOPE, [line["slope"] for line in lines]),
        "slope-beside": curve(SLOPE, [line["slope"] for line in others]),
        "step": curve(SLOPE, [line["step"] for line in lines]),
        "largest": curve(SLOPE, [line["largest"] for line in lines]),
        "tokens": {"d": column(t, tokens(state)[:, 0], weights)},
        "output": {"d": dotted(*SLOPE(t, found["slope"]), 4)},
        "reading": {"text": reading(t, found)},
        "n-beside": {"text": number(values({**state, "tokens": OTHER[state["tokens"]]})["slope"])},
    } | {f"n-{name}": {"text": number(found[name])} for name in ("slope", "step", "largest", "most")}


def curve(plane: Plane, heights: list[float]) -> dict[str, str]:
    """Return a curve over the grid."""
    return {"d": path(plane(at, each) for at, each in zip(GRID, heights, strict=True))}


def dotted(x: float, y: float, r: float) -> str:
    """Return a dot as a piece of a path."""
    return f"M{x - r:.1f} {y:.1f}a{r:.1f} {r:.1f} 0 1 0 {2 * r:.1f} 0a{r:.1f} {r:.1f} 0 1 0 {-2 * r:.1f} 0"


def column(t: float, places: np.ndarray, weights: np.ndarray) -> str:
    """Return a dot for each token at t, of an area like its attention."""
    return "".join(dotted(*SLOPE(t, at), max(0.7, 12 * weight**0.5)) for at, weight in zip(places, weights, strict=True))


def reading(t: float, found: Values) -> str:
    """Return what the picture says."""
    step, largest = abs(found["slope"] - found["step"]), abs(found["slope"] - found["largest"])
    nearer = "the step" if step < largest else "the look-up"
    return (
        f"At t = {number(t)} attention returns {number(found['slope'])}. The step says {number(found['step'])}, the look-up "
        f"{number(found['largest'])}: {nearer} is nearer."
    )


EXPLORER = Explorer(
    name="lenses-log-partition",
    title="One function, read in three places",
    tries=(
        f"Move <i>t</i>: with Gaussian tokens attention goes along with the step. {preset('More tokens', N=512)} keep it there "
        f"for longer. {preset('Patterns', tokens='patterns')} of the same variance leave it early, however many they are."
    ),
    note=(
        "Keys stand at <i>t</i> along a ray, and a token is where it lies on the ray; all have mean 0 and variance 1, so that "
        "both kinds have the same parabola. Gaussian tokens stand at even quantiles. Patterns are √2(±<i>e</i><sub>1</sub>) "
        "and √2(±<i>e</i><sub>2</sub>), equally many, at 30° and 60° to the ray. A disc's area is the attention on its tokens."
    ),
    controls=(
        Choice("tokens", "tokens", {"gaussian": "Gaussian", "patterns": "patterns"}, "gaussian"),
        Choice("N", "<i>N</i>, their number", {"8": "8", "64": "64", "512": "512"}, "64"),
        Slider("t", "<i>t</i>, scale of the logits", tuple(round(k / 10, 1) for k in range(51)), 2.0),
    ),
    planes={"height": HEIGHT, "slope": SLOPE},
    skeleton=template(
        """
<svg viewBox="0 0 360 436" role="img" aria-labelledby="lenses-log-partition-picture" \
aria-describedby="lenses-log-partition-reading">
<title id="lenses-log-partition-picture">The log-partition function along a ray, and its slope among the tokens</title>
<clipPath id="lenses-log-partition-high"><rect x="40" y="30" width="306" height="171"/></clipPath>
<clipPath id="lenses-log-partition-low"><rect x="40" y="250" width="306" height="150"/></clipPath>
{{ planes["height"].svg() }}
{{ planes["slope"].svg() }}
<g clip-path="url(#lenses-log-partition-high)">
{{ put("path", "beside", "thin dashed quiet") }}
{{ put("path", "asymptote", "line s2") }}
{{ put("path", "parabola", "line s1") }}
{{ put("path", "phi", "line s0") }}
{{ put("path", "tangent", "thin ink") }}
{{ put("path", "now", "dot s0") }}
</g>
<g clip-path="url(#lenses-log-partition-low)">
{{ put("path", "slope-beside", "thin dashed quiet") }}
{{ put("path", "largest", "line s2") }}
{{ put("path", "step", "line s1") }}
{{ put("path", "slope", "line s0") }}
</g>
{{ put("path", "tokens", "area pale ink") }}
{{ put("path", "output", "dot s0") }}
</svg>"""
    ),
    numbers={
        "n-slope": f"{swatch('line s0')}attention, the slope",
        "n-step": f"{swatch('line s1')}the step, by the parabola",
        "n-largest": f"{swatch('line s2')}the look-up, far out",
        "n-beside": f"{swatch('thin dashed quiet')}the other tokens",
        "n-most": "attention on the largest",
    },
    parts=parts,
    stored=stored,
)
