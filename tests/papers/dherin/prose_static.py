"""What the pages on static patches, skip connections and classes of language models say of the published results."""

from json import loads

from tests.papers.dherin.prose_sequels import geometric, near
from tests.papers.prose import says


@says("dherin_static_patches", "the 32 numbers that $W$ reads lie in a plane", "dherin-static-one-block")
def plane_of_queries(d):
    width = loads(d.attrs["declaration"])["training"]["model"]["width"]
    return width, bool((d["rank"].sel(span=2) == 2).all())


@says("dherin_static_patches", "With $d=2$ about a quarter is left.", "dherin-static-one-block")
def quarter_left_by_the_average(d):
    return 2, near(d.error.sel(part="median", fit="average", span=2, network="trained", K=200), 0.22, 0.28)


@says(
    "dherin_static_patches",
    "from 25 queries on averaging leaves two to four times as much",
    "dherin-static-one-block",
)
def average_on_a_line(d):
    error = d.error.sel(part="median", span=1, network="trained", K=slice(25, None))
    return 25, near(error.sel(fit="average") / error.sel(fit="least squares"), 2, 4)


@says(
    "dherin_static_patches",
    "The same networks *before* training leave tens of times as much (the line *before training*).",
    "dherin-static-one-block",
)
def before_training(d):
    error = d.error.sel(part="median", fit="least squares", span=2, K=slice(2, None))
    return near(error.sel(network="before training") / error.sel(network="trained"), 20, 90)


@says(
    "dherin_static_patches",
    "In one block it has, in a narrow sense: at 25 the error is within a quarter of where it ends, and below 10 it is not "
    "(D54c). But this concerns the little that is left: nearly all of the squared distance is gone once $K=r$ (D54).",
    "dherin-static-one-block",
)
def converged_in_one_block(d):
    cell = d.sel(part="median", fit="least squares", span=2, network="trained")
    over = 10**cell.excess
    early = bool((over.where(over.K < 10, drop=True) > 1.25).all())
    return 25, 10, bool(over.sel(K=25) < 1.25), early, bool(cell.error.sel(K=2) < 0.01)


@says(
    "dherin_static_patches",
    "in the full profile the error falls from $K=25$ to the largest $K$ by another factor of about a hundred",
    "dherin-static-deep",
)
def still_falling_in_several_blocks(d):
    factor = 10 ** d.excess.sel(part="median", K=25)
    return 25, near(factor, 90, 240)


@says("dherin_static_patches", "They are dozens, so 25 queries cannot have shown them all.", "dherin-static-deep")
def dozens_of_directions(d):
    return 25, near(d["rank"].sel(part="median").stack(each=("block", "network")).dropna("each"), 25, 72)


@says("dherin_static_patches", "A down projection of the deep networks reads some 50 directions.", "dherin-static-deep")
def fifty_directions(d):
    return 50, near(d["rank"].sel(part="median").mean("block"), 45, 55)


@says(
    "dherin_static_patches", "The error on the fitted queries is near 0 as long as $K$ is below that rank", "dherin-static-deep"
)
def fitted_queries(d):
    return 0, bool((d.calibration.sel(part="median", K=slice(None, 25)) < 1e-4).all())


@says("dherin_static_patches", "D56d allows a factor of 10 either way", "dherin-static-deep")
def cross_validated(d):
    return 10, bool((abs(d.estimate.sel(part="median", K=slice(2, None))) < 1).all())


@says(
    "dherin_static_patches",
    "Larger $K$ also means a larger patch, in the first block up to about $K=50$: from there on its down projection is changed "
    "by seven to nine times its own size.",
    "dherin-static-deep",
)
def size_of_static_patches(d):
    size = d["size"].sel(part="median", patch="down projection").stack(each=("block", "network")).dropna("each")
    grows = bool((size.isel(each=size.block > 1).diff("K") > 0).all() and (size.sel(block=1, K=slice(50)).diff("K") > 0).all())
    return 50, grows, near(size.sel(block=1, K=slice(50, None)), 7, 9)


@says("dherin_real_models", "The figure at the top has twelve classes with random weights.", "dherin-model-classes")
def twelve_classes(d):
    return d.sizes["model"] == 12


@says(
    "dherin_real_models",
    "the largest change is a smaller share of the weights that it changes, in every class but GPT-NeoX, where it is the same "
    "(full profile)",
    "dherin-model-classes",
)
def all_matrices_against_the_last(d):
    most = d["size"].sel(precision="float32").max("seed")
    share = most.sel(patch="all matrices") / most.sel(patch="last alone")
    return bool((share.drop_sel(model="GPT-NeoX") < 0.95).all()), near(share.sel(model="GPT-NeoX"), 0.999, 1.001)


@says(
    "dherin_real_models",
    "with the last block alone patched they are as exact, while the stream behind the other blocks is off, in the full "
    "profile, by 1.2 to 1.8 times its own length (stars in the figure).",
    "dherin-model-classes",
)
def last_block_alone(d):
    last = d.sel(precision="float32", patch="last block")
    stars = geometric(last.stream)
    return bool((last.error < 1e-6).all()), stars.min(), stars.max()


