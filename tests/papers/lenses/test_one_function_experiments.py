"""One convex function of the context: the experiments at another seed and scale, and their readings by a second route."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl_lib.companion import FAILS, HOLDS, Claim
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.lenses.pattern_networks import START, TRAINED, drawn, network_at
from papers.lenses.s3_one_function import claims
from papers.lenses.s3_one_function.heads import HEADS
from papers.lenses.s3_one_function.one_vote import EQUAL, MIXED, ONE_VOTE, UNSEEN, patterns
from papers.lenses.s3_one_function.own_and_others import OWN_AND_OTHERS
from papers.lenses.s3_one_function.removed_examples import REMOVED_EXAMPLES
from papers.lenses.s3_one_function.small_logits import SMALL_LOGITS
from papers.lenses.s3_one_function.token_distribution import PATTERNS, TOKEN_DISTRIBUTION, tokens
from papers.lenses.theory import one_function
from papers.li.classification import same_pattern
from papers.li.pruning import small_neurons

pytestmark = pytest.mark.long

ROOM = (SMALL_LOGITS, TOKEN_DISTRIBUTION, HEADS, REMOVED_EXAMPLES, OWN_AND_OTHERS, ONE_VOTE)
ALL = [claim for claim in vars(claims).values() if isinstance(claim, Claim)]
OTHER = {
    "lenses-small-logits": dict(d=(1, 2), N=(5, 9), o=3),
    "lenses-token-distribution": dict(d=(4,), x=(0.8,)),
    "lenses-heads": dict(d=(4,), N=(8,), eps=0.02, x=(0.7, 1.2)),
}
"""Other scales; networks are trained anew by another seed."""


@pytest.fixture(scope="module")
def datasets():
    """Results at another seed, as the quick profile is."""
    return {each.slug: each.run("quick", 1) for each in ROOM}


@pytest.fixture(scope="module")
def others():
    return {each.slug: each.but(**OTHER[each.slug]).run("quick", 2) for each in ROOM if each.slug in OTHER}


def judged(claim: Claim, dataset) -> tuple[str, str]:
    found = claim.judge(dataset)
    return found.verdict, found.control_verdict


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_claims_at_another_seed(claim, datasets):
    assert judged(claim, datasets[claim.experiment]) == (HOLDS, FAILS)


@pytest.mark.parametrize("claim", [claim for claim in ALL if claim.experiment in OTHER], ids=lambda claim: claim.id)
def test_claims_at_another_scale(claim, others):
    assert judged(claim, others[claim.experiment]) == (HOLDS, FAILS)


@pytest.mark.parametrize("claim", ALL, ids=lambda claim: claim.id)
def test_near_misses_are_finite_and_near(claim, datasets):
    dataset = datasets[claim.experiment]
    values = [claim.check(control(dataset.copy(deep=True))).worst() for control in claim.controls.values()]
    assert np.isfinite(values).all()
    if claim.margin > 1e-4:
        assert min(abs(value) for value, _ in values) <= 35 * max(claim.margin_in("quick"), 0.1)


# --- readings by a second route -------------------------------------------------------------------------------------


def network(stage: str):
    declared = REMOVED_EXAMPLES.quick
    return declared, network_at(declared.setting, declared.networks, 1, "cpu", stage)


@pytest.mark.parametrize("stage", [START, TRAINED])
def test_removals_by_prompts_without_the_example(stage, datasets):
    """The whole model on l - 1 examples; gradients by differences of the scores."""
    declared, trained = network(stage)
    _, prompts = drawn(trained, declared.alpha, declared.length, declared.prompts, stream(1, "removed examples"))
    found, model = datasets["lenses-removed-examples"].sel(stage=stage), trained.model()
    whole = model(prompts)
    assert found.output.values == pytest.approx(whole.numpy(), rel=1e-9, abs=1e-12)
    for i in (0, 7):
        kept = [j for j in range(declared.length) if j != i]
        left = Prompts(prompts.x[..., kept, :], prompts.y[..., kept], prompts.x_query, prompts.y_query)
        assert found.removal[..., i].values == pytest.approx((whole - model(left)).numpy(), rel=1e-6, abs=1e-12)
    scores = model.attention(prompts).log()
    step = torch.zeros(declared.length, dtype=scores.dtype)
    step[3] = 1e-6
    p = model.contexts(prompts)
    ends = []
    for sign in (1, -1):
        average = torch.einsum("sbl,sbld->sbd", (scores + sign * step).softmax(-1), p)
        ends.append(torch.einsum("smv,svd,sbd->sbm", model.W_O, model.W_V, average).relu() @ model.a)
    slope = (ends[0] - ends[1]) / 2e-6
    size = float(abs(slope).max())
    assert np.median(abs(found.slope[..., 3].values - slope.numpy())) < 1e-6 * size


def test_a_removal_that_turns_the_answer_is_left_out(datasets):
    """A removal larger than the output turns its sign, and then the sum of deviations does not see it."""
    dataset = datasets["lenses-removed-examples"].copy(deep=True)
    turned = dataset.removal.copy()
    turned[1, 0, 0, 0] = 2 * dataset.output[1, 0, 0]
    expected = REMOVED_EXAMPLES.quick.expect(dataset.assign(removal=turned), 1)
    assert float(expected.missed[1, 0]) < 0.01
    turned[1, 0, 0, 0] = 0.5 * dataset.output[1, 0, 0]
    expected = REMOVED_EXAMPLES.quick.expect(dataset.assign(removal=turned), 1)
    assert float(expected.missed[1, 0]) > 0.01


def test_odds_and_vote_of_one_prompt_by_hand():
    """One prompt after another, from the formulas alone."""
    declared, trained = network(TRAINED)
    codes, prompts = drawn(trained, 0.8, 20, 6, stream(3, "a test"))
    model, own = trained.model(), same_pattern(codes)[0].numpy()
    p, W, W_V = model.contexts(prompts)[0].numpy(), model.W_O[0].numpy(), model.W_V[0].numpy()
    scores = model.attention(prompts)[0].log().numpy()
    for b in range(6):
        columns = {}
        for name, kept in (("whole", np.ones(20, bool)), ("others", ~own[b]), ("own", own[b])):
            weights = np.exp(scores[b][kept]) / np.exp(scores[b][kept]).sum()
            columns[name] = W_V @ (weights @ p[b][kept])
        patches = [
            np.linalg.norm(np.outer(W @ (columns["whole"] - columns[name]), columns[name])) / (columns[name] @ columns[name])
            for name in ("others", "own")
        ]
        mass = np.exp(scores[b][own[b]]).sum() / np.exp(scores[b]).sum()
        lengths = np.linalg.norm(columns["own"]) / np.linalg.norm(columns["others"])
        assert patches[0] / patches[1] == pytest.approx(one_function.patch_odds(np.array(mass), np.array(lengths)), rel=1e-8)


def test_the_patterns_have_the_sums_that_they_are_named_for():
    _, trained = network(START)
    own = trained.setting.patterns().relevant
    assert patterns(trained, UNSEEN) is None
    for domain, sums in ((EQUAL, [2**0.5] * 3), (MIXED, [6**0.5, 0, 0])):
        rows = patterns(trained, domain).relevant
        assert torch.allclose(rows @ rows.mT, own[:3] @ own[:3].mT)
        assert (rows @ own.sum(0) / 4).tolist() == pytest.approx(sums, abs=1e-12)


def test_a_vote_and_nothing_else_has_a_share_of_one(datasets):
    """Rows along (mu_bar; q): all of the patch is the vote, on patterns of one sum."""
    share = datasets["lenses-one-vote"].sel(stage=TRAINED)
    assert (share.along + share.vote_left >= 1 - 1e-6).all()  # the vote's size is one of the sizes along its direction
    _, trained = network(TRAINED)
    small = small_neurons(trained.parameters["W_O"])
    assert 0 < float(small.double().mean()) < 0.4


def test_tokens_have_covariance_one():
    for kind in ("Gaussian", PATTERNS):
        z = tokens(stream(0, "a test"), kind, 40_000, 3)
        assert torch.allclose(z.mT @ z / len(z), torch.eye(3, dtype=z.dtype), atol=0.05)
    assert torch.allclose(z.norm(dim=-1), torch.tensor(3**0.5, dtype=z.dtype))


def test_one_affine_map_carries_a_parabola(datasets):
    """Where all logits are tiny attention is affine in the query, and nothing is left."""
    small = replace(TOKEN_DISTRIBUTION.quick, x=(1e-6,), d=(3,), N=(5, 6, 7), contexts=3).run(0, "cpu")
    assert (small.left < 1e-9).all() and (small.whole > 1e-8).all()
    assert (datasets["lenses-token-distribution"].left > 1e-5).all()


def test_the_pair_does_not_depend_on_its_small_size():
    each = [replace(HEADS.quick, eps=eps, prompts=2000, single=2, long=(10,)).run(0, "cpu").risk.values for eps in (0.01, 0.03)]
    assert each[0] == pytest.approx(each[1], rel=1e-2)


def test_bad_settings_are_named():
    for declared, bad, text in (
        (TOKEN_DISTRIBUTION.quick, dict(N=(20, 40)), "three lengths"),
        (TOKEN_DISTRIBUTION.quick, dict(queries=4), "more queries"),
        (SMALL_LOGITS.quick, dict(d=(2, 2)), "each d once"),
        (ONE_VOTE.quick, dict(setting=replace(ONE_VOTE.quick.setting, M1=7)), "multiple of 3"),
    ):
        with pytest.raises(ValueError, match=text):
            replace(declared, **bad)
