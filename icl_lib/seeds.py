"""Random generators named by their role."""

import hashlib

import torch

from icl_lib.typed import refuse


def stream(seed: int, name: str, device: str | torch.device = "cpu") -> torch.Generator:
    """Return the generator of ``name`` under ``seed``.

    Equal arguments give equal draws, whatever was drawn elsewhere; different names give independent draws.
    Batch 17 of a training run is ``stream(seed, "data/17")``. On the CPU PyTorch's generator reads 32 bits of its seed: of n
    names about n^2/2^33 pairs draw alike, among 500,000 batches some thirty.

    >>> import torch
    >>> from icl_lib.seeds import stream
    >>> one, other, again = (torch.rand(2, generator=stream(0, f"data/{step}")).tolist() for step in (17, 18, 17))
    >>> one == again, one == other
    (True, False)
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an integer, not {seed!r}: pass for example seed=0")
    refuse(
        torch.device(device).type == "cuda" and not torch.cuda.is_available(),
        "no CUDA device is available here: draw on the cpu",
    )
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = torch.Generator(device=device)
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    return generator
