"""The decoders of section 4.3: test prompts, and the three experiments on toy models."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.models.baselines import MinimumNormOLS, Zero
from icl_lib.tasks.prompts import Prompts
from papers.regression.curriculum import Ramp
from papers.regression.decoders import repeated, trained
from papers.regression.trainings import FIXED, RANDOM
from papers.zhang.s4_3_gpt2.gpt2 import ZHANG_GPT2, Gpt2
from papers.zhang.s4_3_gpt2.gpt2_positions import TABLES, Gpt2Positions, exchanged, moves
from papers.zhang.s4_3_gpt2.gpt2_prompts import TESTS, by_covariance, common_dimension, draw, jump, prefix_errors, query_errors
from papers.zhang.s4_3_gpt2.gpt2_scale import WAYS, Gpt2Scale, cut, error, own_size, own_size_by_entry, times
from tests.elsewhere import move_book

TOY = replace(
    FIXED[0],
    name="",
    layers=1,
    heads=1,
    width=4,
    d=2,
    N=2,
    sparsity=2,
    room=7,
    dims=Ramp(1, 2, 1, 2),
    points=Ramp(3, 3, 1, 1),
    B=4,
    steps=6,
)
LONGER = replace(TOY, N=4, points=Ramp(3, 5, 2, 2))
FIXED_TOYS, RANDOM_TOYS = (tuple(replace(t, law=law) for t in (TOY, LONGER)) for law in ("fixed", "random"))
FROZEN_TOYS = tuple(replace(toys[0], room=0) for toys in (FIXED_TOYS, RANDOM_TOYS))
CURVES = Gpt2(FIXED_TOYS, RANDOM_TOYS, runs=2, longest=6, covariances=6, prompts=3, resamples=50)
TABLES_OF_TOYS = Gpt2Positions((FIXED_TOYS[0], RANDOM_TOYS[0]), FROZEN_TOYS, runs=2, longest=6, covariances=6, prompts=3)
SCALES = Gpt2Scale(FIXED_TOYS, RANDOM_TOYS, runs=2, c=(1.0, 4.0, 9.0), covariances=6, prompts=3)


@pytest.fixture(scope="module", autouse=True)
def nowhere(tmp_path_factory):
    """Keep toy weights away from those of the book."""
    with pytest.MonkeyPatch.context() as patch:
        move_book(patch, build=tmp_path_factory.mktemp("made"))
        yield


@pytest.fixture(scope="module")
def toy():
    return trained(TOY, 0, "cpu")


# --- test prompts -------------------------------------------------------------------------------------------------


def test_the_test_laws():
    """Shared z and w; the covariance scales by c, not the inputs; prompts of one covariance share it."""
    draws = draw(400, 2, 30, 3, 0)
    assert draws.z.dtype == torch.float64 and draws.z.shape == (400, 2, 31, 3) and draws.variances.shape == (400, 3)
    found = {test: draws.prompts(test) for test in TESTS}
    assert torch.equal(found["covariance I"].x, draws.z[:, :, :-1].flatten(0, 1))
    assert torch.allclose(found["c = 4"].x, 2 * found["c = 1"].x) and torch.allclose(
        found["c = 9"].y_query, 3 * found["c = 1"].y_query
    )
    assert torch.allclose(found["c = 1"].x_query[3] ** 2, draws.z[1, 1, -1] ** 2 * draws.variances[1])
    labels = torch.einsum("bd,bmd->bm", draws.w.flatten(0, 1), found["c = 9"].x)
    assert torch.allclose(found["c = 9"].y, labels)
    assert float(draws.variances.mean()) == pytest.approx(1, abs=0.1) and float(draws.variances.var()) == pytest.approx(
        1, abs=0.3
    )
    assert not torch.equal(draw(2, 1, 3, 3, 1).z, draw(2, 1, 3, 3, 0).z)


def test_one_pass_gives_the_error_after_every_number_of_examples(toy):
    prompts = draw(50, 3, 5, 2, 0).prompts("c = 4")  # more than one chunk
    every = prefix_errors(toy, prompts)
    x, y = torch.cat([prompts.x, prompts.x_query[:, None]], 1), torch.cat([prompts.y, prompts.y_query[:, None]], 1)
    for M in range(6):
        short = Prompts(x[:, :M], y[:, :M], x[:, M], y[:, M])
        assert torch.allclose(every[:, M], (toy(short)[0] - y[:, M]) ** 2 / 2, rtol=1e-4, atol=1e-7)
    assert torch.allclose(query_errors(toy, prompts), every[:, -1], rtol=1e-4, atol=1e-7)


def test_units_are_the_means_of_each_covariance():
    errors = torch.arange(6.0, dtype=torch.float64)
    assert by_covariance(errors, 3).tolist() == [0.5, 2.5, 4.5]


def test_the_jump_by_hand():
    """N = 10: lengths 11 and 12 over 10; two covariances of one prompt each, errors in proportion."""
    errors = torch.zeros((14, 2), dtype=torch.float64)
    errors[10], errors[11], errors[12], errors[13] = torch.tensor([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0], [99.0, 99.0]]).double()
    found = jump(errors, 10, 2)
    assert (float(found.value), float(found.standard_error)) == (3.0, 0.0)


def test_impossible_prompts_are_refused():
    for declaration in (CURVES, TABLES_OF_TOYS, SCALES):
        with pytest.raises(ValueError, match="covariances is 1: take a whole number of at least 2"):
            replace(declaration, covariances=1)
        with pytest.raises(ValueError, match="prompts is 0: take a whole number of at least 1"):
            replace(declaration, prompts=0)
    with pytest.raises(ValueError, match=r"d = \[2, 5\]"):
        common_dimension((TOY, FIXED[0]))


# --- Figure 1 -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy_curves():
    return CURVES.expect(CURVES.run(0, "cpu"), 0).assign_attrs(slug="zhang-gpt2", profile="quick")


def test_curves_of_toys(toy_curves):
    """Every number redone for one model and one test from single predictions; the second training is that of the next seed."""
    model, prompts = trained(RANDOM_TOYS[1], 0, "cpu"), draw(6, 3, 6, 2, 0).prompts("c = 4")
    errors = prefix_errors(model, prompts)
    cell, next_one = (toy_curves.isel(run=run).sel(test="c = 4", trained="random", N=4) for run in (0, 1))
    assert np.allclose(cell.risk, errors.mean(0))
    assert np.allclose(next_one.risk, prefix_errors(trained(RANDOM_TOYS[1], 1, "cpu"), prompts).mean(0))
    groups = errors.reshape(6, 3, 7).mean(1)
    assert np.allclose(cell.risk_se, groups.std(0) / 6**0.5)
    jumps = groups[:, 5] / groups[:, 4].mean()
    assert float(cell.jump) == pytest.approx(float(jumps.mean()))
    shorter = prefix_errors(trained(RANDOM_TOYS[0], 0, "cpu"), prompts)
    reach = toy_curves.reach.sel(test="c = 4", trained="random").isel(run=0)
    assert float(reach) == pytest.approx(float(errors[:, 2].mean() / shorter[:, 2].mean()))
    other = prefix_errors(trained(FIXED_TOYS[1], 0, "cpu"), prompts)
    assert float(toy_curves.gain.sel(test="c = 4", N=4).isel(run=0)) == pytest.approx(float((other - errors)[:, 4].mean()))
    assert (toy_curves.width > 0).all() and toy_curves.sizes["run"] == 2
    assert (toy_curves.gain_lower <= toy_curves.gain).all() and (toy_curves.gain <= toy_curves.gain_upper).all()


def test_least_squares_of_the_curves(toy_curves):
    assert toy_curves.ols_theory.values.tolist() == [1, 0.5, 0, 0, 0, 0, 0]
    assert (toy_curves.ols.sel(M=slice(2, None)) < 1e-12).all()
    prompts = draw(6, 3, 6, 2, 0).prompts("c = 9")
    first = Prompts(prompts.x[:, :1], prompts.y[:, :1], prompts.x[:, 1], prompts.y[:, 1])
    by_one = (MinimumNormOLS()(first) - first.y_query) ** 2 / 2
    assert float(toy_curves.ols.sel(test="c = 9", M=1)) == pytest.approx(float(by_one.mean()))
    assert toy_curves.ols.sel(M=0).values == pytest.approx(
        [float(((Zero()(first) - draw(6, 3, 6, 2, 0).prompts(test).y[:, 0]) ** 2).mean() / 2) for test in TESTS]
    )


def test_reference_lines_by_hand():
    """d = 5, N = M = 10: LSA has 6/16 on the identity and 1 - 4/8 on Exp(1); in the limit 4/9, 1/3, 76/3 and 387."""
    declared = replace(ZHANG_GPT2.quick, fixed=FIXED[:1], random=RANDOM[:1])
    lines = declared._linear(5, np.arange(11))[..., 0, 10]
    assert lines[0, 0] == pytest.approx(6 / 16) and lines[1, 1] == pytest.approx(0.5)
    errors, ols = torch.ones((4, 2, 3, 1, 41, 512), dtype=torch.float64), torch.ones((4, 41, 512), dtype=torch.float64)
    found = declared.expect(replace(declared, resamples=2).dataset(5, errors, ols, 0), 0)
    assert found.lsa_limit.values == pytest.approx([4 / 9, 1 / 3, 76 / 3, 387])
    assert found.zero.values.tolist() == [1, 1, 4, 9]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"fixed": FIXED_TOYS[::-1], "random": RANDOM_TOYS[::-1]}, "ascending"),
        ({"random": RANDOM_TOYS[:1]}, "the same for the random"),
        ({"longest": 4}, "beyond its N"),
        ({"fixed": (), "random": ()}, "1 or more of them"),
    ],
)
def test_impossible_curves_are_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        replace(CURVES, **changes)


# --- positions ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy_tables():
    return TABLES_OF_TOYS.run(0, "cpu").assign_attrs(slug="zhang-gpt2-positions", profile="quick")


def test_tables_by_hand():
    """Training reaches rows 0 to 4 of 8: row 4 is the last of an input, row 3 the last of a label."""
    usual, zeros, last, late = (table[0, :, 0].tolist() for table in exchanged(torch.arange(1.0, 9)[None, :, None], 5))
    assert usual == [1, 2, 3, 4, 5, 6, 7, 8] and zeros == [1, 2, 3, 4, 5, 0, 0, 0]
    assert last == [1, 2, 3, 4, 5, 4, 5, 4] and late == [6, 7, 8, 1, 2, 3, 4, 5]


def test_rows_beyond_the_last_query_never_move(toy_tables):
    beyond = toy_tables.row > 4
    assert (toy_tables.row_moved[..., beyond.values] == 0).all() and (toy_tables.row_moved[..., ~beyond.values] > 0).all()
    table = trained(RANDOM_TOYS[0], 0, "cpu").weights["positions"][0]
    assert (moves(RANDOM_TOYS[0], table, 1, "cpu") > 0).all()  # the start of another seed


def test_errors_of_tables(toy_tables):
    """Up to N exchanged rows beyond change nothing; moved rows do; the last column is the frozen control."""
    usual = toy_tables.risk.sel(table="as trained")
    for table in TABLES[1:3]:
        other = toy_tables.risk.sel(table=table)
        assert np.allclose(other[..., :3], usual[..., :3]) and not np.allclose(other[..., 3:], usual[..., 3:], rtol=1e-6)
    late = np.isnan(toy_tables.risk.sel(table=TABLES[3]))  # 14 rows less 5: nine tokens, four examples
    assert late[..., 5:].all() and not late[..., :5].any() and not np.isnan(toy_tables.risk.sel(table=list(TABLES[:3]))).any()
    assert not np.allclose(toy_tables.risk.sel(table=TABLES[3], M=2), usual.sel(M=2), rtol=1e-6)
    prompts, model = draw(6, 3, 6, 2, 0).prompts("c = 1"), repeated(RANDOM_TOYS[0], 2, 0, "cpu")[1]
    table = model.weights["positions"].clone()
    table[:, 5:] = 0  # rows 0 to 4 = 2N are those of a training prompt
    found = prefix_errors(replace(model, weights=model.weights | {"positions": table}), prompts).mean(0)
    assert np.allclose(toy_tables.risk.sel(trained="random", run=1, table=TABLES[1]), found, rtol=1e-9)
    found = prefix_errors(repeated(FROZEN_TOYS[1], 2, 0, "cpu")[1], prompts).mean(0)
    assert np.allclose(toy_tables.risk.sel(trained="random", run=1, table=TABLES[4]), found)


@pytest.mark.parametrize(
    ("changes", "says"), [({"longest": 2}, "beyond it"), ({"longest": 7}, "with rows"), ({"frozen": FIXED_TOYS}, "one N")]
)
def test_impossible_tables_are_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        replace(TABLES_OF_TOYS, **changes)
    with pytest.raises(ValueError, match="controls with none"):
        replace(TABLES_OF_TOYS, frozen=TABLES_OF_TOYS.models)


# --- scale --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def toy_scales():
    return SCALES.run(0, "cpu").assign_attrs(slug="zhang-gpt2-scale", profile="quick")


def test_scaled_prompts_are_those_of_the_scaled_covariance(toy):
    draws = draw(6, 3, 2, 2, 0)
    base = draws.prompts("c = 1")
    both = query_errors(toy, draws.prompts("c = 9")) / 9
    assert torch.allclose(error(toy, base, "both scaled", 9.0), both, rtol=1e-4)
    assert torch.allclose(error(toy, base, "labels scaled", 9.0), query_errors(toy, times(base, *_factors(base, 1, 3))) / 9)
    assert torch.allclose(error(toy, base, "inputs scaled", 9.0), query_errors(toy, times(base, *_factors(base, 3, 1))))
    assert len({float(error(toy, base, way, 9.0).mean()) for way in WAYS}) == len(WAYS)


def _factors(prompts: Prompts, inputs: float, labels: float):
    return torch.full_like(prompts.x_query, inputs), torch.full_like(prompts.y_query, labels)


def test_sizes_by_hand():
    """Examples (3, 0) and (3, 4): entries have root mean square 3 and sqrt 8, all together sqrt(17/2)."""
    prompts = Prompts(*(torch.tensor(part).double() for part in ([[[3, 0], [3, 4]]], [[1, 2]], [[5, 6]], [7])))
    assert own_size(prompts)[0].tolist() == [[pytest.approx(8.5**0.5)] * 2]
    inputs, labels = own_size_by_entry(prompts)
    assert inputs.tolist() == [[3, pytest.approx(8**0.5)]] and labels.tolist() == [pytest.approx(8.5**0.5)]
    halved = times(prompts, inputs, labels)
    assert halved.x[0, 1].tolist() == [9, pytest.approx(4 * 8**0.5)] and halved.y_query.tolist() == [
        pytest.approx(7 * 8.5**0.5)
    ]


def test_the_own_size_makes_the_scale_vanish(toy_scales):
    for way in ("own size", "own size by entry"):
        assert np.allclose(toy_scales.risk.sel(way=way, c=4.0), toy_scales.risk.sel(way=way, c=1.0), rtol=1e-4)
    assert not np.allclose(
        toy_scales.risk.sel(way="both scaled", c=4.0), toy_scales.risk.sel(way="both scaled", c=1.0), rtol=1e-4
    )
    alike = toy_scales.risk.sel(c=1.0, way=["both scaled", "inputs scaled", "labels scaled"])
    assert np.ptp(alike.values, axis=-1).max() < 1e-12


def test_each_model_is_asked_at_its_own_length(toy_scales):
    base = draw(6, 3, 4, 2, 0).prompts("c = 1")
    for training in RANDOM_TOYS:
        found = error(trained(training, 0, "cpu"), cut(base, training.N), "inputs scaled", 4.0).mean()
        cell = toy_scales.risk.isel(run=0).sel(trained="random", N=training.N, way="inputs scaled", c=4.0)
        assert float(cell) == pytest.approx(float(found))


@pytest.mark.parametrize(
    ("changes", "says"), [({"random": RANDOM_TOYS[:1]}, "same lengths"), ({"c": (1.0, 4.0)}, "take 1 and 9 among")]
)
def test_impossible_scales_are_refused(changes, says):
    with pytest.raises(ValueError, match=says):
        replace(SCALES, **changes)
