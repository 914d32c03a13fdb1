"""Operations, traffic and memory of a computation, counted from the shapes of its tensors; nothing is computed."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

WITHOUT_TRAFFIC = ("aten::_unsafe_view", "aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty")
OVERWRITING = ("aten::copy_", "aten::fill_", "aten::zero_")


class Counts(NamedTuple):
    """operations of matrix products; bytes read and written; bytes kept from the forward pass for the backward one."""

    operations: int
    traffic: int
    kept: int


class Traffic(TorchDispatchMode):
    """Adds up the bytes that operations read and write when each takes its operands from memory and puts its result there.

    A view moves nothing. What caches save is not known here, so this is the traffic of a device without caches.
    """

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        aliases = [value.alias_info for value in schema.returns]
        a_view = bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases)
        if not a_view and func.namespace == "aten" and schema.name not in WITHOUT_TRAFFIC:
            changed = list(_changed(schema, args))
            read = [t for t in _tensors((args, kwargs)) if schema.name not in OVERWRITING or t is not args[0]]
            made = [] if any(alias is not None for alias in aliases) else _tensors(result)
            self.bytes += sum(map(_size, (*read, *changed, *made)))
        return result


def count(work: Callable[[], object]) -> Counts:
    """Count a computation that makes its own tensors; it is run on tensors without entries.

    Attention counts its operations as written out in products, and its traffic as the one kernel that computes it.
    """
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with FakeTensorMode():
        with FlopCounterMode(display=False) as products, sdpa_kernel(SDPBackend.MATH):
            work()
        with Traffic() as traffic, saved_tensors_hooks(keep, lambda tensor: tensor):
            work()
        return Counts(products.get_total_flops(), traffic.bytes, sum(t.untyped_storage().nbytes() for t in kept.values()))


def _changed(schema, args) -> Iterator[Tensor]:
    for argument, value in zip(schema.arguments, args, strict=False):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from _tensors(value)


def _tensors(tree: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _size(tensor: Tensor) -> int:
    return min(tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes())  # an expanded one is smaller
