"""Tables of this part, cell by cell."""

from papers.lenses.s2_own_weights import figures as own_weights
from papers.lenses.s4_what_is_left import figures as what_is_left
from tests.papers.tables import shows

LONGEST = {
    "one block, N = 100": 100,
    "one block, every length to 50": 50,
    "decoder, N = 10": 10,
    "decoder, N = 20": 20,
    "linear attention": 20,
}
"""As many examples as in training."""


@shows(own_weights.rows, "lenses-trained-blocks")
def rows(d, title, block, shape):
    """Of the tasks with a mean; what is left of the step is a share of its square, the other distances are lengths."""
    cell = d.sel(block=block, shape=shape, tasks="with a mean")
    return {
        "risk over the optimum's": cell.risk / cell.risk_optimum,
        "row off μ": cell.row_off,
        "left of the step's square": cell.unexplained,
        "left by the gradient at 0": cell.unexplained_zero,
        "matrix off Γ⁻¹": cell.G_off,
    }[title]


@shows(what_is_left.shares, "lenses-what-is-left")
def shares(d, network, examples):
    """The mean over the networks of a training of each one's share."""
    curved, missed = (d[name].sel(network=network, k=int(examples)).values for name in ("curved", "missed"))
    return sum(curved / (curved + missed)) / len(curved)


@shows(what_is_left.distances, "lenses-which-vector")
def distances(d, title, candidate):
    network, k = title.split(": k = ")
    cell = d.distance.sel(network=network, k=int(k), candidate=candidate)
    return cell.sum() / d.sizes["seed"] if int(k) == LONGEST[network] else "another length than that of the training"


@shows(what_is_left.attention, "lenses-selectivity-alignment")
def attention(d, title, network, layer):
    name = {"selectivity": "selectivity", "attention on examples": "mass"}[title]
    return d[name].sel(network=network, k=LONGEST[network], layer=int(layer)).sum() / d.sizes["seed"]
