"""What the page on trained decoders says of the published results."""

from tests.papers.prose import says

PAGE, BLOCK, EVERY = "lenses_4_what_is_left", "one block, N = 100", "one block, every length to 50"
DECODERS = {"decoder, N = 10": 10, "decoder, N = 20": 20}
ZHANG, THREE = "Zhang's step", "three best steps"


def trained(values):
    """What the decoders have after as many examples as in their training."""
    return [values.sel(network=name, k=k) for name, k in DECODERS.items()]


@says(PAGE, "Under most of it the networks are far from the best predictor", "lenses-any-prior")
def far_from_the_best_predictor(d):
    return bool((d.risk > 1.5 * d.bayes).mean() > 0.5)


@says(
    PAGE,
    "In the full profile 6% of the excess of the block trained at one length is no vector after 100 examples. After one "
    "example, which it has never met, it is half.",
    "lenses-what-is-left",
)
def block_trained_at_one_length(d):
    share = d.share.sel(network=BLOCK).mean("seed")
    return [share.sel(k=100), 100, bool(0.45 < share.sel(k=1) < 0.55)]


@says(
    PAGE,
    "The block trained at every length errs less after every number of examples, and after 50 examples 61% of what it errs is "
    "no vector: its vector has come nearer to the right one than its answers to a vector.",
    "lenses-what-is-left",
)
def block_trained_at_every_length(d):
    both, end = d.excess_mean.sel(k=slice(1, 50)), d.sel(network=EVERY, k=50)
    nearer = bool((end.missed < end.curved).all())
    return [50, end.share.mean("seed"), bool((both.sel(network=EVERY) < both.sel(network=BLOCK)).all()), nearer]


@says(PAGE, "A decoder's excess is largest after five examples, as many as dimensions.", "lenses-what-is-left")
def largest_excess_of_decoders(d):
    excess = d.excess.sel(network=[*DECODERS])
    return bool((excess.idxmax("k") == 5).all())


@says(
    PAGE,
    "What they miss there is a vector; what is no vector is 5% and 7% of the excess. Before and after this peak it is a larger "
    "share.",
    "lenses-what-is-left",
)
def no_vector_of_decoders(d):
    share = d.share.sel(network=[*DECODERS])
    peak = share.sel(k=5)
    return [*peak.mean("seed"), bool((share.drop_sel(k=5).min("k") > peak).all())]


@says(PAGE, "the squared distance is 0.001 of $E|w|^2$, and the task is at 0.027.", "lenses-which-vector")
def vector_of_the_block(d):
    return [*d.distance.sel(network=BLOCK, k=100, candidate=[ZHANG, "the task"]).mean("seed")]


@says(
    PAGE,
    r"The multiple of the gradient that fits the answers best is within 1% of $\frac{N}{N+d+1}=\frac{100}{103}$, in all three "
    "networks.",
    "lenses-which-vector",
)
def length_of_the_step(d):
    off = abs(d.length / d.length_theory - 1)
    return [0.01, bool((off < 0.01).all()), bool(off.size == 3), bool((abs(d.length_theory - 100 / 103) < 1e-9).all())]


@says(
    PAGE,
    "After ten examples that step is at 0.071, and the best step for ten examples at 0.018.",
    "lenses-which-vector",
)
def shorter_contexts(d):
    return [*d.distance.sel(network=BLOCK, k=10, candidate=[ZHANG, "one best step"]).mean("seed")]


@says(PAGE, "Part of a query's attention is on itself, the more the shorter the context", "lenses-selectivity-alignment")
def attention_on_itself(d):
    mass = d.mass.sel(network=BLOCK, layer=1)
    return bool((mass < 1).all() and (mass.diff("k") > 0).all())


@says(PAGE, "Linear attention divides by the length and keeps its step.", "lenses-which-vector")
def linear_attention_keeps_its_step(d):
    return bool((abs(d.distance.sel(network="linear attention", candidate=ZHANG, k=slice(1, 20))) < 1e-9).all())


@says(
    PAGE,
    "Each step more is nearer, and three are nearer than one by a factor of 3.7 and 7.8 after as many examples as in training.",
    "lenses-which-vector",
)
def steps_of_decoders(d):
    ends = [each.sel(candidate=["one best step", "two best steps", THREE]) for each in trained(d.distance)]
    means = [each.mean("seed") for each in ends]
    nearer = bool(all((each.diff("candidate") < 0).all() for each in ends))
    return [*(each[0] / each[2] for each in means), nearer]


@says(
    PAGE,
    "but a ridge is nearer in the mean over the networks: after five examples the ridge with penalty 0.1 is at 0.06 to 0.07, "
    "three steps at 0.10 to 0.11, and the posterior mean at more than 0.2.",
    "lenses-which-vector",
)
def ridges_of_decoders(d):
    means = d.distance.sel(network=[*DECODERS]).mean("seed")
    ridge, three, posterior = (means.sel(k=5, candidate=name) for name in ("ridge 0.1", THREE, "posterior mean"))
    nearer = all(each.sel(candidate="ridge 0.1") < each.sel(candidate=THREE) for each in trained(means))
    return [0.1, ridge.min(), ridge.max(), three.min(), three.max(), 0.2, bool(nearer), bool((posterior > 0.2).all())]


@says(
    PAGE,
    "attends nearly uniformly: after 100 examples its selectivity is 1.1 and the cosine of its vector with the step 0.9997.",
    "lenses-selectivity-alignment",
)
def attention_of_the_block(d):
    end = d.sel(network=BLOCK, k=100).mean("seed")
    return [100, end.selectivity.sel(layer=1), end.whole]


@says(
    PAGE,
    "The block trained at every length selects more the longer the context, 1.9 after 50 examples, and its vector leaves the "
    "step for the task: 1 less the cosine is 0.010 with the step and 0.002 with the task; between the step and the task it is "
    "0.010.",
    "lenses-selectivity-alignment",
)
def attention_of_the_block_of_every_length(d):
    means = d.sel(network=EVERY, layer=1, k=slice(1, 50)).mean("seed")
    end = means.sel(k=50)
    longer = bool((means.selectivity.diff("k") > 0).all())
    return [end.selectivity, 50, 1, 1 - end.whole, 1 - end.task, 1 - end.step_task, longer]


@says(
    PAGE,
    "Decoders go farther from the step. After 20 examples the cosine with the step is 0.92 and with the task 0.992; the step "
    "itself has 0.911. Their patch for one query stays below its ceiling, as theirs is another vector.",
    "lenses-selectivity-alignment",
)
def direction_of_decoders(d):
    end, below = d.sel(network="decoder, N = 20", k=20).mean("seed"), d.sel(network=[*DECODERS])
    farther = bool((max(each.max() for each in trained(d.whole)) < d.whole.sel(network=EVERY, k=50)).all())
    return [20, end.whole, end.task, end.step_task, farther, bool((below.one.max("k") < below.reach.max("k")).all())]


@says(
    PAGE,
    "In every decoder, after as many examples as in training, some layer before the last is more selective than the last, and "
    "which one it is differs from network to network.",
    "lenses-selectivity-alignment",
)
def layers_of_decoders(d):
    ends = trained(d.selectivity)
    earlier = bool(all((each.sel(layer=[1, 2]).max("layer") > each.sel(layer=3)).all() for each in ends))
    return [earlier, len({int(layer) for each in ends for layer in each.idxmax("layer")}) > 1]
