"""Static patches: theory by second routes and by hand, the library's patches, tiny experiments, planted faults."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray as xr

from icl_lib.companion import FAILS, HOLDS
from icl_lib.models.contextual.blocks import Block, NoSkip, PreNorm, State
from icl_lib.models.contextual.feed_forward import MLP, GatedMLP
from icl_lib.models.contextual.layers import SoftmaxAttention
from icl_lib.models.contextual.norms import RMSNorm
from icl_lib.patches.network import forward, patched_block
from icl_lib.patches.sites import Matrix, Nowhere
from icl_lib.seeds import stream
from papers.dherin.fits import LeastSquares, Ridge, require_pairs
from papers.dherin.network import Network, Regression
from papers.dherin.static_patches import claims, figures, static_deep, static_one_block
from papers.dherin.static_patches.static_deep import STATIC_DEEP, query_states
from papers.dherin.static_patches.static_medians import median_interval, parts
from papers.dherin.static_patches.static_one_block import STATIC_ONE_BLOCK
from papers.dherin.static_rules import Average, StaticPatch, affine
from papers.dherin.theory import static
from papers.dherin.trained import ManyBlocks, OneBlock, Trained, Training, regression, tokens
from tests.papers.drawn import drawn

LIKE = torch.zeros((), dtype=torch.float64)


def rows(K: int, n: int, m: int, name: str = "rows") -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(name))
    return rng.standard_normal((K, n)), rng.standard_normal((K, m))


@pytest.mark.parametrize("K", [1, 2, 4, 9])
def test_least_squares_by_its_normal_equations_and_against_the_library(K):
    H, T = rows(K, 4, 3)
    D = static.least_squares(H, T)
    assert np.allclose((T - H @ D.T).T @ H, 0, atol=1e-12)  # residual at a right angle to what is read
    assert np.allclose(D @ np.linalg.pinv(H) @ H, D)  # and nothing outside its span: least norm
    assert np.linalg.norm(T - H @ D.T) == pytest.approx(static.contradiction(H, T), abs=1e-12)
    found = LeastSquares()(torch.from_numpy(H), torch.from_numpy(T))
    assert np.allclose(found.numpy(), D)


def test_one_query_is_the_token_patch():
    H, T = rows(1, 4, 3)
    expected = np.outer(T[0], H[0]) / (H[0] @ H[0])
    assert np.allclose(static.least_squares(H, T), expected) and np.allclose(static.thought_matrix(H, T), expected)


def test_ridge_by_gradient_and_by_augmented_rows():
    H, T = rows(6, 4, 3)
    strength = static.ridge_strength(H, 0.1)
    D = static.ridge(H, T, strength)
    augmented = np.vstack([H, np.sqrt(strength) * np.eye(4)])
    assert np.allclose(D, static.least_squares(augmented, np.vstack([T, np.zeros((4, 3))])))
    assert np.allclose(Ridge(0.1)(torch.from_numpy(H), torch.from_numpy(T)).numpy(), D)
    assert np.allclose(static.ridge(H, T, 1e-12), static.least_squares(H, T), atol=1e-8)
    singular = np.linalg.svd(H, compute_uv=False)
    assert strength == pytest.approx(0.1 * (singular**4).sum() / (singular**2).sum())


def test_ridge_with_fewer_queries_than_directions_does_not_square_the_condition():
    """lambda_0 = 1e-14 leaves least squares of least norm; (H^T H + lambda I)^-1 in float64 would not."""
    H, T = (torch.from_numpy(part) for part in rows(3, 8, 2))
    assert torch.allclose(Ridge(1e-14)(H, T), LeastSquares()(H, T), atol=1e-8)


def test_by_hand():
    H, T = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, 0.0], [2.0, 3.0]])
    assert np.allclose(static.least_squares(H, T), np.diag([2, 3]))
    assert np.allclose(static.thought_matrix(H, T), [[1.5, 0.5], [0.75, 0.75]])
    third = np.vstack([H, H.sum(0)]), np.vstack([T, T.sum(0) + [0.0, 3.0]])
    assert static.contradiction(*third) == pytest.approx(3 / 3**0.5)
    assert static.unseen_error(H[:1], np.diag([2.0, 3.0]), np.eye(2)) == pytest.approx(9)
    assert static.ridge_strength(np.array([[2.0, 0.0]]), 1.0) == 4
    assert np.allclose(static.ridge(np.array([[2.0, 0.0]]), np.array([[4.0]]), 4.0), [[1, 0]])
    assert static.kept_share(np.eye(2) / 2).tolist() == [0.5, 0.5]


def test_average_keeps_the_shares():
    rng = np.random.default_rng(0)
    H = rng.standard_normal((200_000, 3)) * [1.0, 2.0, 0.5]
    D, unit = rng.standard_normal((2, 3)), H / np.linalg.norm(H, axis=-1, keepdims=True)
    moment = unit.T @ unit / len(unit)
    assert np.allclose(static.thought_matrix(H, H @ D.T), D @ moment, atol=1e-10)
    assert static.kept_share(moment).sum() == pytest.approx(1) and static.kept_share(moment)[0] < 0.2
    found = Average(3.0)(torch.from_numpy(H[:50]), torch.from_numpy(H[:50] @ D.T))
    assert np.allclose(found.numpy(), 3 * static.thought_matrix(H[:50], H[:50] @ D.T))


def test_unseen_error_by_draws():
    rng = np.random.default_rng(1)
    H, D = rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
    new = rng.standard_normal((300_000, 4)) * [1.0, 0.5, 2.0, 1.0]
    gap = new @ (D - static.least_squares(H, H @ D.T)).T
    expected = static.unseen_error(H, D, np.diag([1.0, 0.25, 4.0, 1.0]))
    assert (gap**2).sum(-1).mean() == pytest.approx(expected, rel=0.01)
    assert static.unseen_error(rng.standard_normal((4, 4)), D, np.eye(4)) == pytest.approx(0, abs=1e-20)


def test_affine_as_least_squares_with_a_column_of_ones():
    H, T = rows(9, 3, 2)
    D, c = static.affine(H, T)
    both = np.linalg.lstsq(np.c_[H, np.ones(9)], T, rcond=None)[0].T
    assert np.allclose(np.c_[D, c], both)
    found = affine(torch.from_numpy(H), torch.from_numpy(T))
    assert np.allclose(found[0].numpy(), D) and np.allclose(found[1].numpy(), c)


def test_a_static_patch_of_one_query_is_a_token_patch():
    """In a block without skips, and through depth with the down projection: exact for the one query it was fitted to."""
    block = Block(NoSkip(SoftmaxAttention(2, 3, 4, 6)), MLP(6, (8,), 4, "gelu"))
    weights = block.start(stream(0, "one"), (), LIKE)
    prompts = torch.randn(5, 7, 4, generator=stream(0, "prompts"), dtype=torch.float64)
    full, bare = block.mix(weights, prompts).at(-1), block.mix(weights, prompts[:, -1:])
    apart = patched_block(block, Nowhere(), weights, bare, full)["W"]
    fitted = StaticPatch(LeastSquares(), ("W",), "").block(
        block, weights, State(bare.z[:, None], bare.v[:, None]), State(full.z[:, None], full.v[:, None])
    )["W"]
    assert torch.allclose(fitted[:, 0], apart, rtol=1e-10)


@pytest.fixture(scope="module")
def deep() -> tuple[Network, dict[str, torch.Tensor], torch.Tensor, list[State], torch.Tensor]:
    norm = RMSNorm(1e-6)
    network = Network(Block(PreNorm(SoftmaxAttention(2, 4, 8, 8), norm), GatedMLP(8, 20, "silu")), 3, Regression(3, 8, norm))
    weights = network.start(stream(0, "deep"), (), LIKE)
    prompts = regression(2).sample(stream(0, "contexts"), (2,), 6)
    queries = torch.randn(2, 9, 1, 3, generator=stream(0, "queries"), dtype=torch.float64)
    states, out = query_states(
        network, weights, network.embed(weights, tokens(prompts)[:, :-1]), network.embed(weights, queries)
    )
    context = tokens(prompts)[:, None, :-1].expand(-1, 9, -1, -1)
    whole, last = network.states(weights, network.embed(weights, torch.cat([context, queries], -2)))
    for state, other in zip(states, whole, strict=True):
        assert torch.allclose(state.z, other.at(-1).z) and torch.allclose(state.v, other.at(-1).v)
    assert torch.allclose(out, last[..., -1:, :])
    return network, weights, network.embed(weights, queries), states, out


@pytest.mark.parametrize("read", [(), ("W_gate", "W_up")], ids=["down", "all"])
def test_few_queries_are_met_exactly_through_depth(deep, read):
    """With K = 8 queries of 8 and 20 directions least squares meets them all; the ninth is off."""
    network, weights, alone, states, out = deep
    some = [State(z[:, :8], v[:, :8]) for z, v in states]
    patched = StaticPatch(LeastSquares(), read, "W_down").network(network, weights, some, alone[:, :8])
    found = forward(network, patched, alone)
    assert torch.allclose(found[:, :8], out[:, :8], rtol=1e-6, atol=1e-8)
    assert ((found - out)[:, 8].norm(dim=-1) / out[:, 8].norm(dim=-1)).min() > 1e-3
    one = [State(z[:, 0], v[:, 0]) for z, v in states]
    single = StaticPatch(LeastSquares(), read, "W_down").block(
        network.block,
        network.blocks(weights)[0],
        network.block.mix(network.blocks(weights)[0], alone[:, :1]),
        State(one[0].z[:, None], one[0].v[:, None]),
    )
    if read:
        bare = network.block.mix(network.blocks(weights)[0], alone[:, 0])
        apart = patched_block(network.block, Matrix("W_down"), network.blocks(weights)[0], bare, one[0])
        assert all(torch.allclose(single[name][:, 0], apart[name], rtol=1e-8) for name in ("W_gate", "W_up", "W_down"))


def test_bad_patches_are_refused(deep):
    network, weights, alone, states, _ = deep
    block, bare = network.blocks(weights)[0], network.block.mix(network.blocks(weights)[0], alone)
    patch = StaticPatch(Ridge(1e-6), (), "W_down")
    with pytest.raises(ValueError, match="at least one calibration query"):
        patch.block(network.block, block, State(bare.z[:, :0], bare.v[:, :0]), State(states[0].z[:, :0], states[0].v[:, :0]))
    with pytest.raises(ValueError, match="must be of the same queries"):
        patch.block(network.block, block, bare, State(states[0].z[:, :3], states[0].v[:, :3]))
    two = State(torch.cat([bare.z, bare.z], -2), torch.cat([bare.v, bare.v], -2))
    with pytest.raises(ValueError, match="with one token each"):
        patch.block(network.block, block, two, two)
    with pytest.raises(ValueError, match="no such matrix: W_mid"):
        StaticPatch(Average(), ("W_mid",), "").block(network.block, block, bare, states[0])
    with pytest.raises(ValueError, match="strength of a ridge must be positive"):
        Ridge(0.0)
    with pytest.raises(ValueError, match="must agree but for their last dimension"):
        require_pairs(torch.zeros(3, 2), torch.zeros(4, 2))  # past the shapes in the signature, which tests check
    with pytest.raises(ValueError, match="all the vectors that a matrix reads are 0"):
        Ridge(1.0)(torch.zeros(3, 2), torch.ones(3, 2))
    with pytest.raises(ValueError, match="1 of 2 vectors that the patched matrix reads are 0"):
        Average()(torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.ones(2, 2))


def test_median_interval_by_hand_and_by_coverage():
    assert median_interval(np.array([3.0, 1, 2, 5, 4, 6])).tolist() == [3.5, 1, 6]  # 2/64 < 0.05 < 14/64
    draws = np.random.default_rng(0).exponential(size=(4000, 25))
    _, low, high = median_interval(draws)
    assert ((low <= np.log(2)) & (np.log(2) <= high)).mean() == pytest.approx(0.957, abs=0.012)
    with pytest.raises(ValueError, match="needs 6 values or more"):
        median_interval(np.arange(5.0))


def test_parts_cover_the_calibration_queries():
    assert parts(1) == [] and parts(3) == [[0], [1], [2]]
    assert sorted(sum(parts(13), [])) == list(range(13)) and len(parts(13)) == 5


SHAPE = OneBlock("softmax attention", d=3, width=8, heads=2, hidden=16)


def linear_in_the_query(training: Training, seed: int, device: str) -> Trained:
    """Return networks whose attention is uniform, so that what the context adds does not depend on the query."""
    network = training.model.network()
    weights = network.start(stream(seed, "made"), (training.replicates,), LIKE)
    return Trained(network, weights | {"blocks.W_Q": 0 * weights["blocks.W_Q"]})


def test_one_block_on_a_tiny_declaration(monkeypatch):
    """Uniform attention: Deltaa = u - g h with one u for all queries, so matrix and bias together are exact for K > d."""
    monkeypatch.setattr(static_one_block, "trained", linear_in_the_query)
    training = Training("", SHAPE, N=10, every_prefix=False, B=4, rate=1e-3, steps=1, replicates=2)
    dataset = replace(STATIC_ONE_BLOCK.quick, training=training, N=10, contexts=6, queries=8, K=(1, 12)).run(0, "cpu")
    assert dataset.K.values.tolist() == [1, 2, 3, 4, 12] and dataset.span.values.tolist() == [1, 3]
    cell = dataset.sel(network="trained", span=3, part="high")
    assert (cell.error.sel(fit="affine", K=[4, 12]) < 1e-20).all() and (cell.error.sel(fit="affine", K=3) > 1e-3).all()
    assert (dataset["rank"].sel(part="median") == dataset.span).all()
    assert (dataset.task_icl != dataset.task_none).all()  # with the context it predicts otherwise than without
    assert (dataset.calibration.sel(part="high", span=3, K=[1, 2, 3]) < 1e-20).all()
    assert (dataset.error.sel(fit="average", K=1) == dataset.error.sel(fit="least squares", K=1)).all()
    assert drawn(figures.one_block, dataset)


def test_deep_on_a_tiny_declaration(monkeypatch):
    def start(training: Training, seed: int, device: str) -> Trained:
        network = training.model.network()
        return Trained(network, network.start(stream(seed, "made"), (1,), LIKE))

    monkeypatch.setattr(static_deep, "trained", start)
    model = ManyBlocks(depth=2, d=2, width=8, heads=2, hidden=12)
    training = Training("", model, N=8, every_prefix=False, B=4, rate=1e-3, steps=1, replicates=1)
    deeper = replace(training, model=replace(model, depth=3))
    sizes = dict(training=training, deeper=deeper, N=8, contexts=6, queries=6, K=(1, 60))
    dataset = replace(STATIC_DEEP.quick, **sizes).run(0, "cpu")
    assert dataset.network.values.tolist() == ["2 blocks", "3 blocks"]
    assert np.isnan(dataset["size"].sel(block=3, network="2 blocks")).all()
    median = dataset.sel(part="median")
    assert (median.excess.isel(K=-1) == 0).all() and (median.error.sel(K=60) < median.error.sel(K=1)).all()
    assert (median.calibration.sel(K=1) < 1e-4).all() and (median.error_targets.sel(targets="other context") > 0.1).all()
    assert (median["rank"].sel(block=1) <= 12).all()
    assert drawn(figures.deep, dataset)


def made_up() -> xr.Dataset:
    """Errors of one block as the theory has them for d = 2: 0.5 below the rank, near 0.001 from there on."""
    K, spread = [1, 2, 3, 10, 100], xr.DataArray([1.0, 0.9, 1.1], dims="part", coords={"part": ["median", "low", "high"]})
    fits = {
        "least squares": [0.5, 1.6e-3, 1.4e-3, 1.1e-3, 1e-3],
        "average": [0.5, 0.4, 0.3, 0.25, 0.25],
        "average times rank": [1.0, 0.5, 0.3, 0.1, 0.02],
        "affine": [1.5, 0.8, 1e-3, 1e-3, 1e-3],
    }
    coords = {"fit": list(fits), "K": K, "span": [2], "network": ["trained"]}
    error = xr.DataArray(np.array(list(fits.values()))[..., None, None], dims=("fit", "K", "span", "network"), coords=coords)
    wrong = xr.DataArray([1.5], dims="targets", coords={"targets": ["other context"]})
    excess = np.log10(error / error.isel(K=-1))
    return xr.Dataset(
        {
            "error": error * spread,
            "error_targets": wrong * spread * (error.isel(fit=0, drop=True) * 0 + 1),
            "excess": excess * spread,
        }
    )


def test_claims_on_made_up_numbers():
    dataset = made_up()
    for claim in (claims.D54, claims.D54c, claims.D55, claims.D55b):
        judgement = claim.judge(dataset)
        assert (judgement.verdict, judgement.control_verdict) == (HOLDS, FAILS), claim.id
    assert claims.D54.judge(dataset).value == pytest.approx(1.6e-3)
    settled = dataset.assign(excess=dataset.excess.where(dataset.K < 3, 0.0))
    assert claims.D54c.judge(settled).verdict == FAILS  # it has converged at K = 3, and that is no 10 to 25
    assert claims.D54.judge(dataset.assign(error=dataset.error * 60)).verdict == FAILS
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        replace(STATIC_ONE_BLOCK.quick, K=(0, 2)).run(0, "cpu")
    with pytest.raises(ValueError, match="a whole number of at least 1"):
        replace(STATIC_DEEP.quick, K=(0,)).run(0, "cpu")
    with pytest.raises(ValueError, match="from the smallest to the largest"):
        replace(STATIC_DEEP.quick, K=(5, 1)).run(0, "cpu")
    with pytest.raises(ValueError, match="needs 6 contexts or more"):
        replace(STATIC_ONE_BLOCK.quick, contexts=1).run(0, "cpu")
