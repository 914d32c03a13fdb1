"""The training loop, all replicates at once, and population gradient flow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.func import grad_and_value, vmap
from tqdm import tqdm

Parameters = dict[str, Tensor]
"""Named tensors; the first dimension of each counts replicates (seeds, learning rates, training laws)."""
MOST_EVALUATIONS = 200_000
"""Velocities that one gradient flow may ask for; those of the book take a few thousand."""


@runtime_checkable
class Optimizer(Protocol):
    """A rule (parameters, gradients) -> parameters with a state; learning rates may differ by replicate."""

    def start(self, parameters: Parameters) -> dict[str, Parameters]: ...

    def step(
        self, parameters: Parameters, gradients: Parameters, state: dict[str, Parameters], step: int, factor: float
    ) -> tuple[Parameters, dict[str, Parameters]]: ...


def per_replicate(rate: float | Float[Tensor, "S"], like: Tensor) -> float | Tensor:
    """Return a learning rate shaped to multiply a parameter of S replicates."""
    return rate.to(like).reshape(-1, *[1] * (like.ndim - 1)) if isinstance(rate, Tensor) else rate


@dataclass(frozen=True, eq=False)
class SGD:
    """theta <- theta - factor * learning_rate * gradient."""

    learning_rate: float | Float[Tensor, "S"]

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return the empty state."""
        return {}

    def step(self, parameters, gradients, state, step, factor):
        """Return the parameters after one step and the state."""
        rate = self.learning_rate
        return {k: p - factor * per_replicate(rate, p) * gradients[k] for k, p in parameters.items()}, state


@dataclass(frozen=True, eq=False)
class Adam:
    """Adam with bias correction (Kingma and Ba 2015, algorithm 1)."""

    learning_rate: float | Float[Tensor, "S"]
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return zero first and second moments."""
        return {name: {k: torch.zeros_like(p) for k, p in parameters.items()} for name in ("first", "second")}

    def step(self, parameters, gradients, state, step, factor):
        """Return the parameters after step number ``step`` (from 0) and the state."""
        b1, b2 = self.betas
        first = {k: b1 * m + (1 - b1) * gradients[k] for k, m in state["first"].items()}
        second = {k: b2 * v + (1 - b2) * gradients[k] ** 2 for k, v in state["second"].items()}
        moved = {}
        for k, p in parameters.items():
            direction = first[k] / (1 - b1 ** (step + 1))
            scale = (second[k] / (1 - b2 ** (step + 1))).sqrt() + self.epsilon
            moved[k] = p - factor * per_replicate(self.learning_rate, p) * direction / scale
        return moved, {"first": first, "second": second}


def constant(progress: float) -> float:
    """Keep the learning rate."""
    return 1.0


def linear_decay(progress: float) -> float:
    """Lower the learning rate linearly to 0."""
    return 1.0 - progress


@runtime_checkable
class Checkpoint(Protocol):
    """Where a run's state is kept; ``results.Checkpoint`` keeps it in a file."""

    every: int

    def load(self) -> Mapping[str, Any] | None: ...

    def save(self, state: Mapping[str, Any]) -> None: ...


class Training(NamedTuple):
    """What a run returns: the final parameters and the loss of every replicate at every step."""

    parameters: Parameters
    losses: Float[Tensor, "steps S"]


def train(
    loss: Callable[[Parameters, Any], Tensor],
    parameters: Parameters,
    draw: Callable[[int], Any],
    optimizer: Optimizer,
    steps: int,
    *,
    schedule: Callable[[float], float] = constant,
    checkpoint: Checkpoint | None = None,
    title: str = "training",
) -> Training:
    """Minimise ``loss`` from ``parameters`` by ``steps`` steps, all replicates as one batch.

    loss         one replicate's parameters and batch -> scalar; mapped over replicates by torch.func
    draw         step -> batch with the replicates first; a function of the step alone, so that a resumed run
                 sees the same batches (draw from ``stream(seed, f"data/{step}")``)
    schedule     step/steps -> factor of the learning rate
    checkpoint   loaded before the first step when it holds a state, saved every ``checkpoint.every`` steps

    Runs where the parameters are, in their dtype. Losses stay on the device until the end.
    """
    gradient = vmap(grad_and_value(loss))
    saved = checkpoint.load() if checkpoint else None
    if saved is None:
        saved = {"step": 0, "parameters": parameters, "state": optimizer.start(parameters), "losses": []}
    parameters, state, losses = saved["parameters"], saved["state"], list(saved["losses"])
    for step in tqdm(range(saved["step"], steps), desc=title, initial=saved["step"], total=steps, disable=None):
        gradients, value = gradient(parameters, draw(step))
        losses.append(value)
        parameters, state = optimizer.step(parameters, gradients, state, step, schedule(step / steps))
        if checkpoint and (step + 1) % checkpoint.every == 0:
            checkpoint.save({"step": step + 1, "parameters": parameters, "state": state, "losses": losses})
    return Training(parameters, torch.stack(losses).detach())


def gradient_flow(
    velocity: Callable[[Float[ndarray, "P"]], Float[ndarray, "P"]],
    start: Float[ndarray, "P"],
    times: Float[ndarray, "T"],
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Float[ndarray, "T P"]:
    """Integrate d theta/dt = velocity(theta) from theta(0) = start with LSODA and return theta at ``times``.

    ``times`` start at 0 and increase. Raises RuntimeError when the integrator gives up or the flow blows up, that is
    when it asks for more than ``MOST_EVALUATIONS`` velocities.
    """
    evaluations = 0

    def counted(time: float, theta: ndarray) -> ndarray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > MOST_EVALUATIONS:
            raise RuntimeError(f"gradient flow stopped at t={time:.3g} of {times[-1]:.3g}: too many steps, does it blow up?")
        return velocity(theta)

    solution = solve_ivp(counted, (0.0, times[-1]), start, method="LSODA", t_eval=times, rtol=rtol, atol=atol)
    if not solution.success:
        raise RuntimeError(f"gradient flow stopped before t={times[-1]:.3g}: {solution.message}")
    return np.ascontiguousarray(solution.y.T)
