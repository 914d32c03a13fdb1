"""The training distributions of in-context regression and the curriculum over them."""

import pytest
import torch

from icl_lib.seeds import stream
from papers.regression.curriculum import ExponentialRegression, IsotropicRegression, Ramp, SparseRegression

LAWS = [IsotropicRegression(4, 3), ExponentialRegression(4, 3), SparseRegression(4, 3, 2)]


def test_a_ramp_by_hand():
    ramp = Ramp(start=5, end=10, increment=2, interval=100)
    assert [ramp.at(step) for step in (0, 99, 100, 199, 200, 299, 300, 10**6)] == [5, 5, 7, 7, 9, 9, 10, 10]


def test_the_published_curriculum_of_garg():
    """Dimensions 5 to 20 by 1, inputs 11 to 41 by 2, every 2000 steps: both end at step 30000."""
    dims, points = Ramp(5, 20, 1, 2000), Ramp(11, 41, 2, 2000)
    assert (dims.at(29_999), points.at(29_999)) == (19, 39) and (dims.at(30_000), points.at(30_000)) == (20, 41)


@pytest.mark.parametrize("wrong", [(0, 3, 1, 1), (4, 3, 1, 1), (1, 3, 0, 1), (1, 3, 1, 0)])
def test_impossible_ramps_are_refused(wrong):
    with pytest.raises(ValueError, match="a ramp needs"):
        Ramp(*wrong)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_inputs_are_zero_beyond_their_dimensions_and_labels_are_linear(law):
    prompts = law.sample(stream(0, "a"), (2, 50), 6)
    assert prompts.x.shape == (2, 50, 6, 4) and prompts.x.dtype == torch.float32
    assert (prompts.x[..., 3] == 0).all() and (prompts.x_query[..., 3] == 0).all() and (prompts.x[..., :3] != 0).all()
    w = torch.linalg.lstsq(prompts.x[..., :3].double(), prompts.y[..., None].double()).solution[..., 0]
    assert torch.allclose((w * prompts.x_query[..., :3]).sum(-1), prompts.y_query.double(), atol=2e-3)
    again = law.sample(stream(0, "a"), (2, 50), 6)
    assert all(torch.equal(a, b) for a, b in zip(prompts, again, strict=True))


def test_variances_and_kurtosis_tell_the_laws_apart():
    """E x^4 is 3 at covariance I; under Exp(1) variances it is 3 E lambda^2 = 6. E y^2 is the number of active entries."""
    for law, fourth, label in zip(LAWS, (3, 6, 3), (3, 3, 2), strict=True):
        prompts = law.sample(stream(1, "moments"), (40_000,), 3)
        x = prompts.x[..., :3].double()
        assert float((x**2).mean()) == pytest.approx(1, abs=0.03)
        assert float((x**4).mean()) == pytest.approx(fourth, rel=0.08)
        assert float((prompts.y_query.double() ** 2).mean()) == pytest.approx(label, rel=0.06)


def test_one_covariance_a_prompt():
    """Within a prompt the variances are shared: the products x_i^2 x_j^2 of two examples have mean E lambda^2 = 2, not 1."""
    prompts = ExponentialRegression(3, 3).sample(stream(2, "a"), (60_000,), 2)
    products = (prompts.x[:, 0].double() ** 2) * (prompts.x[:, 1].double() ** 2)
    assert float(products.mean()) == pytest.approx(2, rel=0.1)
    query = (prompts.x[:, 0].double() ** 2) * (prompts.x_query.double() ** 2)
    assert float(query.mean()) == pytest.approx(2, rel=0.1)


def test_sparse_weights_choose_every_pair_equally_often():
    law = SparseRegression(5, 4, 2)
    prompts = law.sample(stream(3, "a"), (20_000,), 6)
    w = torch.linalg.lstsq(prompts.x[..., :4].double(), prompts.y[..., None].double()).solution[..., 0]
    active = w.abs() > 1e-3
    assert (active.sum(-1) == 2).float().mean() > 0.98  # an entry below 1e-3 in size is counted as absent
    pairs = [(active[:, i] & active[:, j]).double().mean() for i in range(4) for j in range(i)]
    assert torch.stack(pairs).numpy() == pytest.approx(1 / 6, abs=0.015)


def test_impossible_laws_are_refused():
    for sparsity in (0, 3):
        with pytest.raises(ValueError, match="sparsity"):
            SparseRegression(5, 2, sparsity)
    for dims in (0, 4):
        with pytest.raises(ValueError, match=f"the first {dims} entries of 3: take 1 <= dims <= d"):
            IsotropicRegression(3, dims).sample(stream(0, "a"), (2,), 3)
