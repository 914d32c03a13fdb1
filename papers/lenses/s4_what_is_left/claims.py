"""Claims S4: the parts of a trained network's excess, the vector that it answers with, and what its attention does."""

from icl_lib.companion import Discrepancy, at, claims_of, everywhere, exchanged, put, replaced

BLOCK, EVERY, LINEAR = "one block, N = 100", "one block, every length to 50", "linear attention"
DECODERS = {"decoder, N = 10": 10, "decoder, N = 20": 20}
"""The decoders, with the examples of their training."""
ZHANG, ONE, TWO, THREE = "Zhang's step", "one best step", "two best steps", "three best steps"
RIDGES = ["ridge 0.01", "ridge 0.1", "ridge 1"]


def _reversed(dataset):
    return dataset.assign_coords(layer=dataset.layer.values[::-1])


def _at_training_length(values):
    """What decoders are after as many examples as in their training, by network and seed."""
    names = [*DECODERS]
    return (
        values.sel(network=names)
        .sel(k=values.k.isin([*DECODERS.values()]))
        .pipe(lambda found: found.where(found.k == _lengths(found)).max("k"))
    )


def _lengths(values):
    return values.network.copy(data=[DECODERS[name] for name in values.network.values])


claim = claims_of("lenses-any-prior")


@claim(
    "D",
    "formula",
    of="risk",
    margin=0.07,
    quick_margin=0.6,
    near=("the task for its posterior mean", "answers for their linear part", "the scatter of queries left in"),
)
def S4(dataset):
    """Under any prior and noise a model's risk is the Bayes risk, what is not linear in the query, and its vector's distance.

    Margin: Relative; five standard errors over contexts. The distance is that from the posterior mean, in the metric of the
    queries' covariance.
    Moved: from 0.1, before there were as many contexts.
    """


@claim("D", "formula", of="bent", margin=0.05, quick_margin=0.15, near=("less what a fit to the same half would take",))
def S4r(dataset):
    """What is not linear needs no prior: a vector fitted to one half of the queries and read on the other tells it.

    Margin: Over the excess, one block; against the squared distance from the posterior mean less that of the vector. Read on
    the half of its fit it would be off by a tenth, as a rest that is independent of the query is.
    """


claim = claims_of("lenses-what-is-left")


@claim("D", "bound", margin=0.1, control=everywhere("share", k=1))
def S4b(dataset):
    """After as many examples as in training the excess of a block trained at one length is one wrong vector: under a tenth is
    no vector.

    Margin: Share that is no vector, $N = 100$, network with the most. A first run at another seed had 4% to 6%; a tenth is the
    line that we draw.
    Control: the same networks after one example
    """
    return Discrepancy(dataset.share.sel(network=BLOCK, k=100))


@claim("D", "bound", margin=0, control=exchanged("network", BLOCK, EVERY))
def S4c(dataset):
    """Trained at every length to 50, the same block has no vector for two fifths of its excess or more after 50 examples.

    Margin: 0.4 less that share, network with the least.
    Control: the block trained at one length, after 50 examples
    """
    return Discrepancy(0.4 - dataset.share.sel(network=EVERY, k=50))


@claim("D", "bound", margin=0, control=replaced("k", 5, 1))
def S4d(dataset):
    """After one example a quarter or more of a decoder's excess is no vector.

    Margin: 0.25 less that share, network with the least of six. A first run at another seed had 0.37 to 0.64.
    Slack: The excess after one example is small, and the share differs from network to network.
    Control: after as many examples as dimensions
    """
    return Discrepancy(0.25 - dataset.share.sel(network=[*DECODERS], k=1))


@claim("D", "order", margin=1, control=replaced("k", 3, 5))
def S4e(dataset):
    """A decoder's excess is largest after as many examples as dimensions, where the posterior mean first is the task.

    Margin: Largest excess after another number of examples, over that after five, network with the most.
    Control: after three examples
    """
    found = dataset.excess.sel(network=[*DECODERS])
    return Discrepancy(found.where(found.k != 5).max("k") / found.sel(k=5))


claim = claims_of("lenses-which-vector")


@claim("D", "identity", margin=1e-9, control=at(candidate=slice(1, 2)))
def S4f(dataset):
    """The vector of linear attention at the limit of its training is Zhang et al.'s step, after every number of
    examples up to that of training.

    Margin: Squared distance over $E|w|²$, float64.
    Control: the best step for that number of examples
    """
    return Discrepancy(abs(dataset.distance.sel(network=LINEAR, k=_to(20, dataset)).isel(candidate=0)))


@claim("D", "bound", margin=0.1, control=exchanged("candidate", ZHANG, TWO))
def S4g(dataset):
    """A one-block network trained at one length answers with Zhang et al.'s step: the squared distance of its vector from the
    task is ten times that from the step, or more.

    Margin: Squared distance from the step over that from the task, $N = 100$, network with the most.
    Moved: from 0.2; a step of another length by 6% passed that, and S4q now judges the length.
    Slack: A first run at another seed had 0.04 to 0.07.
    Control: two best steps
    """
    found = dataset.distance.sel(network=BLOCK, k=100)
    return Discrepancy(found.sel(candidate=ZHANG) / found.sel(candidate="the task"))


