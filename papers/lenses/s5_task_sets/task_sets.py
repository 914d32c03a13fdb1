"""lenses-task-sets: the least risk on k training tasks, and the error of the same weights on new tasks."""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from jaxtyping import Float

from icl_lib.companion import (
    AtLeastTwo,
    Count,
    Declaration,
    Experiment,
    Positive,
    Several,
    expectation,
    near_misses,
    variable,
)
from papers.lenses.s5_task_sets import exact
from papers.lenses.s5_task_sets.draws import unit_tasks
from papers.lenses.theory import task_sets as theory
from papers.regression import shapes
from papers.regression.spectra import standard_normal

LENGTHS = ("of length 1", "of unequal lengths")
NEAR = ("without the energy", "1 + 1/N for 1 + 2/N", "N + 1 for N")


@dataclass(frozen=True)
class TaskSets(Declaration):
    """k tasks of equal weight, inputs x ~ N(0, I), values that read the label alone.

    d, N    dimensions of inputs and training lengths, one of each a shape
    k       training tasks, one number a shape
    noise   standard deviation of the labels' noise
    long    training lengths at which tasks of length 1 are tried besides
    """

    d: Several[AtLeastTwo]
    N: Several[Count]
    k: Several[Count]
    noise: Positive
    long: Several[Count]

    def __post_init__(self):
        super().__post_init__()
        shapes.require_as_many(d=self.d, N=self.N, k=self.k)

    def run(self, seed: int, device: str) -> xr.Dataset:
        """Find the keys at which the exact risk has no slope, and read both errors there."""
        places = range(len(self.d))
        found = [[self._errors(seed, place, lengths, self.N[place]) for lengths in LENGTHS] for place in places]
        least, new = np.moveaxis(np.array(found), -1, 0)
        path = [[self._errors(seed, place, LENGTHS[0], N)[1] for N in self.long] for place in places]
        columns = {
            "least": variable("shape tasks", least, "least risk on the training tasks"),
            "new": variable("shape tasks", new, "error of the same weights on new tasks"),
            "path": variable("set long", path, "error on new tasks, tasks of length 1"),
        }
        told = {"shape": shapes.told(d=self.d, N=self.N, k=self.k), "set": shapes.told(d=self.d, k=self.k)}
        return xr.Dataset(columns, coords=told | {"tasks": list(LENGTHS), "long": list(self.long)})

    @expectation
    def expect(self, dataset: xr.Dataset, seed: int) -> xr.Dataset:
        """Put the optimum by formula beside it, and the limit of long prompts."""
        tables = [[self._theory(seed, place, lengths) for lengths in LENGTHS] for place in range(len(self.d))]

        def table(name: str) -> list:
            return [[each[name] for each in row] for row in tables]

        sets = [self._tasks(seed, place, LENGTHS[0]) for place in range(len(self.d))]
        ends = {"second moments alone": [theory.projection(w) for w in sets]}
        ends |= {"without the mean": [theory.projection(w - w.mean(0)) for w in sets]}
        ends |= {"without the last term": [sum(theory.long_parts(w, self.noise)[:2]) for w in sets]}
        ends |= {"1 for c": [theory.long_prompts(w, 0.0) for w in sets]}
        dims, path = "shape tasks", [[self._new(w, N) for N in self.long] for w in sets]
        return dataset.assign(
            least_theory=variable(dims, table("least"), "least risk by formula"),
            least_near=near_misses(dims, {name: table(f"least/{name}") for name in NEAR}),
            new_theory=variable(dims, table("new"), "error of the optimum by formula on new tasks"),
            new_near=near_misses(dims, {name: table(f"new/{name}") for name in NEAR}),
            path_theory=variable("set long", path, "error of the optimum by formula on new tasks"),
            end=dataset.path.isel(long=-1, drop=True).assign_attrs(long_name="error on new tasks after the longest prompts"),
            end_theory=variable("set", [theory.long_prompts(w, self.noise) for w in sets], "error at N = infinity"),
            end_near=near_misses("set", ends),
            end_scale=variable("", 1.0, "the error of no answer"),
        )

    def _tasks(self, seed: int, place: int, lengths: str) -> Float[np.ndarray, "k d"]:
        w = unit_tasks(1, self.k[place], self.d[place], seed, f"task sets/{place}")[0]
        if lengths == LENGTHS[0]:
            return w
        return w * abs(standard_normal((self.k[place], 1), seed, f"task sets/{place}/lengths"))

    @expectation
    def _new(self, w: Float[np.ndarray, "k d"], N: int) -> float:
        layer = theory.optimum(theory.moments(w, self.noise), N)
        return theory.error(layer, theory.new_tasks(w.shape[1], self.noise), N)

    def _errors(self, seed: int, place: int, lengths: str, N: int) -> tuple[float, float]:
        d, w = self.d[place], self._tasks(seed, place, lengths)
        K = exact.level(law := exact.law(w, self.noise), N)
        return exact.risk(K, law, N)[0], exact.risk(K, exact.new_law(d, self.noise), N)[0]

    @expectation
    def _theory(self, seed: int, place: int, lengths: str) -> dict[str, float]:
        N, tasks = self.N[place], theory.moments(self._tasks(seed, place, lengths), self.noise)
        new = theory.new_tasks(self.d[place], self.noise)
        right = theory.optimum(tasks, N)
        mistaken = dict(
            zip(NEAR, (theory.second_moments_alone(tasks, N), _plain(tasks, N), theory.optimum(tasks, N + 1)), strict=True)
        )
        found = {"least": theory.error(right, tasks, N), "new": theory.error(right, new, N)}
        lengths_of = dict.fromkeys(NEAR, N) | {NEAR[2]: N + 1}
        found |= {f"least/{name}": theory.error(each, tasks, lengths_of[name]) for name, each in mistaken.items()}
        return found | {f"new/{name}": theory.error(each, new, lengths_of[name]) for name, each in mistaken.items()}


@expectation
def _plain(tasks: theory.Moments, N: float) -> theory.Layer:
    """The optimum if e had the variance of a mean of products and not of squares."""
    U, nu, q, c = tasks
    told = np.outer(nu, nu) / q
    A = np.linalg.solve((1 + 1 / N) * (U - told) + c / N * np.eye(len(U)), U - told)
    return theory.Layer(A, (nu / (1 + 1 / N) - nu @ A) / q)


_QUICK = TaskSets(
    d=(2, 3, 4, 4), N=(5, 12, 8, 20), k=(2, 3, 3, 5), noise=0.3, long=(10, 1000, 100_000, 10_000_000, 1_000_000_000)
)
TASK_SETS = Experiment(
    slug="lenses-task-sets",
    title="What linear attention sees of a set of tasks",
    quick=_QUICK,
    full=replace(
        _QUICK,
        d=(3, 3, 4, 5, 5, 5),
        N=(5, 20, 12, 8, 30, 30),
        k=(2, 3, 9, 4, 5, 6),
        long=tuple(10**power for power in range(1, 10)),
    ),
)
