"""Claim D35 with its parts: blocks with skip connections."""

from icl_lib.companion.claim import Claim, Discrepancy

USUAL = ["x inside, no norm", "x inside, LayerNorm", "x inside, RMSNorm"]
EXACT = "Relative error of the output, worst network, prompt and Y; rounding of float64, no epsilon in a patch."


def _worst(way: str, usual: bool):
    """The largest error of a way among the blocks with x inside the MLP, or among the others."""

    def check(dataset):
        blocks = dataset.block.isin(USUAL).values
        return Discrepancy(dataset.error.sel(way=way).isel(block=blocks if usual else ~blocks).max())

    return check


def _at_least(least: float, ways: list[str], blocks: list[str] | None = None):
    """How far the median error at Y = C stays below ``least``; blocks with x outside the MLP unless named."""

    def check(dataset):
        chosen = dataset.block.isin(blocks).values if blocks else ~dataset.block.isin(USUAL).values
        return Discrepancy(least - dataset["median"].sel(share=1.0, way=ways).isel(block=chosen))

    return check


def _as(way: str, blocks: list[str] | None = None):
    """Return a control in which every way is one way, and the named blocks stand in for all."""

    def control(dataset):
        for name in ("error", "median"):
            found = dataset[name].sel(way=way, drop=True)
            if blocks:
                found = found.sel(block=blocks).isel(block=0, drop=True)
            dataset[name] = found.broadcast_like(dataset[name]).transpose(*dataset[name].dims)
        return dataset

    return control


D35 = Claim(
    id="D35",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="T(C, x) = x + A + W'g(WA + b) + b' is reproduced without Y by W + ΔW(Y) and b' + Δb'(Y), Δb'(Y) = ΔA(Y).",
    confidence="V",
    kind="identity",
    experiment="dherin-skip-connections",
    margin=1e-13,
    reason=EXACT,
    check=_worst("both parts", usual=False),
    control=_as("without the bias"),
    control_sentence="the bias part missing",
)

D35b = Claim(
    id="D35b",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="Neither part of this patch can be left out: without the bias part, or the matrix part, 1% error or more is left.",
    confidence="D",
    kind="bound",
    experiment="dherin-skip-connections",
    margin=0,
    reason="0.01 minus the median relative error at Y = C, each block.",
    check=_at_least(0.01, ["without the bias", "without the matrix"]),
    control=_as("both parts"),
    control_sentence="both parts",
)

D35c = Claim(
    id="D35c",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="With x inside, T = v + W'g(Wz + b) + b', v = x + A, z = norm(v): ΔW = WΔz zᵀ/‖z‖², Δb' = Δv are exact.",
    confidence="D",
    kind="identity",
    experiment="dherin-skip-connections",
    margin=1e-13,
    reason=EXACT,
    check=_worst("both parts", usual=True),
    control=_as("attention alone"),
    control_sentence="the formula of v1 with A in place of z",
)

D35d = Claim(
    id="D35d",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="One symbol for both parts is wrong under a norm: read as z or as v, it leaves 1% error or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-skip-connections",
    margin=0,
    reason="0.01 minus the median relative error at Y = C, both readings, LayerNorm and RMSNorm.",
    check=_at_least(0.01, ["one symbol, z", "one symbol, v"], USUAL[1:]),
    control=_as("one symbol, v", USUAL[:1]),
    control_sentence="the same block without norms, where z = v",
)

D35e = Claim(
    id="D35e",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="The formula of v1 does not fit the usual block, norms or not: A in place of z leaves 0.5% error or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-skip-connections",
    margin=0,
    reason="0.005 minus the median relative error at Y = C.",
    check=_at_least(0.005, ["attention alone"], USUAL),
    control=lambda dataset: _as("attention alone", [str(dataset.block[0].values)])(dataset),
    control_sentence="the block of v1",
)

D35f = Claim(
    id="D35f",
    paper="dherin",
    section="Appendix: skip connections",
    sentence="The patch is no constant of the context: both parts taken from another query leave 5% error or more.",
    confidence="D",
    kind="bound",
    experiment="dherin-skip-connections",
    margin=0,
    reason="0.05 minus the median relative error at Y = C, every block.",
    check=lambda dataset: Discrepancy(0.05 - dataset["median"].sel(share=1.0, way="another query")),
    control=_as("both parts"),
    control_sentence="the query's own patch",
)
