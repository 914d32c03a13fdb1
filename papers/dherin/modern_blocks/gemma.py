"""dherin-gemma: a norm behind the feed-forward part; the published patch, the well-conditioned one, and none of the gain."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from icl_lib.companion import AtLeastTwo, Count, Declaration, Experiment, Positive, Several, expectation, near_misses, variable
from icl_lib.models.contextual.blocks import State
from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward, patched_block, patched_network
from icl_lib.patches.rank_one import rank_one
from icl_lib.patches.sites import Matrix, MatrixAndGain
from icl_lib.seeds import stream
from papers.dherin.architectures import LIKE, Architecture, Sizes, architecture, words
from papers.dherin.distance import relative
from papers.dherin.modern_parts import PostNormGatedMLP
from papers.dherin.network import Network
from papers.dherin.patch_rules import each_alone
from papers.dherin.theory import modern_blocks as theory

FORMS = ("published", "conditioned")
"""Gain entry by entry (theorem 1); matrix, and one factor on the gain."""
MADE = ("in place", "ahead")
"""Patches made by the computation that uses them; made in float64 from the same weights, then rounded."""
LONE = ("nearest", "turned", "added")
"""Changes of W_down alone: to the nearest reachable output, in the right direction, and as if there were no norm."""
DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Gemma(Declaration):
    """Random Gemma-style networks in several precisions, nothing of the context kept.

    depth           blocks of a network; tokens: of a text; seeds: networks, one text each
    precisions      number formats of weights and activations; x: where the tail of d/n is read
    narrow_tokens   tokens of a narrow network's text; narrower: narrow networks of each seed, as deep, for the same tail
    """

    sizes: Sizes
    depth: Count
    tokens: AtLeastTwo
    precisions: Several[Literal["float64", "float32", "bfloat16"]]
    x: Several[Positive]
    seeds: Count
    narrow: Sizes
    narrow_tokens: AtLeastTwo
    narrower: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Measure both forms in every precision, and what a change of W_down alone can reach."""
        readings = [self.read(seed, s, device) for s in range(self.seeds)]
        columns = {
            key: variable(f"seed {dims}".split(), np.array([reading[key] for reading in readings]), text)
            for key, (dims, text) in NAMES.items()
        }
        coords = {"form": FORMS, "made": MADE, "alone": LONE, "precision": self.precisions, "x": self.x}
        return xr.Dataset(columns, coords={name: list(values) for name, values in coords.items()})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the bound on changes of the gain and the tail of d/n beside it."""
        (network, *_), weights, texts = zip(*(self.drawn(seed, s) for s in range(self.seeds)), strict=True)
        together = {name: torch.stack([each[name] for each in weights]) for name in weights[0]}
        bound = theory.scale_bound(*(x.numpy() for x in torch.func.vmap(partial(terms, network))(together, torch.stack(texts))))
        published, conditioned = np.moveaxis(dataset.changes.values, 1, 0) / bound
        over = np.stack([published.min((1, 2)), conditioned.max((1, 2))], 1)
        text = "change over RMS(d/m)/RMS(n): least for the published form, largest for the conditioned one"
        found = dataset.assign(over=variable("seed form", over, text))
        return self.tail(self.tail(found, "", self.sizes.width), "narrow_", self.narrow.width)

    @expectation
    def tail(self, dataset: xr.Dataset, which: str, D: int) -> xr.Dataset:
        """Pool the tail over networks and blocks, each of which draws its W_down, and so n, independently of d."""
        share, first, square = (dataset[which + name] for name in ("beyond_of", "displacement", "displacement_squared"))
        unit = xr.DataArray([theory.tail_share(1.0, D, x) for x in self.x], dims="x")
        normal = (2 * np.pi) ** -0.5 / theory.sphere_density(D)
        blocks, number = first.dims, first.size
        error = (share - unit * first).std(blocks, ddof=1) / number**0.5
        near = {
            "one side of 0 alone": unit * first.mean(blocks) / 2,
            "√E|d|² for E|d|": unit * (square**0.5).mean(blocks),
            "the density of a normal entry": unit * normal * first.mean(blocks),
        }
        columns = {
            "beyond": share.mean(blocks).assign_attrs(long_name=NAMES["beyond_of"][1]),
            "beyond_se": error.assign_attrs(long_name="standard error", blocks=number),
            "beyond_theory": (unit * first.mean(blocks)).assign_attrs(long_name="the same from the density of n at 0"),
            "beyond_near": near_misses("x", near),
        }
        return dataset.assign({which + name: values for name, values in columns.items()})

    def drawn(self, seed: int, s: int) -> tuple[Network, Weights, Tensor]:
        """Draw one network and its text."""
        built = architecture("Gemma", self.depth, self.sizes)
        return built.network, built.weights(seed, s), words(seed, f"words/{s}", self.sizes, self.tokens)

    def read(self, seed: int, s: int, device: str) -> dict[str, np.ndarray]:
        """Return all readings of one network."""
        built = [architecture(name, self.depth, self.sizes) for name in ("Gemma", "Gemma, conditioned")]
        _, weights, inputs = self.drawn(seed, s)
        placed, words_there = {name: weight.to(device) for name, weight in weights.items()}, inputs.to(device)
        logits = [
            [[decode(one, placed, words_there, DTYPES[p], made) for made in MADE] for p in self.precisions] for one in built
        ]
        error = np.array([[[relative(*pair).cpu().numpy() for pair in row] for row in form] for form in logits])
        same = np.array([[[(f.argmax(-1) == e.argmax(-1)).cpu().numpy() for f, e in row] for row in form] for form in logits])
        exact = built[0].network(weights, inputs)
        floor = [relative(logits[0][k][0][1].cpu(), exact).median().item() for k in range(len(self.precisions))]
        found = {"error": error.max(-1), "median": np.median(error, -1), "agreement": same.mean(-1), "floor": np.array(floor)}
        found |= self.patches(built, weights, inputs) | self.alone(built[0], weights, inputs)
        return found | {f"narrow_{name}": values for name, values in self.in_narrow(seed, s).items()}

    def in_narrow(self, seed: int, s: int) -> dict[str, np.ndarray]:
        """Return the share of large entries, and the moments, in narrow networks."""
        network, found = architecture("Gemma", self.depth, self.narrow).network, []
        for k in range(self.narrower):
            weights = network.start(stream(seed, f"narrow/{s}/weights/{k}"), (), LIKE)
            text = words(seed, f"narrow/{s}/words/{k}", self.narrow, self.narrow_tokens)
            d, n, _ = terms(network, weights, text)
            found.append(self.of_tail(d, n))
        return {name: np.array([each[name] for each in found]) for name in found[0]}

    def of_tail(self, d: Float[Tensor, "L P D"], n: Float[Tensor, "L P D"]) -> dict[str, np.ndarray]:
        """Return the share of large entries of d/n, and the moments of d that predict it, by block."""
        return {
            "displacement": d.abs().mean((1, 2)).numpy(),
            "displacement_squared": d.square().mean((1, 2)).numpy(),
            "beyond_of": np.array([(abs(d / n) > x).double().mean((1, 2)).numpy() for x in self.x]).T,
        }

    def patches(self, built: list[Architecture], weights: Weights, inputs: Tensor) -> dict[str, np.ndarray]:
        """Return how much the two forms change, at every position that has a context."""
        d, n, m = terms(built[0].network, weights, inputs)
        new = [torch.stack([block["m_post"] for block in patch(one, weights, inputs)[0]]) for one in built]
        change = np.array([((gain[:, 1:] - m) / m).abs().amax(-1).numpy() for gain in new])
        found = {"changes": change.astype("f4"), "change": change.max((1, 2))}
        return found | self.of_tail(d, n)

    def alone(self, built: Architecture, weights: Weights, inputs: Tensor) -> dict[str, np.ndarray]:
        """Return what is missing from the output m * t that is asked for, W_down alone changed, the right stream coming in."""
        network = built.network
        streams = stream_of(network, weights, inputs)
        missed, least, outside = [], [], []
        for block, each in zip(network.blocks(weights), streams, strict=True):
            m, t = block["m_post"].numpy(), (each.n + each.d / block["m_post"]).numpy()
            s = np.stack([theory.nearest(m, row) for row in t])
            length = np.linalg.norm(m * t, axis=-1)
            least.append(np.linalg.norm(m * (s - t), axis=-1) / length)
            outside.append((t**2).mean(-1) > 1)
            sites = Toward("W_down", torch.from_numpy(s)), TurnedAlone("W_down", "m_post"), Matrix("W_down")
            made = [patched_block(network.block, site, block, each.bare, each.full) for site in sites]
            found = [network.block.feed(new, each.bare)[:, 0] for new in made]
            missed.append([(one - each.out).norm(dim=-1).numpy() / length for one in found])
        off, least, far = np.array(missed), np.array(least), np.array(outside)  # (block, form, position), (block, position)
        return {
            "miss": np.median(off, (0, 2)),
            "miss_least": np.array(np.median(least)),
            "outside": np.array(far.mean()),
            "gap": np.array([abs(off[:, k] - least)[far].max(initial=0) for k in range(len(LONE))]),
            "below": np.array((least[:, None] - off).max()),
        }


class Stream(NamedTuple):
    """One block with the right stream coming in, at the positions that have a context: (P, D) and states (P, 1, D).

    d = v_C - v, n the normalised output with the context, out the block's output.
    """

    bare: State
    full: State
    d: Float[Tensor, "P D"]
    n: Float[Tensor, "P D"]
    out: Float[Tensor, "P D"]


def stream_of(network: Network, weights: Weights, inputs: Tensor) -> list[Stream]:
    """Return every block's states with and without the context, at the positions that have one."""
    tokens = network.embed(weights, inputs)
    places, found = torch.arange(1, len(inputs), device=inputs.device), []
    for block in network.blocks(weights):
        full = network.block.mix(block, tokens)
        bare = network.block.mix(block, tokens[:, None])
        state, alone = each_alone(full, places), State(bare.z[1:], bare.v[1:])
        n = network.block.feed_forward.normalised(block, full.z)[1:]
        tokens = network.block.feed(block, full)
        found.append(Stream(alone, state, (state.v - alone.v)[:, 0], n, tokens[1:]))
    return found


