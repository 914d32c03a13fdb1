"""Rules that turn gradients into new parameters, and schedules of their learning rates; all replicates at once.

SGD steps against the gradient, at its size; the first step of Adam is the learning rate, for gradients well above its epsilon:

>>> import torch
>>> from icl_lib.train.optimizers import SGD, Adam
>>> parameters, gradients = {"w": torch.ones(2)}, {"w": torch.tensor([2.0, -4.0])}
>>> for rule in (SGD(0.25), Adam(0.25)):
...     moved, _ = rule.step(parameters, gradients, rule.start(parameters), step=0, factor=1.0)
...     moved["w"].round(decimals=4).tolist()
[0.5, 2.0]
[0.75, 1.25]
"""

from dataclasses import dataclass
from numbers import Real
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim.adam import adam

from icl_lib.typed import refuse

Parameters = dict[str, Tensor]
"""Named tensors; the first dimension of each counts replicates (seeds, learning rates, training distributions)."""


@runtime_checkable
class Optimizer(Protocol):
    """A rule (parameters, gradients) -> parameters with a state; learning rates may differ by replicate."""

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return the state before the first step."""
        ...

    def step(
        self, parameters: Parameters, gradients: Parameters, state: dict[str, Parameters], step: int, factor: float
    ) -> tuple[Parameters, dict[str, Parameters]]:
        """Return parameters and state after step number ``step``, from 0; ``factor`` is that of the schedule."""
        ...


def per_replicate(rate: float | Float[Tensor, "S"], like: Tensor) -> float | Tensor:
    """Return a learning rate shaped to multiply a parameter of S replicates."""
    refuse(
        hasattr(rate, "__len__") and not isinstance(rate, Tensor),
        f"learning rates are a {type(rate).__name__}: give a number, or a tensor of one for each replicate",
    )
    refuse(
        isinstance(rate, Tensor) and rate.numel() not in (1, len(like)),
        f"learning rates of shape {tuple(getattr(rate, 'shape', ()))} for {len(like)} replicates: give one, or one for each",
    )
    return rate.to(like).reshape(-1, *[1] * (like.ndim - 1)) if isinstance(rate, Tensor) else rate


def _unfit(rate: object, epsilon: float = 0.0, betas: tuple[float, ...] = ()) -> tuple[bool, str]:
    """Return whether a rule would step uphill or to no number, and why: what ``refuse`` takes; wrong types ``step`` refuses."""
    down = not isinstance(rate, Real | Tensor) or bool((torch.as_tensor(rate) >= 0).all())
    kept = all(0 <= each < 1 for each in betas)
    told = f"learning rate {rate} and epsilon {epsilon}: give numbers of at least 0"
    return not (down and epsilon >= 0 and kept), told + (f", and betas {betas} below 1" if betas else "")


@dataclass(frozen=True, eq=False)
class SGD:
    """theta <- theta - factor * learning_rate * gradient."""

    learning_rate: float | Float[Tensor, "S"]

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return the empty state."""
        refuse(*_unfit(self.learning_rate))
        return {}

    def step(self, parameters, gradients, state, step, factor):
        """Return the parameters after one step and the state."""
        rate = self.learning_rate
        return {k: p - factor * per_replicate(rate, p) * gradients[k] for k, p in parameters.items()}, state


@dataclass(frozen=True, eq=False)
class Adam:
    """Adam with bias correction (Kingma and Ba 2015, algorithm 1).

    theta <- theta - factor * learning_rate * m' / (sqrt(v') + epsilon), with m <- b1 m + (1 - b1) gradient,
    v <- b2 v + (1 - b2) gradient^2, and in step t = 1, 2, ... m' = m/(1 - b1^t), v' = v/(1 - b2^t).
    """

    learning_rate: float | Float[Tensor, "S"]
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return zero first and second moments."""
        refuse(*_unfit(self.learning_rate, self.epsilon, self.betas))
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


@dataclass(frozen=True, eq=False)
class FusedAdam:
    """The rule of ``Adam`` with one learning rate for all replicates, in one kernel and in place.

    The kernel reads memory as it lies: each gradient has to have the strides of its parameter, as those of contiguous layers
    have. Raises ValueError where it has not; ``Adam`` takes any.
    """

    learning_rate: float
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def start(self, parameters: Parameters) -> dict[str, Parameters]:
        """Return zero first and second moments, and counts of steps."""
        refuse(*_unfit(self.learning_rate, self.epsilon, self.betas))
        zeros = {name: {k: torch.zeros_like(p) for k, p in parameters.items()} for name in ("first", "second")}
        return zeros | {"count": {k: torch.zeros((), dtype=torch.float32, device=p.device) for k, p in parameters.items()}}

    def step(self, parameters, gradients, state, step, factor):
        """Change parameters and state in place, and return them."""
        refuse(hasattr(self.learning_rate, "__len__"), "one kernel has one learning rate: give a number, or use Adam")
        refuse(
            not all(_lie_alike(p, gradients[k]) and _lie_alike(p, state["first"][k]) for k, p in parameters.items()),
            "gradients or moments lie in memory otherwise than their parameters: use Adam, or make both contiguous",
        )
        with torch.no_grad():
            adam(
                *(list(group.values()) for group in (parameters, {k: gradients[k] for k in parameters})),
                *(list(state[name].values()) for name in ("first", "second")),
                [],
                list(state["count"].values()),
                fused=True,
                amsgrad=False,
                beta1=self.betas[0],
                beta2=self.betas[1],
                lr=self.learning_rate * factor,
                weight_decay=0.0,
                eps=self.epsilon,
                maximize=False,
            )
        return parameters, state


def _lie_alike(one: Tensor, other: Tensor) -> bool:
    return one.stride() == other.stride() or (one.is_contiguous() and other.is_contiguous())


def constant(progress: float) -> float:
    """Keep the learning rate."""
    return 1.0


def linear_decay(progress: float) -> float:
    """Lower the learning rate linearly to 0."""
    return 1.0 - progress
