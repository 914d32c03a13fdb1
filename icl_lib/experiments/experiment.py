"""A declared experiment: two frozen declarations and one run."""

import time
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import xarray as xr

from icl_lib import results

PROFILES = ("quick", "full")


@runtime_checkable
class Declaration(Protocol):
    """A frozen dataclass whose fields are the paper's parameters."""

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Compute the dataset; pure in the declaration, ``seed`` and ``device``."""
        ...


@dataclass(frozen=True)
class Experiment:
    """One result of one section, at two scales: ``quick`` in seconds, ``full`` as published."""

    slug: str
    title: str
    paper: str
    section: str
    notebook: str
    quick: Declaration
    full: Declaration

    def declaration(self, profile: str) -> Declaration:
        """Return the declaration of a profile; raises ValueError for an unknown one."""
        if profile not in PROFILES:
            raise ValueError(f"unknown profile {profile!r}: take one of {', '.join(PROFILES)}")
        return getattr(self, profile)

    def run(self, profile: str, seed: int, device: str = "cpu") -> xr.Dataset:
        """Compute the dataset of a profile, with its provenance as attributes."""
        declaration = self.declaration(profile)
        require_device(device)
        origin = results.provenance(self.slug, profile, seed, declaration, device)  # of the code as it is now
        began = time.perf_counter()
        dataset = declaration.run(seed, device)
        return dataset.assign_attrs(origin, seconds=f"{time.perf_counter() - began:.2f}")


def require_device(device: str) -> None:
    """Raise ValueError with a reason when ``device`` cannot be used here."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"unknown device {device!r}: take cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device is available here: take --device cpu")