def terms(network: Network, weights: Weights, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return d and n (block, position, D) and m (block, 1, D) of every block."""
    streams = stream_of(network, weights, inputs)
    m = torch.stack([block["m_post"] for block in network.blocks(weights)])[:, None]
    return torch.stack([each.d for each in streams]), torch.stack([each.n for each in streams]), m


def patch(built: Architecture, weights: Weights, inputs: Tensor) -> tuple[list[Weights], Tensor]:
    """Return the patched blocks at every position, and the tokens that leave them."""
    network = built.network
    tokens = network.embed(weights, inputs)
    states, _ = network.states(weights, tokens)
    targets = [each_alone(state, torch.arange(len(inputs), device=inputs.device)) for state in states]
    return patched_network(network, built.site, weights, targets, tokens[:, None])


def decode(built: Architecture, weights: Weights, inputs: Tensor, dtype: torch.dtype, made: str) -> tuple[Tensor, Tensor]:
    """Return the logits of the patched network and of the network with its context, weights and streams in ``dtype``."""
    network, rounded = built.network, cast(weights, dtype)
    expected = network(rounded, inputs)
    if made == "in place":
        left = patch(built, rounded, inputs)[1]
    else:
        patched, _ = patch(built, cast(rounded, torch.float64), inputs)
        left = forward(network, [cast(block, dtype) for block in patched], network.embed(rounded, inputs)[:, None])
    return network.read(rounded, left)[:, 0].double(), expected.double()


def cast(weights: Weights, dtype: torch.dtype) -> Weights:
    """Return weights in another precision."""
    return {name: weight.to(dtype) for name, weight in weights.items()}


@dataclass(frozen=True)
class Toward:
    """W_down alone: turn and stretch the output until its normalised form is s, as near as RMS(s) < 1 allows."""

    matrix: str
    s: Tensor

    def absorb(
        self, feed_forward: PostNormGatedMLP, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the matrix changed."""
        W, h = weights[self.matrix], feed_forward.hidden(weights, z[..., None, :])[..., 0, :]
        square = self.s.square().mean(-1, keepdim=True)
        length = (feed_forward.epsilon / (1 - square).clamp(min=1e-12)).sqrt()  # u = s length has u / sqrt(mean u^2 + e) = s
        u = torch.einsum("...dh,...h->...d", W, h)
        return {**weights, self.matrix: W + rank_one(self.s * length - u, h)}


@dataclass(frozen=True)
class TurnedAlone:
    """The well-conditioned form without its factor on the gain."""

    matrix: str
    gain: str

    def absorb(
        self, feed_forward: PostNormGatedMLP, weights: Weights, z: Float[Tensor, "... n"], difference: Float[Tensor, "... D"]
    ) -> Weights:
        """Return the weights with the matrix changed."""
        both = MatrixAndGain(self.matrix, self.gain).absorb(feed_forward, weights, z, difference)
        return {**weights, self.matrix: both[self.matrix]}


NAMES = {
    "error": ("form precision made", "largest relative error of the logits over positions"),
    "median": ("form precision made", "median relative error of the logits over positions"),
    "agreement": ("form precision made", "share of positions with the same most likely token"),
    "floor": ("precision", "median relative error of the logits with the context against those in float64"),
    "change": ("form", "largest relative change of a gain over blocks and positions"),
    "beyond_of": ("block x", "share of entries of d/n beyond x"),
    "changes": ("form block position", "largest relative change of a gain"),
    "displacement": ("block", "mean |v_C - v| over positions and entries"),
    "displacement_squared": ("block", "mean |v_C - v|^2 over positions and entries"),
    "narrow_beyond_of": ("narrower block x", "share of entries of d/n beyond x, narrow networks"),
    "narrow_displacement": ("narrower block", "mean |v_C - v| over positions and entries, narrow networks"),
    "narrow_displacement_squared": ("narrower block", "mean |v_C - v|^2 over positions and entries, narrow networks"),
    "miss": ("alone", "median over blocks and positions of the error over the output asked for, W_down alone"),
    "miss_least": ("", "the least that any change of W_down leaves, median"),
    "gap": ("alone", "largest difference between the error and the least one, where no change of W_down repairs the block"),
    "below": ("", "how far any output comes nearer than the least distance"),
    "outside": ("", "share of blocks and positions that no change of W_down can repair"),
}

_QUICK = Gemma(
    sizes=Sizes(width=48, heads=6, hidden=128, experts=4, active=2, vocabulary=97),
    depth=6,
    tokens=40,
    precisions=("float64", "float32", "bfloat16"),
    x=(10.0, 30.0),
    seeds=3,
    narrow=Sizes(width=4, heads=2, hidden=16, experts=1, active=1, vocabulary=97),
    narrow_tokens=240,
    narrower=12,
)
GEMMA = Experiment(
    slug="dherin-gemma",
    title="A norm behind the feed-forward part",
    section="sequel 2",
    quick=_QUICK,
    full=replace(_QUICK, x=(10.0, 30.0, 100.0, 300.0), seeds=40),
)
