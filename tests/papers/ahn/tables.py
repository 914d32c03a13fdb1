"""Tables of this part, cell by cell."""

import numpy as np

from papers.ahn.depth import figures as depth
from tests.papers.tables import shows


@shows(depth.losses, "ahn-free-features")
def losses(d, title, layers, numbers):
    """Squared errors of a query, not divided by d; what layers that change labels only leave does not depend on the numbers."""
    cell = d.sel(layers=int(layers), which=numbers)
    return {
        "median of batches": np.quantile(cell.batch.values, 0.5),
        "mean over all prompts": cell.whole,
        "labels only, at best": d.labels.values[d.layers.values.tolist().index(int(layers))],
    }[title]
