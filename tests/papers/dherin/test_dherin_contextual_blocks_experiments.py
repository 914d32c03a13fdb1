"""Section 2 of Dherin et al.: experiments on tiny declarations against independent values, verdicts, planted faults."""

from dataclasses import replace

import pytest
import torch

from icl_lib.companion import FAILS, Claim
from icl_lib.models.contextual.blocks import Block, NoSkip
from icl_lib.models.contextual.feed_forward import MLP
from icl_lib.models.contextual.layers import SoftmaxAttention, without
from icl_lib.models.contextual.weights import start
from icl_lib.patches import network as patched_networks
from icl_lib.patches.rank_one import redirection
from icl_lib.seeds import stream
from papers.dherin.s2_contextual_blocks import claims as contextual_blocks
from papers.dherin.s2_contextual_blocks import claims_places as contextual_blocks_places
from papers.dherin.s2_contextual_blocks import claims_queries as contextual_blocks_queries
from papers.dherin.s2_contextual_blocks import (
    conditioning,
    gradient_step,
    identity,
    joint_patch,
    other_sites,
    placebo,
    query_dependence,
    random_blocks,
    rank_one,
)
from papers.dherin.theory import contextual_blocks as theory
from papers.dherin.trained import OneBlock, Trained, Training

LIKE = torch.zeros((), dtype=torch.float64)
TRAINING = Training(
    "", OneBlock("softmax attention", 2, 8, 2, 16), N=12, every_prefix=False, B=1, rate=1.0, steps=1, replicates=2
)
SMALL = dict(networks=4, d=2, N=12, width=8, heads=2, hidden=16)
WIDE = replace(TRAINING, N=100, model=OneBlock("softmax attention", 2, 32, 4, 64))
TINY = {
    identity.IDENTITY: dict(shares=(0.3,)) | SMALL,
    rank_one.RANK_ONE: dict(shares=(0.3,)) | SMALL,
    conditioning.CONDITIONING: dict(k=(0, 3, 6, 8)) | SMALL,
    other_sites.OTHER_SITES: dict(shares=(0.3,)) | SMALL,
    gradient_step.GRADIENT_STEP: dict(blocks=5, d=3, N=7),
    placebo.PLACEBO: dict(training=TRAINING, prompts=20),
    query_dependence.QUERY_DEPENDENCE: dict(training=WIDE, contexts=20, queries=12, lengths=(25, 400), drawn=24),
    joint_patch.JOINT_PATCH: dict(training=WIDE, K=(1, 2, 100), queries=120),
}
CLAIMS = [
    each
    for module in (contextual_blocks, contextual_blocks_places, contextual_blocks_queries)
    for each in vars(module).values()
    if isinstance(each, Claim)
]


def untrained(training: Training, seed: int, device: str) -> Trained:
    network = training.model.network()
    return Trained(network, network.start(stream(7, "untrained"), (training.replicates,), LIKE))


@pytest.fixture(scope="module")
def datasets() -> dict:
    with pytest.MonkeyPatch.context() as patch:
        for module in (placebo, query_dependence, joint_patch):
            patch.setattr(module, "trained", untrained)
        declarations = {each.slug: replace(each.quick, **changes) for each, changes in TINY.items()}
        return {slug: each.expect(each.run(0, "cpu"), 0) for slug, each in declarations.items()}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_verdicts_and_controls(claim, datasets):
    judgement = claim.judge(datasets[claim.experiment])
    expected = FAILS if claim.id == "D9b" else claim.recorded  # these networks have learnt nothing
    assert (judgement.verdict, judgement.control_verdict) == (expected, FAILS), (judgement.value, judgement.two_se)


def test_a_faulty_patch_is_noticed(monkeypatch):
    """An epsilon in the denominator turns D1, D2 and D3 red."""
    monkeypatch.setattr(patched_networks, "redirection", lambda W, a, full: (1 - 1e-9) * redirection(W, a, full))
    dataset = replace(identity.IDENTITY.quick, **TINY[identity.IDENTITY]).run(0, "cpu")
    for claim in (contextual_blocks.D1, contextual_blocks.D2, contextual_blocks.D3, contextual_blocks.D3b):
        assert claim.judge(dataset).verdict == FAILS


def test_whole_blocks_give_the_same_errors():
    """The experiment's short cut, layer and MLP apart, against whole blocks on whole prompts, one by one."""
    declaration = replace(identity.IDENTITY.quick, **TINY[identity.IDENTITY])
    dataset = declaration.run(0, "cpu")
    layer, mlp = SoftmaxAttention(2, 4, 3, 8), MLP(8, (16,), 3, "gelu")
    block = Block(NoSkip(layer), mlp)
    weights = start(layer.shapes, stream(0, "identity/softmax attention"), (4,), LIKE)
    weights |= start(mlp.shapes, stream(0, "identity/mlp/1"), (4,), LIKE)
    prompts = random_blocks.regression_tokens(0, "identity/prompts/softmax attention", (4,), 12, 2)
    order = random_blocks.orders(0, "identity/Y/softmax attention", (4,), 12)
    for s in range(4):
        one = {name: weight[s] for name, weight in weights.items()}
        expected, rest = block(one, prompts[s])[-1], without(prompts[s], order[s, :4].tolist())
        error = (block(one, rest)[-1] - expected).norm() / expected.norm()
        assert error.item() == pytest.approx(float(dataset.error_bare.isel(layer=0, network=s).sel(size=4)), rel=1e-5)
        change = (layer(one, prompts[s]) - layer(one, rest)).numpy()
        update = theory.update(one["W"].numpy(), change, layer(one, rest).numpy())
        patched = one | {"W": one["W"] + torch.from_numpy(update)}
        assert torch.allclose(block(patched, rest)[-1], expected, rtol=1e-12)


