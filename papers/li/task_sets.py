"""Sets of tasks: ordered pairs (a, b) of patterns, label +1 for pattern a and -1 for pattern b (Li et al., section 3.2)."""

import torch
from jaxtyping import Int
from torch import Tensor

NAMES = ("all", "cyclic R", "single", "one-sided", "first half", "both directions")
"""The names that ``task_set`` knows; R is a number of shifts, for example ``cyclic 3``."""


def all_tasks(M1: int) -> Int[Tensor, "n 2"]:
    """Return all M1 (M1 - 1) ordered pairs."""
    _require_patterns(M1)
    return torch.tensor([(a, b) for a in range(M1) for b in range(M1) if a != b])


def cyclic_tasks(M1: int, shifts: int) -> Int[Tensor, "n 2"]:
    """Return the pairs (a, a + h mod M1) for h = 1..shifts: every pattern has each label ``shifts`` times (Condition 3.2)."""
    _require_patterns(M1)
    if not 1 <= shifts <= M1 - 1:
        raise ValueError(f"{shifts} cyclic shifts of {M1} patterns: take 1 to {M1 - 1}, an empty task set trains nothing")
    return torch.tensor([(a, (a + h) % M1) for h in range(1, shifts + 1) for a in range(M1)])


def one_sided_tasks(M1: int) -> Int[Tensor, "n 2"]:
    """Return (a, a + floor(M1/2)) for a < floor(M1/2): one label for each pattern, which violates Condition 3.2.

    With an odd M1 the last pattern is left out.
    """
    _require_patterns(M1)
    half = M1 // 2
    return torch.tensor([(a, a + half) for a in range(half)])


def task_set(name: str, M1: int) -> Int[Tensor, "n 2"]:
    """Return a named set of tasks over M1 patterns.

    all              every ordered pair
    cyclic R         (a, a + h mod M1) for h = 1..R
    single           (0, 1) alone
    one-sided        (a, a + floor(M1/2)): one label each; with an odd M1 the last pattern is left out
    first half       every ordered pair of the first M1/2 patterns: both labels, half of the patterns
    both directions  (0, 1), (1, 0), (2, 3), (3, 2), ...; with an odd M1 the last pattern is left out

    Raises ValueError for an unknown name, and for a set that would be empty.
    """
    if name.startswith("cyclic ") and name[7:].isdigit():
        return cyclic_tasks(M1, int(name[7:]))
    _require_patterns(M1)
    known = {
        "all": all_tasks,
        "single": lambda M1: torch.tensor([(0, 1)]),
        "one-sided": one_sided_tasks,
        "first half": lambda M1: require_tasks(all_tasks(M1)[(all_tasks(M1) < M1 // 2).all(dim=-1)]),
        "both directions": lambda M1: torch.tensor([(a + i, a + 1 - i) for a in range(0, M1 - 1, 2) for i in (0, 1)]),
    }
    if name not in known:
        raise ValueError(f"unknown task set {name!r}: take one of {', '.join(NAMES)}, with R a number of shifts")
    return known[name](M1)


def unseen_tasks(tasks: Int[Tensor, "n 2"], M1: int) -> Int[Tensor, "r 2"]:
    """Return the ordered pairs over M1 patterns that are not in ``tasks``; raises ValueError when none is left."""
    trained = {tuple(pair) for pair in tasks.tolist()}
    rest = [pair for pair in all_tasks(M1).tolist() if tuple(pair) not in trained]
    return require_tasks(torch.tensor(rest, dtype=torch.long).reshape(-1, 2))


def label_counts(tasks: Int[Tensor, "n 2"], M1: int) -> Int[Tensor, "2 M1"]:
    """Return how many tasks give each pattern the label +1 (first row) and -1 (second row)."""
    return torch.stack([torch.bincount(tasks[:, side], minlength=M1) for side in (0, 1)])


def covers(tasks: Int[Tensor, "n 2"], M1: int) -> bool:
    """Say whether every pattern has each label in exactly |T_tr| / M1 tasks (Condition 3.2)."""
    return bool((label_counts(tasks, M1) * M1 == len(tasks)).all()) and len(tasks) > 0


def require_tasks(tasks: Int[Tensor, "*S n 2"]) -> Int[Tensor, "*S n 2"]:
    """Return the tasks, or raise ValueError when there is none or a pattern is paired with itself."""
    if tasks.shape[-2] == 0:
        raise ValueError("the set of tasks is empty: name at least one ordered pair of patterns")
    if (tasks[..., 0] == tasks[..., 1]).any():
        raise ValueError("a task is a pair of two different patterns: one pattern cannot carry both labels")
    return tasks


def _require_patterns(M1: int) -> None:
    if M1 < 3:
        raise ValueError(f"M1 = {M1}: a task needs two patterns and the other contexts a third, so take M1 >= 3")
