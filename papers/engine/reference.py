"""The plain training loop of the literature's public code, against which the engine is timed."""

import importlib.util

import torch
from torch import Tensor, nn

from icl_lib.models.gpt2 import GPT2
from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from icl_lib.train.loop import Checkpoint
from papers.engine.gpt2_state import state_dict
from papers.regression.decoders import DecoderTraining

AVAILABLE = "transformers"
"""The package that holds ``GPT2Model``; the book itself does without it."""


def installed() -> bool:
    """Say whether the reference can run here."""
    return importlib.util.find_spec(AVAILABLE) is not None


class Reference(nn.Module):
    """Hugging Face's ``GPT2Model`` between a linear read-in and a linear read-out, as in Garg et al. 2022.

    Parameters have the names of their ``TransformerModel``, so that ``gpt2_state`` carries weights over. Raises
    ValueError when Hugging Face's transformers are not installed, or the decoder has no positions.
    """

    def __init__(self, decoder: GPT2):
        super().__init__()
        if not installed():
            raise ValueError(f"the plain loop needs Hugging Face's {AVAILABLE}: install it with pip install {AVAILABLE}")
        if not decoder.positions:
            raise ValueError("the plain loop has a table of positions: take a decoder with one")
        from transformers import GPT2Config, GPT2Model

        config = GPT2Config(
            n_positions=decoder.positions,
            n_embd=decoder.width,
            n_layer=decoder.layers,
            n_head=decoder.heads,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            use_cache=False,
            vocab_size=1,
        )
        self._read_in = nn.Linear(decoder.entries, decoder.width)
        self._backbone = GPT2Model(config)
        self._read_out = nn.Linear(decoder.width, 1)

    def forward(self, xs: Tensor, ys: Tensor) -> Tensor:
        """Return the predictions (B, N + 1) at inputs (B, N + 1, d), each from the inputs and labels before it."""
        labels = torch.cat([ys[..., None], torch.zeros_like(xs[..., 1:])], -1)
        tokens = torch.stack([xs, labels], 2).flatten(1, 2)
        hidden = self._backbone(inputs_embeds=self._read_in(tokens)).last_hidden_state
        return self._read_out(hidden)[:, ::2, 0]


def inputs_and_labels(prompts: Prompts) -> tuple[Tensor, Tensor]:
    """Return the N + 1 inputs and labels of the only model's prompts, the query last."""
    xs = torch.cat([prompts.x, prompts.x_query[..., None, :]], -2)
    return xs[0], torch.cat([prompts.y, prompts.y_query[..., None]], -1)[0]


def started_as_the_engine(decoder: GPT2, seed: int) -> Reference:
    """Return the model with the weights from which the engine starts on the CPU."""
    with torch.random.fork_rng(devices=[]):  # layers draw a start of their own from the global generator
        model = Reference(decoder)
    model.load_state_dict(state_dict(decoder.start(stream(seed, "weights"), 1, torch.zeros(()))), strict=False)
    return model


def train_plainly(training: DecoderTraining, seed: int, device: str, checkpoint: Checkpoint) -> list[float]:
    """Train one model in a loop as public code has it, and return the loss of every step.

    Prompt distribution, batch, loss and optimizer are those of ``DecoderTraining.run``. What differs: prompts are drawn on the
    host and moved, the host waits for the loss of every step, everything is in float32, a prompt has 2(N + 1) tokens, with
    the last label too, and every layer computes all of them. Left out, in its favour: the loss by position and the log,
    which that code has in every step, and a schedule of the rate.
    """
    model = started_as_the_engine(training.decoder(), seed).to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=training.rate)
    losses = []
    for step in range(training.steps):
        xs, ys = inputs_and_labels(training.prompts(seed, step, "cpu"))
        xs, ys = xs.to(device), ys.to(device)
        optimizer.zero_grad()
        loss = (model(xs, ys) - ys).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().item())
        if (step + 1) % checkpoint.every == 0:
            checkpoint.save({})
    return losses