def test_left_out_tokens_and_sizes():
    tokens = torch.randn(3, 6, 2, generator=stream(0, "tokens"), dtype=torch.float64)
    Y = torch.tensor([[0, 3], [4, 1], [2, 0]])
    for prompt, places, found in zip(tokens, Y.tolist(), random_blocks.leave_out(tokens, Y), strict=True):
        assert torch.equal(found, without(prompt, places))
    assert torch.equal(random_blocks.leave_out(tokens, Y[:, :0]), tokens)
    assert random_blocks.subset_sizes((0.01, 0.5), 9) == [0, 1, 5, 9]
    assert random_blocks.orders(0, "Y", (2,), 5).sort(-1).values.tolist() == [list(range(5))] * 2


def test_head_averages_make_the_layers_output():
    layer = SoftmaxAttention(2, 4, 3, 8)
    weights = start(layer.shapes, stream(0, "sites"), (3,), LIKE)
    tokens = random_blocks.regression_tokens(0, "sites", (3,), 5, 2)
    averages = other_sites.head_averages(layer, weights, tokens)
    values = torch.stack(
        [weights["W_V"][:, rows] @ averages[:, h, :, None] for h, rows in enumerate((slice(4), slice(4, 8)))], 1
    )
    assert torch.allclose((weights["W_O"] @ values.flatten(1, 2))[..., 0], layer(weights, tokens))


def test_ranks_by_hand():
    """d = 2, width 8, two heads of four channels: tokens have three numbers, so each head fills three dimensions."""
    declaration = replace(joint_patch.JOINT_PATCH.quick, training=TRAINING)
    assert declaration.ranks() == [2, 2, 3, 6, 8]
    wide = replace(TRAINING, model=OneBlock("softmax attention", 9, 32, 1, 16))
    assert replace(declaration, training=wide).ranks() == [9, 9, 10, 10, 32]
    paper = replace(TRAINING, model=OneBlock("softmax attention", 2, 32, 8, 128))
    assert replace(declaration, training=paper).ranks() == [2, 2, 3, 24, 32]


def test_cosines_and_swapped_predictions_by_the_formulas(datasets):
    """One context by hand: theory's formula against the patched network."""
    network, weights = untrained(TRAINING, 0, "cpu").network, untrained(TRAINING, 0, "cpu").replicate(0)
    prompts, _ = replace(query_dependence.QUERY_DEPENDENCE.quick, training=TRAINING, contexts=2, queries=3)._prompts(0, "any")
    (block,) = network.blocks(weights)
    a, full = query_dependence.reads(network, block, prompts)
    W, mlp = block["W"], network.block.feed_forward
    swapped = query_dependence.predictions(network, block, redirection(W, a, full), a, full)[1]
    i, j = 2, 0
    before = theory.swapped(W.numpy(), (full - a)[1, i].numpy(), a[1, i].numpy(), a[1, j].numpy())
    hidden = torch.relu(torch.from_numpy(before) + block["b"])
    found = (block["W_out"] @ hidden + block["b_out"])[-1]
    expected = mlp(block, full[1, j][None])[0, -1]
    assert swapped[1, i, j] == pytest.approx(((found - expected).abs() / expected.abs()).item())
    near = datasets["dherin-query-dependence"].cosine_of_near
    assert near.min() > 0.95


def test_placebos_keep_what_they_should():
    prompts = random_blocks.LinearRegression(torch.eye(2, dtype=torch.float64)).sample(stream(0, "placebo"), (4,), 6)
    swapped = placebo.swap(prompts)
    assert torch.equal(swapped.x[1], prompts.x[0]) and torch.equal(swapped.x_query, prompts.x_query)


@pytest.mark.parametrize(
    ("experiment", "changes", "message"),
    [
        (identity.IDENTITY, dict(heads=3), "heads must divide the width"),
        (identity.IDENTITY, dict(shares=(1.5,)), "of at least 0 and of at most 1"),
        (identity.IDENTITY, dict(N=1), "at least 2"),
        (conditioning.CONDITIONING, dict(N=0), "N is 0"),
        (other_sites.OTHER_SITES, dict(N=1), "at least 2"),
        (rank_one.RANK_ONE, dict(other=0.0), "above 0"),
        (gradient_step.GRADIENT_STEP, dict(d=1), "at least 2"),
        (gradient_step.GRADIENT_STEP, dict(rate=0), "above 0"),
        (placebo.PLACEBO, dict(prompts=1), "at least 2"),
        (query_dependence.QUERY_DEPENDENCE, dict(queries=1), "at least 2"),
        (joint_patch.JOINT_PATCH, dict(K=(0, 3)), "at least 1"),
    ],
)
def test_bad_declarations_are_refused(experiment, changes, message):
    with pytest.raises(ValueError, match=message):
        replace(experiment.quick, **changes).run(0, "cpu")
    with pytest.raises(ValueError, match="unknown layer"):
        random_blocks.contextual_layer("convolution", 2, 8, 2)
