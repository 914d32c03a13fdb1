"""Token-by-token generation: with the whole context, and by a patched network that sees the last tokens only.

A predictor maps the tokens so far, (..., T), to the logits of the next one, (..., V). ``generate`` asks it again and again.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from icl_lib.models.contextual.weights import Weights
from icl_lib.patches.network import forward, patched_network
from icl_lib.patches.sites import Site
from papers.dherin.network import Network

Choose = Callable[[Tensor, int], Tensor]
"""(logits (..., V), step) -> tokens (...)."""


@runtime_checkable
class Predictor(Protocol):
    """A rule that gives the logits of the next token."""

    def __call__(self, tokens: Tensor) -> Tensor: ...


class Generated(NamedTuple):
    """The prompt with what was generated behind it, and the logits of every generated token."""

    tokens: Int[Tensor, "... T"]
    logits: Float[Tensor, "... steps V"]


def generate(predict: Predictor, prompt: Int[Tensor, "... T"], steps: int, choose: Choose) -> Generated:
    """Return ``steps`` tokens, each chosen from the logits that the predictor gives for the prompt and its own tokens."""
    if prompt.shape[-1] < 1 or steps < 1:
        raise ValueError(f"needs a prompt of 1 token or more and 1 step or more, not {prompt.shape[-1]} and {steps}")
    tokens, logits = prompt, []
    for step in range(steps):
        logits.append(predict(tokens))
        tokens = torch.cat([tokens, choose(logits[-1], step)[..., None]], -1)
    return Generated(tokens, torch.stack(logits, -2))


def greedy(logits: Float[Tensor, "... V"], step: int) -> Int[Tensor, "..."]:
    """Choose the most likely token."""
    return logits.argmax(-1)


def sampled(noise: Float[Tensor, "... steps V"], temperature: float = 1.0) -> Choose:
    """Return the choice of argmax(logits / temperature + noise of this step).

    With Gumbel noise this is a draw from softmax(logits / temperature); two runs with one noise use common random numbers.
    """
    return lambda logits, step: (logits / temperature + noise[..., step, :]).argmax(-1)


def with_context(network: Network, weights: Weights) -> Predictor:
    """Return the predictor that sees all tokens."""

    def predict(tokens: Int[Tensor, "... T"]) -> Float[Tensor, "... V"]:
        _, left = network.states(weights, network.embed(weights, tokens))
        return network.read(weights, left[..., -1:, :])[..., 0, :]

    return predict


def with_patches(network: Network, site: Site, weights: Weights, window: int = 0) -> Predictor:
    """Return the predictor that sees the last token and ``window`` tokens before it, at their absolute positions.

    Patches are made anew for every token, from the states that the whole context gives it.
    """
    return lambda tokens: _patched(network, site, weights, tokens, window)[1]


class Stale:
    """The predictor whose patches are those of the token before; the first token has its own.

    It sees the last token alone, at its absolute position.
    """

    def __init__(self, network: Network, site: Site, weights: Weights):
        self.network, self.site, self.weights = network, site, weights

    def __call__(self, tokens: Int[Tensor, "... T"]) -> Float[Tensor, "... V"]:
        """Return the logits of the next token."""
        before = tokens[..., :-1] if tokens.shape[-1] > 1 else tokens
        patched, _ = _patched(self.network, self.site, self.weights, before, 0)
        return reuse(self.network, self.weights, patched, tokens, 0)


def reuse(
    network: Network, weights: Weights, patched: list[Weights], tokens: Int[Tensor, "... T"], window: int
) -> Float[Tensor, "... V"]:
    """Return the logits that patches made elsewhere give for the last token."""
    positions = _last(tokens, window)
    left = forward(network, patched, network.embed(weights, tokens[..., positions]), positions)
    return network.read(weights, left[..., -1:, :])[..., 0, :]


def _patched(network: Network, site: Site, weights: Weights, tokens: Tensor, window: int) -> tuple[list[Weights], Tensor]:
    embedded = network.embed(weights, tokens)
    targets = [state.at(-1) for state in network.states(weights, embedded)[0]]
    positions = _last(tokens, window)
    patched, left = patched_network(network, site, weights, targets, embedded[..., positions, :], positions)
    return patched, network.read(weights, left[..., -1:, :])[..., 0, :]


def _last(tokens: Tensor, window: int) -> Tensor:
    T = tokens.shape[-1]
    return torch.arange(max(0, T - 1 - window), T, device=tokens.device)