@claim("D", "approximation", margin=0.01, quick_margin=0.02, control=put(length_theory="length_whole"))
def S4q(dataset):
    """It is as long as Zhang et al.'s step, $N/(N + d + 1)$ of the gradient, up to 1%: a step that shrinks nothing is longer.

    Margin: Relative, of the multiple of the gradient that fits the answers best, $N = 100$, network with the most; a first
    trial on fewer contexts had 0.000 to 0.008. Twice as wide in quick, which has few of them.
    Moved: from 0.02 after the full run, since $N/(N + d)$ is off by 1.5% and the networks by 0.5%.
    Neglects: what training leaves, and what softmax adds to linear attention
    Control: a step of size 1
    """
    block = dataset[["length", "length_se", "length_theory"]].sel(block=BLOCK)
    return Discrepancy(abs(block.length / block.length_theory - 1), 2 * block.length_se / block.length_theory)


@claim("D", "bound", margin=0, control=exchanged("network", BLOCK, LINEAR))
def S4h(dataset):
    """On shorter contexts its vector is nearer to the best step for their length than to the step of its training length.

    Margin: Squared distance from the first less three fifths of that from the second, 5, 10 and 20 examples, network with the
    most.
    Control: linear attention, whose step is always that of its training length
    """
    found = dataset.distance.sel(network=BLOCK, k=[5, 10, 20])
    return Discrepancy(found.sel(candidate=ONE) - 0.6 * found.sel(candidate=ZHANG))


@claim("D", "order", margin=0, control=replaced("network", LINEAR, *DECODERS))
def S4i(dataset):
    """Zhang et al.'s step, the best single one there, is of all candidates the farthest from a decoder's vector, after as many
    examples as in training.

    Margin: Largest squared distance from another candidate less that from the step, network with the most of six.
    Slack: The step's distance is about twice that of the next candidate and more.
    Control: linear attention
    """
    found = _at_training_length(dataset.distance)
    others = found.sel(candidate=[name for name in found.candidate.values if name not in (ZHANG, ONE)])
    return Discrepancy(others.max("candidate", skipna=False) - found.sel(candidate=ZHANG))


@claim("D", "order", margin=1, control=replaced("network", BLOCK, *DECODERS))
def S4j(dataset):
    """There three best steps are nearer to it than two, and two nearer than one.

    Margin: Squared distance after a step more over that before, network with the most of six.
    Control: a one-block network
    """
    found = _at_training_length(dataset.distance.sel(candidate=[ONE, TWO, THREE]))
    return Discrepancy(found.isel(candidate=[1, 2]).values / found.isel(candidate=[0, 1]).values)


@claim("D", "bound", margin=0.6, control=replaced("k", 2, 5))
def S4k(dataset):
    """After as many examples as dimensions a decoder's vector is shrunk: a ridge is nearer than the posterior mean.

    Margin: Squared distance from the nearest of three ridges over that from the posterior mean, network with the most of six. A
    first run at another seed had 0.15 to 0.33.
    Slack: By how much a decoder shrinks differs from network to network.
    Control: after two examples
    """
    found = dataset.distance.sel(network=[*DECODERS], k=5)
    return Discrepancy(found.sel(candidate=RIDGES).min("candidate") / found.sel(candidate="posterior mean"))


claim = claims_of("lenses-selectivity-alignment")


@claim("D", "formula", of="ceiling", margin=0.03, quick_margin=0.15, near=("d + 1 for d",))
def S4l(dataset):
    """The most that a patch for one query aligns with an exact gradient step is $E|cos(h, x)|$, 0.64 for $d = 2$, 0.38 for 5.

    Margin: Relative, every network, lengths to 10; five standard errors over contexts.
    Moved: from 0.02, which five standard errors of the full run just reach.
    """


@claim("D", "bound", margin=0.002, control=put(whole="step_task"))
def S4m(dataset):
    """A one-block network trained at one length has the direction of the exact gradient step: the cosine is above 0.998.

    Margin: 1 less the mean cosine, $N = 100$, network with the most.
    Moved: from 0.01, which the direction of the task passes: it has 0.005.
    Slack: A first run at another seed had 0.0002 to 0.0003.
    Control: the direction of the task
    """
    return Discrepancy(1 - dataset.whole.sel(network=BLOCK, k=100))


@claim("D", "bound", margin=0.6, control=replaced("network", BLOCK, *DECODERS))
def S4n(dataset):
    """A decoder's vector is nearer to the task's direction than the exact gradient step, after as many examples as in training.

    Margin: 1 less its cosine with the task over 1 less the step's, network with the most of six.
    Control: a one-block network
    """
    return Discrepancy(_at_training_length(dataset.off))


@claim("D", "bound", margin=0, control=exchanged("network", BLOCK, EVERY))
def S4o(dataset):
    """In one block trained at one length attention is nearly uniform: an example attended to has at most 1.2 times its share.

    Margin: Selectivity less 1.2 after 50 examples, network with the most.
    Control: the block trained at every length
    """
    return Discrepancy(dataset.selectivity.sel(network=BLOCK, k=50, layer=1) - 1.2)


@claim("D", "order", margin=1, control=_reversed)
def S4p(dataset):
    """A decoder selects before its last layer: some earlier layer is more selective than the last.

    Margin: Selectivity of the last layer over that of the most selective before it, after as many examples as in training,
    network with the most of six.
    Control: the layers in reverse order
    """
    found = _at_training_length(dataset.selectivity)
    return Discrepancy(found.sel(layer=3) / found.sel(layer=[1, 2]).max("layer"))


def _to(length, dataset):
    return [k for k in dataset.k.values if k <= length]
