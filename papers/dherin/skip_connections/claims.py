"""Claim D35 with its parts: blocks with skip connections."""

from icl_lib.companion.claim import Discrepancy, claims_of

USUAL = ["x inside, no norm", "x inside, LayerNorm", "x inside, RMSNorm"]


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


claim = claims_of("dherin-skip-connections", section="Appendix: skip connections")


@claim("V", "identity", check=_worst("both parts", usual=False), margin=1e-13, control=_as("without the bias"))
def D35(dataset):
    """T(C, x) = x + A + W'g(WA + b) + b' is reproduced without Y by W + ΔW(Y) and b' + Δb'(Y), Δb'(Y) = ΔA(Y).

    Margin: Relative error of the output, worst network, prompt and Y; rounding of float64, no epsilon in a patch.
    Control: the bias part missing
    """


@claim("D", "identity", check=_worst("both parts", usual=True), margin=1e-13, control=_as("attention alone"))
def D35c(dataset):
    """With x inside, T = v + W'g(Wz + b) + b', v = x + A, z = norm(v): ΔW = WΔz zᵀ/‖z‖², Δb' = Δv are exact.

    Margin: Relative error of the output, worst network, prompt and Y; rounding of float64, no epsilon in a patch.
    Control: the formula of v1 with A in place of z
    """


@claim(
    "D",
    "bound",
    check=_at_least(0.01, ["one symbol, z", "one symbol, v"], USUAL[1:]),
    margin=0,
    control=_as("one symbol, v", USUAL[:1]),
)
def D35d(dataset):
    """One symbol for both parts is wrong under a norm: read as z or as v, it leaves 1% error or more.

    Margin: 0.01 minus the median relative error at Y = C, both readings, LayerNorm and RMSNorm.
    Control: the same block without norms, where z = v
    """


@claim(
    "D",
    "bound",
    check=_at_least(0.005, ["attention alone"], USUAL),
    margin=0,
    control=lambda dataset: _as("attention alone", [str(dataset.block[0].values)])(dataset),
)
def D35e(dataset):
    """The formula of v1 does not fit the usual block, norms or not: A in place of z leaves 0.5% error or more.

    Margin: 0.005 minus the median relative error at Y = C.
    Control: the block of v1
    """
