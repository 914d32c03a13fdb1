"""The training loop, all replicates at once, on CPU or CUDA.

The host waits for the device at checkpoints and reports only. On CUDA a step, from the gradient to the new parameters, can
be recorded as a CUDA graph, one for each shape of the batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad_and_value, vmap
from torch.optim.adam import adam
from tqdm import tqdm

from icl_lib.train.recording import Batch, FixedPlaces
from icl_lib.typed import refuse

Parameters = dict[str, Tensor]
"""Named tensors; the first dimension of each counts replicates (seeds, learning rates, training distributions)."""
Gradient = Callable[[Parameters, Batch], tuple[Parameters, Tensor]]
"""(parameters, batch) -> (gradients, loss of every replicate)."""
REPORT_EVERY = 200
"""Steps between two looks at the loss; each look waits for the device."""


# --- losses -------------------------------------------------------------------------------------------------------


def replicated(loss: Callable[[Parameters, Any], Tensor]) -> Gradient:
    """Return the gradient of a loss of one replicate, (parameters, batch) -> scalar, mapped over replicates by torch.func."""
    return vmap(grad_and_value(loss))


def summed(loss: Callable[[Parameters, Any], Float[Tensor, "S"]]) -> Gradient:
    """Return the gradient of a loss of all replicates, (parameters, batch) -> (S,).

    Replicates do not meet in the loss, so the gradient of its sum holds the gradient of each. Raises ValueError for another
    shape, such as one number for all of them.
    """

    def gradient(parameters: Parameters, batch: Batch) -> tuple[Parameters, Tensor]:
        leaves = {name: p.detach().requires_grad_() for name, p in parameters.items()}
        values = loss(leaves, batch)
        refuse(_count(leaves) != values.shape, f"the loss has shape {tuple(values.shape)}: give (S,), one number a replicate")
        found = torch.autograd.grad(values.sum(), list(leaves.values()))
        return dict(zip(leaves, found, strict=True)), values.detach()

    return gradient


# --- optimizers ---------------------------------------------------------------------------------------------------


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
        isinstance(rate, Tensor) and rate.numel() not in (1, len(like)),
        f"learning rates of shape {tuple(getattr(rate, 'shape', ()))} for {len(like)} replicates: give one, or one for each",
    )
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
        zeros = {name: {k: torch.zeros_like(p) for k, p in parameters.items()} for name in ("first", "second")}
        return zeros | {"count": {k: torch.zeros((), dtype=torch.float32, device=p.device) for k, p in parameters.items()}}

    def step(self, parameters, gradients, state, step, factor):
        """Change parameters and state in place, and return them."""
        refuse(
            not all(_lie_alike(p, gradients[k]) for k, p in parameters.items()),
            "gradients lie in memory otherwise than their parameters: use Adam, or make both contiguous",
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


def constant(progress: float) -> float:
    """Keep the learning rate."""
    return 1.0


def linear_decay(progress: float) -> float:
    """Lower the learning rate linearly to 0."""
    return 1.0 - progress


@runtime_checkable
class Checkpoint(Protocol):
    """Where a run's state is kept; ``checkpoints.Checkpoint`` keeps it in a file."""

    every: int

    def load(self) -> Mapping[str, Any] | None:
        """Return what was saved last, or None."""
        ...

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep the number of steps done, parameters, state of the optimizer and losses, each under its name."""
        ...


class Training(NamedTuple):
    """What a run returns: the final parameters and the loss of every replicate at every step."""

    parameters: Parameters
    losses: Float[Tensor, "steps S"]


# --- the loop -----------------------------------------------------------------------------------------------------


def train(
    loss: Callable[[Parameters, Any], Tensor],
    parameters: Parameters,
    draw: Callable[[int], Any],
    optimizer: Optimizer,
    steps: int,
    *,
    differentiate: Callable[[Callable], Gradient] = replicated,
    schedule: Callable[[float], float] = constant,
    checkpoint: Checkpoint | None = None,
    title: str = "training",
    references: Mapping[str, float] | None = None,
    record: Callable[[Callable[[], None]], Callable[[], None]] | None = None,
) -> Training:
    """Minimise ``loss`` from ``parameters`` by ``steps`` steps, all replicates as one batch.

    loss           one replicate's parameters and batch -> scalar; or, with ``summed``, those of all -> (S,)
    parameters     each with the replicates first, (S, ...): a single one's as ``W[None]``
    draw           step -> batch with the replicates first; a function of the step alone, so that a resumed run
                   sees the same batches (draw from ``stream(seed, f"data/{step}")``)
    differentiate  ``replicated`` maps the loss over replicates by torch.func; ``summed`` takes a loss of all
    schedule       step/steps -> factor of the learning rate
    checkpoint     loaded before the first step when it holds a state, saved every ``checkpoint.every`` steps; it has to be
                   of this run, as one of ``companion.Checkpoint.of`` is
    references     losses by name, shown beside the present one, the mean of the last REPORT_EVERY steps
    record         how to record a step once and repeat it, such as ``recording.capture`` on CUDA; without, it is called

    Runs where the parameters are, in their dtype, and leaves them as they were. Losses stay on the device until the end.
    Raises ValueError without a step, and for parameters of different numbers of replicates.

    Two replicates: with the learning rate 1/4 the error of w halves at each step, with 1/2 it vanishes at once:

    >>> import torch
    >>> from icl_lib.train.loop import SGD, summed, train
    >>> start, rates = {"w": torch.zeros(2)}, torch.tensor([0.25, 0.5])
    >>> def losses(now, target):
    ...     return (now["w"] - target) ** 2
    >>> found = train(losses, start, lambda step: torch.ones(2), SGD(rates), steps=3, differentiate=summed)
    >>> found.parameters["w"].tolist(), found.losses.tolist()
    ([0.875, 1.0], [[1.0, 1.0], [0.25, 0.0], [0.0625, 0.0]])
    """
    refuse(steps < 1, f"{steps} steps: train for at least one")
    refuse(_count(parameters) is None, "parameters have different numbers of replicates: give each as (S, ...), one as W[None]")
    saved = checkpoint.load() if checkpoint else None
    refuse(
        saved is not None
        and {k: p.shape for k, p in saved["parameters"].items()} != {k: p.shape for k, p in parameters.items()},
        "the checkpoint holds other parameters: it is of another run, give each run a file of its own",
    )
    refuse(saved is not None and saved["step"] > steps, f"the checkpoint has more steps than {steps}: it is of another run")
    if saved is None:
        own = {name: p.detach().clone() for name, p in parameters.items()}
        saved = {"step": 0, "parameters": own, "state": optimizer.start(own), "losses": None}
    parameters, state, losses = saved["parameters"], saved["state"], _extended(saved["losses"], steps)
    advance = _stepper(differentiate(loss), optimizer, parameters, state, record)
    with tqdm(desc=title, initial=saved["step"], total=steps, disable=None) as bar:
        for step in range(saved["step"], steps):
            parameters, state, value = advance(parameters, state, draw(step), step, schedule(step / steps))
            losses = value.new_empty(steps, *value.shape) if losses is None else losses
            losses[step] = value
            if checkpoint and (step + 1) % checkpoint.every == 0:
                done = losses[: step + 1].clone()
                checkpoint.save({"step": step + 1, "parameters": parameters, "state": state, "losses": done})
            bar.update()
            if (step + 1) % REPORT_EVERY == 0 and not bar.disable:
                bar.set_postfix_str(report(float(losses[step + 1 - REPORT_EVERY : step + 1].mean()), references or {}))
    return Training(parameters, losses.detach())


def _count(parameters: Parameters) -> tuple[int] | None:
    """Return the number of replicates, (S,), or None where parameters do not agree on one."""
    counts = {tuple(p.shape[:1]) for p in parameters.values()}
    return counts.pop() if len(counts) == 1 and () not in counts else None


def _lie_alike(one: Tensor, other: Tensor) -> bool:
    return one.stride() == other.stride() or (one.is_contiguous() and other.is_contiguous())


def report(value: float, references: Mapping[str, float]) -> str:
    """Return the present loss and the reference losses in words."""
    beside = ", ".join(f"{name} {reference:.3g}" for name, reference in references.items())
    return f"loss {value:.3g}" + (f" ({beside})" if beside else "")


def _extended(losses: Tensor | None, steps: int) -> Tensor | None:
    """Return room for the losses of all steps, the known ones in it."""
    if losses is None:
        return None
    room = losses.new_empty(steps, *losses.shape[1:])
    room[: len(losses)] = losses
    return room


def _stepper(
    gradient: Gradient, optimizer: Optimizer, parameters: Parameters, state: dict, record: Callable | None
) -> Callable:
    """Return one step, (parameters, state, batch, step, factor) -> (parameters, state, losses)."""

    def advance(parameters: Parameters, state: dict, batch: Batch, step, factor) -> tuple[Parameters, dict, Tensor]:
        gradients, value = gradient(parameters, batch)
        parameters, state = optimizer.step(parameters, gradients, state, step, factor)
        return parameters, state, value

    return FixedPlaces(advance, parameters, state, record) if record else advance
