"""The answer of the page on the training engine."""

import numpy as np

from icl_lib.companion import minute_of


@minute_of("engine-roofline")
def minute(speed):
    """Says: One loop trains all networks of this book. It trains many models as one batch, waits for the device as rarely as
    it can, and goes on where it was when it is stopped.

    So: In part; these are times of one machine. Many one-layer models as one batch train {together} times as fast as one after
    the other; the aim was 5. For decoders of the size {size} and {models} of them the factor is {batch}; below 1 is slower.
    The plain loop's time over ours, for one model, is {plain}; at the size small the aim, 1.3, was missed.
    New: What limits a step is measured, not guessed. At the size {size} one model reaches {share} of the rate of a large matrix
    product. The number of operations is exact: a formula, counted again by PyTorch.
    """
    largest = speed.isel(size=-1)
    alone, batch = largest.seconds.values
    apart, together = speed.one_layer_seconds.values
    ratio = (speed.plain_seconds / speed.seconds.sel(models=1)).values
    low, high = (f"{each:.1f}" for each in (ratio.min(), ratio.max()))
    measured = low if low == high else f"{low}–{high}"
    return {
        "together": f"{apart / together:.1f}",
        "size": str(largest.size.values),
        "models": str(int(speed.models[-1])),
        "batch": f"{int(speed.models[-1]) * alone / batch:.2f}",
        "plain": measured if np.isfinite(ratio).all() else "not measured, as the package transformers is missing",
        "share": f"{100 * float(largest.operations[0] / alone / speed.peak):.0f}%",
    }
