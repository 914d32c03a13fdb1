"""Patches within a model's own forward: fits, gains and seats by second routes, in modules of torch alone."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog
from torch import nn

from papers.dherin.fits import LeastSquares, Ridge
from papers.dherin.gains import one_factor, solved
from papers.dherin.passes import Passage, Record, Rule, patched, record
from papers.dherin.seats import Norm, Seat, Stored, restored


def rows(*shape: int, name: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(name), dtype=torch.float64)


@pytest.mark.parametrize("K", [1, 3, 6, 9])
def test_the_ridge_solves_either_system_to_the_same_matrix(K):
    H, T = rows(K, 6, name=1), rows(K, 4, name=2)
    square = H.mT @ H
    strength = 0.1 * square.square().sum() / square.trace()
    expected = torch.linalg.solve(square + strength * torch.eye(6), H.mT @ T).mT
    assert torch.allclose(Ridge(0.1)(H, T), expected, atol=1e-12)


def test_least_squares_leaves_a_residual_at_a_right_angle():
    H, T = rows(7, 3, name=1), rows(7, 2, name=2)
    D = LeastSquares()(H, T)
    assert torch.allclose((T - H @ D.mT).mT @ H, torch.zeros(2, 3).double(), atol=1e-12)
    with pytest.raises(ValueError, match="strength of a ridge must be positive"):
        Ridge(0.0)


def test_gains_solve_the_equations_where_linear_programming_finds_a_positive_solution():
    """And are refused where it finds none: both happen among these."""
    found = []
    for case in range(30):
        R, D = 2 + case % 7, 12
        y, m, rho = rows(R, D, name=case), 1 + 0.1 * rows(D, name=99), torch.linspace(0.9, 1.0, R).double()
        there = linprog(np.ones(D), A_eq=y.square().numpy(), b_eq=D * rho.numpy(), bounds=(1e-6, None)).status == 0
        found.append(there)
        if there:
            gain = solved(y, rho, m)
            assert torch.allclose((y / gain).square().mean(-1), rho, rtol=1e-9)
        else:
            with pytest.raises(ValueError, match="no gain gives these"):
                solved(y, rho, m)
    assert 3 < sum(found) < 28


def test_one_row_has_one_factor():
    y, m, rho = rows(1, 8, name=1), 1 + 0.1 * rows(8, name=2), torch.tensor([0.9]).double()
    assert torch.allclose(solved(y, rho, m), one_factor(y, rho, m), rtol=1e-9)
    assert ((one_factor(y, rho, m) / m) - (one_factor(y, rho, m) / m)[0]).abs().max() < 1e-12
    with pytest.raises(ValueError, match="a gain is 0"):
        solved(y, rho, 0 * m)


class Behind(nn.Module):
    """An RMS norm whose gain is 1 + weight."""

    def __init__(self, D: int):
        super().__init__()
        self.weight = nn.Parameter(0.1 * rows(D, name=5))

    def forward(self, u):
        return u / (u.square().mean(-1, keepdim=True) + 0.1).sqrt() * (1 + self.weight)


class Layer(nn.Module):
    """Tokens mixed by a running mean, then a layer of ReLU, its output behind a norm or not."""

    def __init__(self, D: int, H: int, norm: bool, name: int):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(D, H, bias=False), nn.ReLU(), nn.Linear(H, D, bias=False)).double()
        self.norm = Behind(D) if norm else nn.Identity()
        with torch.no_grad():
            for k, weight in enumerate(self.mlp.parameters()):
                weight.copy_(rows(*weight.shape, name=10 * name + k) / 2)

    def forward(self, x, share=1.0):
        mean = x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None]
        return x + self.norm(self.mlp(share * mean))


class Model(nn.Module):
    """Embedding, two layers, a head; with the keywords of a language model."""

    def __init__(self, D: int = 6, H: int = 9, norm: bool = False):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(rows(20, D, name=3))
        self.layers = nn.ModuleList([Layer(D, H, norm, name) for name in (1, 2)])
        self.head = rows(20, D, name=4)

    def forward(self, input_ids, position_ids, attention_mask, use_cache):
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x, share=1.0)
        out = type("Output", (), {})()
        out.logits = x @ self.head.mT
        return out


def seats(model: Model) -> tuple[Seat, ...]:
    return tuple(
        Seat(
            layer,
            layer.mlp,
            (Stored(layer.mlp[0], "weight", False, None),),
            (Stored(layer.mlp[2], "weight", False, None),),
            lambda z, layer=layer: layer.mlp[1](layer.mlp[0](z)),
            Norm(layer.norm, 1.0, 0.1) if isinstance(layer.norm, Behind) else None,
        )
        for layer in model.layers
    )


def passages(M: int) -> tuple[Passage, Passage]:
    """Six tokens of context and M of a query, with and without the context."""
    tokens = (torch.arange(6 + M) * 7 + 3)[None] % 19 + 1
    positions, mine = torch.arange(6 + M)[None], (torch.arange(6 + M) >= 6)[None]
    return Passage(tokens, positions, mine), Passage(tokens[:, 6:], positions[:, 6:], mine[:, 6:])


def relative(found: Record, full: Record) -> float:
    pairs = zip([*found.out, found.logits], [*full.out, full.logits], strict=True)
    return max(((a - b).norm() / b.norm()).item() for a, b in pairs)


ALL, LAST = ("reads", "last"), ("last",)


@pytest.mark.parametrize("norm, gains", [(False, one_factor), (True, one_factor), (True, solved)])
@pytest.mark.parametrize("parts", [ALL, LAST])
@pytest.mark.parametrize("M", [1, 2])
def test_the_own_forward_gives_what_it_gives_with_the_context(norm, gains, parts, M):
    model = Model(norm=norm)
    whole, left = passages(M)
    full = record(model, seats(model), whole)
    before = [weight.clone() for weight in model.parameters()]
    with patched(model, seats(model), full, left, Rule(LeastSquares(), parts, gains)) as size:
        error = relative(record(model, seats(model), left), full)
    assert error < 1e-8 or (norm and M == 2 and gains is one_factor and error > 1e-3 and parts == LAST)
    assert (size > 1e-3).all()
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    assert relative(record(model, seats(model), left), full) > 1e-2


def test_a_token_patch_is_the_formula_written_out():
    """By weights changed by hand, from the first layer to the last."""
    model = Model()
    whole, left = passages(1)
    full = record(model, seats(model), whole)
    with patched(model, seats(model), full, left, Rule(LeastSquares(), LAST, one_factor)):
        made = [layer.mlp[2].weight.detach().clone() for layer in model.layers]
    x = model.embedding(left.tokens)[0, 0]
    for layer, new, out in zip(model.layers, made, full.out, strict=True):
        h = torch.relu(layer.mlp[0].weight @ x)
        W = layer.mlp[2].weight
        change = torch.outer(out[0] - x - W @ h, h) / (h @ h)
        assert torch.allclose(new, W + change, atol=1e-12)
        x = x + (W + change) @ h


def test_weights_come_back_to_the_bit_after_an_exception():
    model = Model(norm=True)
    whole, left = passages(2)
    full, before = record(model, seats(model), whole), {k: v.clone() for k, v in model.state_dict().items()}
    with (
        pytest.raises(RuntimeError, match="in between"),
        patched(model, seats(model), full, left, Rule(LeastSquares(), ALL, solved)),
    ):
        raise RuntimeError("in between")

    def fails(reads, changes):
        if fails.calls:
            raise ArithmeticError("a fit")
        fails.calls += 1
        return LeastSquares()(reads, changes)

    fails.calls = 0
    with pytest.raises(ArithmeticError), patched(model, seats(model), full, left, Rule(fails, ALL, solved)):
        pass
    assert all(torch.equal(old, model.state_dict()[k]) for k, old in before.items())
    assert not any(layer.mlp._forward_pre_hooks or layer._forward_hooks for layer in model.layers)


def test_what_cannot_be_patched_is_refused():
    model = Model()
    whole, left = passages(2)
    full, rule = record(model, seats(model), whole), Rule(LeastSquares(), LAST, one_factor)
    with pytest.raises(ValueError, match="1 rows of the passage, but targets for 2"):
        some = left._replace(rows=left.rows & (left.positions == 7))
        with patched(model, seats(model), full, some, rule):
            pass
    model.embedding.weight[left.tokens[0, 0]] = 0
    refused = pytest.raises(ValueError, match="1 of 2 vectors that a patched matrix reads are 0")
    with refused, patched(model, seats(model), full, left, rule):
        pass
    with pytest.raises(ValueError, match="share a parameter"), restored([*seats(model), seats(model)[0]]):
        pass


def test_stored_matrices_are_seen_as_they_are_applied():
    """A square one that is stored turned does not show it; one of a stack changes alone."""
    owner = nn.Module()
    owner.weight = nn.Parameter(rows(2, 3, 3, name=1))
    one, change = Stored(owner, "weight", True, 1), rows(3, 3, name=2)
    before = owner.weight.detach().clone()
    one.add(change)
    assert torch.equal(owner.weight[0], before[0]) and torch.allclose(owner.weight[1], before[1] + change.mT)
    assert torch.equal(one.matrix, owner.weight[1].mT)


def test_the_size_of_a_patch_is_over_what_it_changes_and_not_over_what_rounding_touches():
    seat, other = seats(Model())
    read, last = seat.reads[0].matrix, seat.last[0].matrix
    with restored([seat, other]) as sizes:
        last.mul_(1.1)
        read[0, 0] = torch.nextafter(read[0, 0], torch.tensor(torch.inf).double())
        assert torch.allclose(sizes(), torch.tensor([0.1, 0.0]), atol=1e-7)
        read.mul_(1 + 1e-9)
        expected = 0.1 / (1 + (read.norm() / last.norm() * 1.1) ** 2) ** 0.5
        assert sizes()[0] == pytest.approx(expected.item(), rel=1e-6)
