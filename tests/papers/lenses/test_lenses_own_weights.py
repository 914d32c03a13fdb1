"""The context that steps from the MLP's own weights: theory by a second route, by hand, and by numbers from outside."""

import numpy as np
import pytest
import torch

from papers.lenses.s2_own_weights.block import Block, Shape, initial
from papers.lenses.s2_own_weights.trained_blocks import _explained
from papers.lenses.theory import own_weights as own
from papers.lenses.theory import population, read_out
from papers.zhang.theory import optimum as zhang


def draw(seed: int, *shape: int) -> np.ndarray:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).numpy()


def positive(d: int, seed: int) -> np.ndarray:
    root = draw(seed, d, d)
    return root @ root.T / d + 0.3 * np.eye(d)


def law(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    return positive(d, 1), draw(2, d), positive(d, 3), 0.6


def prompts(law, B: int, N: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw w, x and y, without the rule of three nodes."""
    Lambda, mu, Psi, noise = law
    x = draw(seed, B, N, len(mu)) @ np.linalg.cholesky(Lambda).T
    w = mu + draw(seed + 1, B, len(mu)) @ np.linalg.cholesky(Psi).T
    return w, x, np.einsum("bnd,bd->bn", x, w) + noise * draw(seed + 2, B, N)


@pytest.mark.parametrize(("d", "H", "N"), [(2, 1, 3), (3, 2, 5)])
def test_the_risk_is_the_mean_over_prompts(d, H, N):
    here, m, K, v = law(d), 0.3 * draw(4, d), 0.2 * draw(5, H, d + 1, d), 0.3 * draw(6, H, d + 1)
    w, x, y = prompts(here, 200_000, N, 7)
    z = np.concatenate([x, y[..., None]], -1)
    answer = m + sum(np.einsum("bna,ad,bn->bd", z, K[h], z @ v[h]) / N for h in range(H))
    errors = np.einsum("bd,de,be->b", answer - w, here[0], answer - w)
    value = population.risk(m, population.read(K, v), population.tasks(*here), N)[0]
    assert abs(errors.mean() - value) < 4.5 * errors.std() / len(errors) ** 0.5 < 0.05 * value


def test_the_gradient_is_that_of_small_steps():
    here, m, C = population.tasks(*law(2)), draw(4, 2), population.read(draw(5, 1, 3, 2), draw(6, 1, 3))
    _, in_m, in_C = population.risk(m, C, here, 4)
    e, turn = 1e-6, population.read(draw(8, 1, 3, 2), draw(9, 1, 3))

    def change(m_1, C_1, m_2, C_2):
        return population.risk(m_1, C_1, here, 4)[0] - population.risk(m_2, C_2, here, 4)[0]

    step = np.array([0.3, -0.7])
    assert change(m + e * step, C, m - e * step, C) / (2 * e) == pytest.approx(in_m @ step, rel=1e-7)
    assert change(m, C + e * turn, m, C - e * turn) / (2 * e) == pytest.approx((in_C * turn).sum(), rel=1e-7)


def test_nodes_have_the_moments_of_the_tasks():
    _, mu, Psi, _ = law(2)
    w, weight, *_ = population.tasks(*law(2))
    assert weight.sum() == pytest.approx(1)
    assert weight @ w == pytest.approx(mu)
    assert np.cov(w.T, aweights=weight, bias=True) == pytest.approx(Psi)
    fourth = weight @ (w[:, 0] - mu[0]) ** 4
    assert fourth == pytest.approx(3 * Psi[0, 0] ** 2)
    assert len(population.tasks(np.eye(2), mu, np.zeros((2, 2)), 0.0).w) == 1


@pytest.mark.parametrize(("d", "N"), [(1, 2), (3, 7), (5, 4)])
def test_without_noise_and_mean_it_is_the_theorem_of_zhang_et_al(d, N):
    Lambda, one = positive(d, 1), np.eye(d)
    assert own.Gamma(Lambda, one, 0.0, N) == pytest.approx(zhang.Gamma(Lambda, N))
    assert own.least_risk(Lambda, one, 0.0, N) == pytest.approx(2 * zhang.loss_minimum(Lambda, N))


def test_tasks_on_a_line_have_the_least_risk_of_tasks_that_nearly_are():
    line = np.outer([0.3, -1.0, 2.0], [0.3, -1.0, 2.0])
    near = own.least_risk(np.diag([1.0, 2.0, 4.0]), line + 1e-7 * np.eye(3), 0.5, 6)
    assert own.least_risk(np.diag([1.0, 2.0, 4.0]), line, 0.5, 6) == pytest.approx(near, rel=1e-5)


@pytest.mark.parametrize(("d", "N"), [(2, 3), (3, 7)])
def test_the_optimum_has_the_least_risk_and_no_slope(d, N):
    here = law(d)
    m, v, K = own.optimum(*here, N)
    C = population.read(K[None], v[None])
    value, in_m, in_C = population.risk(m, C, population.tasks(*here), N)
    least = own.least_risk(here[0], here[2], here[3], N)
    assert value == pytest.approx(least, rel=1e-12)
    in_K, in_v = np.einsum("iab,b->ai", in_C, v), np.einsum("iab,ai->b", in_C, K)
    assert max(abs(each).max() for each in (in_m, in_K, in_v)) < 1e-12
    for k in range(20):
        other = C + 0.1 * population.read(draw(20 + k, 1, d + 1, d), draw(50 + k, 1, d + 1))
        assert population.risk(m, other, population.tasks(*here), N)[0] > least


def test_a_mean_is_a_shift_of_row_and_values():
    Lambda, mu, Psi, noise = law(3)
    m, K, v = draw(4, 3), draw(5, 1, 4, 3), draw(6, 1, 4)
    T = np.eye(4)
    T[3, :3] = -mu
    here = population.risk(m, population.read(K, v), population.tasks(Lambda, mu, Psi, noise), 5)[0]
    K_shifted, v_shifted = np.linalg.inv(T).T @ K[0], np.linalg.inv(T).T @ v[0]
    there = population.tasks(Lambda, 0 * mu, Psi, noise)
    assert here == pytest.approx(population.risk(m - mu, population.read(K_shifted[None], v_shifted[None]), there, 5)[0])


@pytest.mark.parametrize("d", [2, 4])
def test_the_block_with_these_weights_steps_on_the_loss(d):
    """W and V share the two rows; the torch block reads its row at the unit vectors."""
    here = law(d)
    m, v, K = own.optimum(*here, 6)
    _, x, y = prompts(here, 3, 9, 30)
    W = np.stack([np.append(m, 1.0), draw(31, d + 1)])
    V = np.zeros((d + 1, d + 1))
    V[d] = v
    weights = {"u": np.array([1.0, 0.0]), "W": W, "V": V[None], "K": np.c_[K, np.zeros(d + 1)][None]}
    weights = {name: torch.tensor(each)[None] for name, each in weights.items()}
    tokens = torch.tensor(np.concatenate([x, y[..., None]], -1))[None]
    units = torch.eye(d, dtype=torch.float64).expand(3, d, d)
    rows = Block("linear", "linear")(weights, tokens, units)[0].numpy()
    Gamma = own.Gamma(here[0], here[2], here[3], 6)
    assert rows == pytest.approx(np.array([own.stepped(m, Gamma, *each) for each in zip(x, y, strict=True)]))
    assert Block("linear", "linear").alone(weights, units[0])[0, 0].numpy() == pytest.approx(m)


@pytest.mark.parametrize(("attention", "feed"), [("softmax", "ReLU"), ("linear", "ReLU"), ("softmax", "linear")])
def test_a_block_token_by_token(attention, feed):
    shape = Shape(networks=2, heads=2, neurons=5, d=2)
    weights = initial(torch.Generator().manual_seed(0), shape, biases=feed == "ReLU")
    weights = {name: each + 0.1 for name, each in weights.items()}
    tokens, queries = torch.tensor(draw(1, 2, 3, 4, 3)).float(), torch.tensor(draw(2, 3, 6, 2)).float()
    found = Block(attention, feed)(weights, tokens, queries)
    K, V, W, u = (weights[name][1].numpy() for name in "KVWu")
    context, z = tokens[1, 2].numpy(), np.append(queries[2, 5].numpy(), 0)
    a = z.copy()
    for k, v in zip(K, V, strict=True):
        scores = context @ k @ z
        scores = np.exp(scores) / np.exp(scores).sum() if attention == "softmax" else scores / len(context)
        a = a + v @ (scores @ context)
    hidden = np.maximum(W @ a + weights["b"][1].numpy(), 0) if feed == "ReLU" else W @ a
    assert found[1, 2, 5].item() == pytest.approx(float(u @ hidden), rel=1e-4)


def test_what_a_matrix_explains():
    gradient, G = torch.tensor(draw(1, 50, 3)), torch.tensor(draw(2, 3, 3))
    off = torch.tensor(draw(3, 50, 3))
    off = off - gradient @ torch.linalg.pinv(gradient) @ off
    left, found = _explained(gradient @ G + off, gradient)
    assert found.numpy() == pytest.approx(G.numpy())
    assert float(left) == pytest.approx(float((off**2).sum() / ((gradient @ G + off) ** 2).sum()))


def test_the_gradient_of_the_context_by_small_steps():
    _, x, y = (each[0] for each in prompts(law(3), 1, 5, 40))
    r, step = draw(41, 3), draw(42, 3)
    slope = (own.loss(r + 1e-6 * step, x, y) - own.loss(r - 1e-6 * step, x, y)) / 2e-6
    assert slope == pytest.approx(own.gradient(r, x, y) @ step, rel=1e-7)


def test_the_trap_by_scanning_directions_of_the_values():
    """At d = 2, values (cos, sin, 0): the risk is quadratic in row and keys, so their best is a system of equations."""
    here, N = law(2), 5
    tasks = population.tasks(here[0], 0 * here[1], *here[2:])

    def best(angle: float) -> float:
        v = np.array([[np.cos(angle), np.sin(angle), 0.0]])

        def slope(theta: np.ndarray) -> np.ndarray:
            _, in_m, in_C = population.risk(theta[:2], population.read(theta[2:].reshape(1, 3, 2), v), tasks, N)
            return np.append(in_m, np.einsum("iab,b->ai", in_C, v[0]))

        at_0 = slope(np.zeros(8))
        theta = np.linalg.solve(np.array([slope(each) - at_0 for each in np.eye(8)]).T, -at_0)
        return population.risk(theta[:2], population.read(theta[2:].reshape(1, 3, 2), v), tasks, N)[0]

    found = min(best(angle) for angle in np.linspace(0, np.pi, 721))
    assert found == pytest.approx(own.trap_risk(here[0], here[2], here[3], N), rel=1e-5)
    assert own.trap_risk(np.eye(1), np.eye(1), 0.0, 2) == pytest.approx(0.5)  # one direction carries all


def test_bounds_of_attention_without_a_row():
    Lambda, mu, Psi, noise = here = law(3)
    second = Psi + np.outer(mu, mu)
    K = np.r_[np.linalg.inv(own.Gamma(Lambda, second, noise, 6)), np.zeros((1, 3))]
    C = population.read(K[None], np.eye(4)[None, 3])
    lower, upper = own.without_row(*here, 6)
    assert population.risk(0 * mu, C, population.tasks(*here), 6)[0] == pytest.approx(upper)
    assert lower < upper
    alike = own.without_row(Lambda, 0 * mu, Psi, noise, 6)
    assert alike[1] == pytest.approx(own.least_risk(Lambda, Psi, noise, 6))
    # one known task: R* is 0 there, and the floor of one head, |w|^2/4 at N = 6, is what bounds
    sure = own.without_row(np.eye(1), np.array([3.0]), 1e-9 * np.eye(1), 0.0, 6)
    assert sure[0] == pytest.approx(9 / 4, rel=1e-6)


@pytest.mark.parametrize(("d", "N", "H", "noise"), [(2, 5, 1, 0.4), (2, 5, 3, 0.4), (3, 4, 3, 0.0)])
def test_the_floor_is_attained_by_heads_at_right_angles(d, N, H, noise):
    """K_h = k_h w^T with k_h = v_h = Sigma^-1/2 e_h: then the answer is w times a mean of H chi squares."""
    Lambda, w = positive(d, 1), draw(2, d)
    tasks = population.tasks(Lambda, w, np.zeros((d, d)), noise)
    values, basis = np.linalg.eigh(tasks.Sigma[0])
    k = (basis[:, ::-1][:, :H] / values[::-1][:H] ** 0.5).T
    K = np.einsum("ha,i->hai", k, w) * N / (N * H + 2)
    share = population.risk(0 * w, population.read(K, k), tasks, N)[0] / (w @ Lambda @ w)
    assert share == pytest.approx(own.floor(N, H, d + (noise > 0)))


def test_floor_by_hand():
    # E(1 - c s)^2 with s the mean of two squares of normals: mean 1, variance 1; c = 1/2, left 1/2.
    assert own.floor(2, 1) == 0.5
    assert own.floor(2, 4, 3) == own.floor(2, 3) == 0.25


def test_gradient_flow_keeps_Q_and_Q_gives_the_angle():
    u, W, target = draw(1, 4), draw(2, 4, 3), draw(3, 3)
    Q = read_out.conserved(u, W)
    for _ in range(4000):
        g = np.tanh(u @ W - target)
        u, W = u - 1e-3 * W @ g, W - 1e-3 * np.outer(u, g)
    assert read_out.conserved(u, W) == pytest.approx(Q, abs=1e-2)
    now = read_out.conserved(u, W)
    r = u @ W
    cosine = (W @ r) @ u / np.linalg.norm(W @ r) / np.linalg.norm(u)
    assert read_out.tangent(now, u) == pytest.approx(np.tan(np.arccos(abs(cosine))))
    off = W - np.outer(u, u @ W) / (u @ u)
    assert read_out.share_off(now, u) == pytest.approx((off**2).sum() / (W**2).sum())


@pytest.mark.parametrize("seed", range(30))
def test_no_angle_is_above_its_bound(seed):
    u, W = draw(seed, 5), draw(seed + 100, 5, 3) * 10 ** (seed / 15 - 1)
    Q = read_out.conserved(u, W)
    assert read_out.tangent(Q, u) <= read_out.largest_tangent(Q, u @ W) * (1 + 1e-9)
    values = np.linalg.eigvalsh(Q)
    r = u @ W
    assert (u @ u) ** 2 <= values[-1] * (u @ u) + r @ r + 1e-9  # |r|^2 = |u|^4 - u^T Q u is exact at Q's own u
