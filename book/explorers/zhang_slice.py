"""The flow of the full loss (Zhang et al. 5.3) on its smallest invariant slice with the optimum and the rank-one point.

Lambda = diag(2, 1), U_11 = diag(b1, b2), u_-1 = s, u_12 = p e_1, u_21 = r e_1. The reflection e_2 -> -e_2 leaves such points
where they are, so flows stay among them. Numbers or arrays alike.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from papers.zhang.theory import full_loss, optimum, rank_one_trap

LAMBDA = np.diag([2.0, 1.0])
TIME = 80.0
ARRIVED = 1.01
"""A flow has arrived when its loss is below 1.01 L*, as on the page."""
STILL = 1e-8
"""A flow stands still when no velocity is larger."""
STORED = Path(__file__).with_name("zhang_slice.json")


class Point(NamedTuple):
    """A point of the slice, or a velocity there."""

    b1: float | ndarray
    b2: float | ndarray
    s: float | ndarray
    p: float | ndarray
    r: float | ndarray

    def plus(self, other: "Point", times: float | ndarray) -> "Point":
        """Return this point and a multiple of another."""
        return Point(*(x + times * y for x, y in zip(self, other, strict=True)))


def start(N: int, s: float | ndarray, product: float | ndarray) -> Point:
    """Return the balanced start with U_11 = s Gamma^-1/||Gamma^-1||, u_12 = sqrt|product| e_1 and u_21 = +-u_12."""
    one, two = np.diag(np.linalg.inv(optimum.Gamma(LAMBDA, N)))
    size, root = float(np.hypot(one, two)), np.sqrt(abs(product))
    return Point(s * float(one) / size, s * float(two) / size, s, root, np.sign(product) * root)


def velocity(N: int, at: Point) -> Point:
    """Return minus the gradient of the full loss, which ``full_loss.full_gradient`` has for every U."""
    (l1, l2), tau = np.diag(LAMBDA).tolist(), float(np.trace(LAMBDA))
    g1, g2 = np.diag(optimum.Gamma(LAMBDA, N)).tolist()
    root = l1**0.5
    B1, B2, s, P, R = l1 * at.b1, l2 * at.b2, at.s, root * at.p, root * at.r
    t, moment = B1 + B2, full_loss.label_moment(LAMBDA, N)
    odd1, odd2 = g1 * (s * B1 + P * R) - l1, g2 * s * B2 - l2
    F = (1 + 1 / N) * B1**2 + (B1**2 + B2**2) / N + (t**2 + 10 * B1**2 + 2 * B2**2 + 4 * t * B1) / N**2
    F = F + 2 / N * (t * B1 + 2 * B1**2)
    F1 = 2 * (1 + 2 / N) * B1 + (6 * t + 24 * B1) / N**2 + 2 / N * (t + 5 * B1)
    F2 = 2 * B2 / N + (2 * t + 4 * B2 + 4 * B1) / N**2 + 2 / N * B1
    H1, H2 = tau + (2 * l1 + 3 * tau) / N, tau / N
    H = H1 * B1 + H2 * B2
    return Point(
        -l1 * (odd1 * s + P * P * F1 / 2 + s * P * R * H1),
        -l2 * (odd2 * s + P * P * F2 / 2 + s * P * R * H2),
        -(odd1 * B1 + odd2 * B2 + moment * s * R * R + P * R * H),
        -root * (odd1 * R + P * F + s * R * H),
        -root * (odd1 * P + moment * s * s * R + s * P * H),
    )


def step(N: int, at: Point, h: float | ndarray) -> Point:
    """Return the point one Runge-Kutta step of fourth order later."""
    one = velocity(N, at)
    two = velocity(N, at.plus(one, h / 2))
    three = velocity(N, at.plus(two, h / 2))
    four = velocity(N, at.plus(three, h))
    return at.plus(one, h / 6).plus(two, h / 3).plus(three, h / 3).plus(four, h / 6)


def safe_step(N: int, at: Point, time: float | ndarray) -> float | ndarray:
    """Return a step in units of 1/(trace of the Hessian), longer when the fast directions have come to rest."""
    (l1, l2), tau = np.diag(LAMBDA).tolist(), float(np.trace(LAMBDA))
    g1, g2 = np.diag(optimum.Gamma(LAMBDA, N)).tolist()
    B1, B2, s2, P2, R2 = l1 * at.b1, l2 * at.b2, at.s**2, l1 * at.p**2, l1 * at.r**2
    moment, t = full_loss.label_moment(LAMBDA, N), B1 + B2
    F = (1 + 2 / N) * B1**2 + B2**2 / N + (t**2 + 10 * B1**2 + 2 * B2**2 + 4 * t * B1) / N**2 + 2 / N * (t + 2 * B1) * B1
    trace = l1**2 * (g1 * s2 + P2 * (1 + 8 / N + 15 / N**2)) + l2**2 * (g2 * s2 + P2 * (1 / N + 3 / N**2))
    trace = trace + g1 * B1**2 + g2 * B2**2 + moment * R2 + l1 * (g1 * (R2 + P2) + F + moment * s2)
    return np.minimum(1.6, 0.3 + 0.5 * time) / (tau + trace)


def flow(N: int, at: Point) -> list[Point]:
    """Return the points of a flow up to the time TIME, or to where it stands still."""
    points, time = [at], 0.0
    while time < TIME and max(map(abs, velocity(N, at))) > STILL:
        h = min(float(safe_step(N, at, time)), TIME - time)
        at, time = step(N, at, h), time + h
        points.append(at)
    return points


def loss(N: int, at: Point) -> ndarray:
    """Return the full loss over its minimum."""
    zero = np.zeros_like(np.asarray(at.s, float))
    U = np.array([[at.b1, zero, at.p], [zero, at.b2, zero], [at.r, zero, at.s]])
    return full_loss.full_loss(LAMBDA, N, np.moveaxis(U, (0, 1), (-2, -1))) / optimum.loss_minimum(LAMBDA, N)


def trap(N: int) -> Point:
    """Return the local minimum that is not global: the rank-one point, or where a flow ends if that is a saddle."""
    if rank_one_trap.trap_margin(LAMBDA, N) > 0:
        U = rank_one_trap.rank_one_point(LAMBDA, N)
        return Point(U[0, 0], U[1, 1], U[2, 2], U[0, 2], U[2, 0])
    return flow(N, flow(N, start(N, 0.3, 0.7))[-1])[-1]


def border(N: int, products: ndarray, widest: float) -> ndarray:
    """Return for every product u_12 . u_21 the least u_-1 from which the flow arrives, by a grid in u_-1 and a finer one."""
    low, width = np.zeros(len(products)), widest
    for shares in (np.arange(0.5, 16), np.arange(0.5, 16)):
        width = width / 16
        values = low[:, None] + shares * width
        arrived = _arrives(N, values.ravel(), np.repeat(products, 16)).reshape(values.shape)
        low = low + np.maximum((~arrived).sum(1) - 0.5, 0) * width
    return low + width / 2


def _arrives(N: int, s: ndarray, product: ndarray) -> ndarray:
    """Return which flows arrive by the time TIME; those that have are not followed further."""
    at, time = start(N, s, product), np.zeros(len(s))
    arrived, index = np.zeros(len(s), bool), np.arange(len(s))
    while len(index):
        h = np.minimum(safe_step(N, at, time), TIME - time)
        at, time = step(N, at, h), time + h
        low = loss(N, at) < ARRIVED
        arrived[index[low]] = True
        going = ~low & (time < TIME)
        at, time, index = Point(*(x[going] for x in at)), time[going], index[going]
    return arrived


def stored() -> dict[str, dict]:
    """Return what ``make`` has stored, by N: the border, and the local minimum with its loss over L*."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def make(lengths: tuple[int, ...] = (2, 10, 50)) -> None:
    """Compute borders and local minima, and store them."""
    products = np.linspace(0, 1, 21) ** 2
    found = {}
    for N in lengths:
        at = trap(N)
        least = border(N, products, 1.6)
        found[str(N)] = {
            "border": [[round(float(s), 3), round(float(q), 4)] for s, q in zip(least, products, strict=True)],
            "trap": [round(float(at.s), 4), round(float(at.p * at.r), 4)],
            "trap_loss": round(float(loss(N, at)), 5),
        }
    STORED.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make()
