"""li-task-sets: Condition 3.2 counted, and the two requirements on the number of training tasks."""

from dataclasses import dataclass

import xarray as xr
from torch import Tensor

from icl_lib.companion import AtLeastThree, Declaration, Experiment, Several, expectation, variable
from papers.li.task_sets import all_tasks, cyclic_tasks, label_counts, one_sided_tasks
from papers.li.theory.coverage import shifts_by_share


@dataclass(frozen=True)
class TaskSets(Declaration):
    """Every cyclic task set over each number of patterns M1.

    M1   numbers of task-relevant patterns
    """

    M1: Several[AtLeastThree]

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Count labels and tasks; search for the fewest shifts that meet each requirement. Nothing is drawn."""
        miscount = [max(_miscount(cyclic_tasks(M1, r), M1, r) for r in range(1, M1)) for M1 in self.M1]
        one_sided = [_miscount(one_sided_tasks(M1), M1, 1) for M1 in self.M1]
        return xr.Dataset(
            {
                "tasks": variable("M1", [len(all_tasks(M1)) for M1 in self.M1], "|T|"),
                "miscount": variable("M1", miscount, "largest deviation of a label count from r, or of |T_tr| from r M1"),
                "miscount_one_sided": variable("M1", one_sided, "the same for one-sided tasks, r = 1"),
                "shifts_count": variable("M1", [_by_count(M1) for M1 in self.M1], "fewest shifts, |T_tr| >= M1"),
                "shifts_share": variable("M1", [_by_share(M1) for M1 in self.M1], "fewest shifts, share >= (M1 - 1)^(-1/2)"),
            },
            coords={"M1": list(self.M1)},
        )

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the fewest shifts by the requirement on the share beside them."""
        shifts = [shifts_by_share(M1) for M1 in self.M1]
        return dataset.assign(shifts_share_theory=variable("M1", shifts, "ceil(sqrt(M1 - 1))"))


def _miscount(tasks: Tensor, M1: int, r: int) -> int:
    return max(int((label_counts(tasks, M1) - r).abs().max()), abs(len(tasks) - r * M1))


def _by_count(M1: int) -> int:
    return next(r for r in range(1, M1) if len(cyclic_tasks(M1, r)) >= M1)


def _by_share(M1: int) -> int:
    """Compare squares, which are whole numbers: |T_tr|^2 (M1 - 1) >= |T|^2."""
    everything = len(all_tasks(M1)) ** 2
    return next(r for r in range(1, M1) if len(cyclic_tasks(M1, r)) ** 2 * (M1 - 1) >= everything)


TASK_SETS = Experiment(
    slug="li-task-sets",
    title="Condition 3.2 counted",
    quick=TaskSets(M1=(3, 4, 5, 6, 7, 8)),
    full=TaskSets(M1=(3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24)),
)