@says("dherin_real_models", "One that is made in float32 does not (D61).", "dherin-model-classes")
def made_in_another_precision(d):
    share = geometric(d.share, ("seed", "query"))
    return bool((share.sel(made="in float32") > 1).all()), bool((share.sel(made="in bfloat16") < 1).all())


@says(
    "dherin_real_models",
    "it leaves about as much as no patch or more, and most near $M=H$, where it is largest",
    "dherin-model-capacity",
)
def new_tokens(d):
    new, size = geometric(d.new), geometric(d["size"])
    return bool((new > 0.9).all()), *(bool((each.idxmax("tokens") == "H").all()) for each in (new, size))


@says("dherin_real_models", "exists for few tokens only, for fewer than the width of the stream", "dherin-model-capacity")
def gains_for_few_tokens(d):
    there = d.gain_error.sel(gain="equations").notnull().mean(("normed", "seed"))
    width = loads(d.attrs["declaration"])["behind"]["width"]
    return bool(there[0] == 1), bool(there[-1] < 0.5), bool(d.rows[-1] < width)


@says(
    "dherin_real_models",
    "a patch hundreds of thousands of times the weights leaves the token behind the first block off by 2 to 7% in the full "
    "profile, and the last block's makes the logits as exact as any (D66). A cut of the smallest directions leaves a patch no "
    "larger than for other tokens, and takes the exactness from the logits, too",
    "dherin-model-capacity",
)
def one_token_repeated(d):
    middle = d[["repeat_error", "repeat_size"]].median("seed")
    whole, cut = (middle.sel(text="one token repeated", fit=fit) for fit in ("all directions", "cut"))
    other = middle.sel(text="random tokens")
    exact = bool(whole.repeat_error < 2 * other.repeat_error.max()) and bool(cut.repeat_error > 0.01)
    off = d.repeat_stream.sel(text="one token repeated", fit="all directions")
    least = bool(cut.repeat_size <= other.repeat_size.min())
    return 100 * off.min(), off.max(), near(whole.repeat_size, 1.5e5, 9e5), exact, least


@says("dherin_real_models", "gradient distillation answers the same keys (D70)", "dherin-recall")
def distilled(d):
    mean = d.accuracy.mean(("network", "context")).sel(way=["last alone", "distilled"])
    return bool((mean.sel(group="asked") > 0.9).all()), bool((mean.sel(group="not asked") < 0.15).all())


@says("dherin_real_models", "Nor is it an effect of any patch, as the placebo shows (D69).", "dherin-recall")
def placebo(d):
    return bool((d.accuracy.mean(("network", "context")).sel(way="placebo") < 0.15).all())


@says(
    "dherin_real_models",
    "Pairs that stay in view are still read for the most part (D71): in the full profile the patch costs the networks of GPT-2 "
    "about a seventh of them and those of Llama hardly any, and nothing where the fit has queries for them too.",
    "dherin-recall",
)
def pairs_in_view(d):
    kept = d.kept.sel(seen="in view").mean(("network", "context"))
    lost = 1 - kept / kept.sel(view="no patch")
    others, every = lost.sel(view="asked of the others"), lost.sel(view="asked of all")
    gpt, llama = (others.sel(model=model) for model in ("GPT-2", "Llama"))
    return near(others, 0, 0.5), near(gpt, 1 / 7.5, 1 / 6.5), near(llama, 0, 0.05), near(every, -0.005, 0.005)


@says(
    "dherin_real_models",
    "The identity holds in the classes of transformers 5.23.0",
    "dherin-model-classes",
    "dherin-model-capacity",
)
def version_of_transformers(*both):
    versions = [loads(d.attrs["versions"])["transformers"] for d in both]
    return float(versions[0].removesuffix(".0")), versions == ["5.23.0"] * 2


@says("dherin_real_models", "Three networks of each of two classes look up facts", "dherin-recall")
def networks_that_look_up(d):
    return d.sizes["network"] == 3, d.sizes["model"] == 2


@says(
    "dherin_skip_connections",
    "Without the bias part more is lost than without the matrix part. In these blocks most of what the context does travels "
    "along the skip.",
    "dherin-skip-connections",
)
def parts_of_the_patch(d):
    bias, matrix, none = (d["median"].sel(share=1, way=way) for way in ("without the bias", "without the matrix", "no patch"))
    return bool((bias > matrix).all()), bool((matrix < none / 2).all())


@says(
    "dherin_skip_connections",
    "The misreadings leave errors from some percent to some tens of percent.",
    "dherin-skip-connections",
)
def misreadings(d):
    error = d["median"].sel(share=1, way=["one symbol, z", "one symbol, v", "attention alone"])
    wrong = error.where(error > 1e-13)
    return near(wrong.min(), 0.02, 0.1), near(wrong.max(), 0.2, 0.5)


@says(
    "dherin_skip_connections",
    "The patch of another query is no substitute; in blocks with attention it is mostly worse than none.",
    "dherin-skip-connections",
)
def another_query(d):
    share = d["median"].sel(share=1, way="another query") / d["median"].sel(share=1, way="no patch")
    return bool((share > 0.3).all()), bool((share.drop_sel(block=["tanh RNN", "GRU"]) > 1).mean() > 0.5)
