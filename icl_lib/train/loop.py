"""The training loop, all replicates at once, on CPU or CUDA.

The host waits for the device at checkpoints and reports only. On CUDA a step, from the gradient to the new parameters, can
be recorded as a CUDA graph, one for each shape of the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad_and_value, vmap
from tqdm import tqdm

from icl_lib.train.optimizers import Optimizer, Parameters, constant
from icl_lib.train.recording import Batch, FixedPlaces
from icl_lib.typed import refuse

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

    Runs where the parameters are, in their dtype, and leaves them as they were; with ``record`` the learning rate is rounded
    to float32. Losses stay on the device until the end.
    Raises ValueError without a step, and for parameters of different numbers of replicates.

    Two replicates: with the learning rate 1/4 the error of w halves at each step, with 1/2 it vanishes at once:

    >>> import torch
    >>> from icl_lib.train.loop import summed, train
    >>> from icl_lib.train.optimizers import SGD
    >>> start, rates = {"w": torch.zeros(2)}, torch.tensor([0.25, 0.5])
    >>> def losses(now, target):
    ...     return (now["w"] - target) ** 2
    >>> found = train(losses, start, lambda step: torch.ones(2), SGD(rates), steps=3, differentiate=summed)
    >>> found.parameters["w"].tolist(), found.losses.tolist()
    ([0.875, 1.0], [[1.0, 1.0], [0.25, 0.0], [0.0625, 0.0]])
    """
    refuse(not hasattr(steps, "__index__") or steps < 1, f"{steps} steps: train for at least one, a whole number")
    refuse(
        not (parameters and all(isinstance(p, Tensor) and p.is_floating_point() for p in parameters.values())),
        f"parameters are {', '.join(type(p).__name__ for p in parameters.values()) or 'none'}: give tensors of floats by name",
    )
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
