"""The numbers of the boxes of Zhang, Frei and Bartlett, by a second route."""

import numpy as np
from boxes import PERCENT, Number, by_second_routes


def one_step(d):
    dimensions, d = [int(each) for each in d.d.values], d.isel(d=0)
    kappa, M = int(np.argmax(d.kappa.values)), int(np.argmax(d.M_long.values))
    floor, trained = d.risk_long.transpose("kappa", "M_long").values, d.trained_long.transpose("kappa", "M_long").values
    return {
        "d": Number(dimensions[0], {"the last": dimensions[-1]}),
        "spread": Number(float(d.kappa.values.max()), {"the least spread": float(d.kappa.values[1])}),
        "floor": Number(floor[kappa, M], {"the trained model": trained[kappa, M], "equal variances": floor[0, M]}, PERCENT),
        "trained": Number(trained[kappa, M], {"one step": floor[kappa, M], "the shortest prompt": trained[kappa, 0]}, PERCENT),
    }


def two_notions(d):
    dims = d.d.values
    d = d.isel(d=0)
    left = d.risk.sel(kappa=1).transpose("N", "M").values[:, int(np.argmax(d.M.values))]
    N = d.N.values
    return {
        "short": Number(N.min(), {"the longest": N.max()}),
        "long": Number(N.max(), {"the shortest": N.min()}),
        "short_floor": Number(left[N.argmin()], {"the longest": left[N.argmax()]}, PERCENT),
        "long_floor": Number(left[N.argmax()], {"the shortest": left[N.argmin()]}, PERCENT),
        "d": Number(dims.max(), {"the least": dims.min()}),
    }


def averaged_error(d):
    error = d.error_theory.isel(d=0).transpose("N", ...).values
    N = d.N.values
    away = np.abs(d.error - d.error_theory) / d.error_se
    at = {where: (error[place] / error.min(0)).max() for where, place in (("longest", N.argmax()), ("shortest", N.argmin()))}
    least = (error[N.argmax()] / error.min(0)).min()
    return {
        "worst": Number(float(away.max()), {"the mean": float(away.mean()), "two s.e.": float(away.max()) / 2}),
        "longest": Number(N.max(), {"the shortest": N.min()}),
        "factor": Number(at["longest"], {"the shortest": at["shortest"], "the least": least, "inverted": 1 / at["longest"]}),
    }


def garg_prompts(d):
    k = float(d.k.values.max())

    def share(prompt: str, model: str = "LSA", k: float = k) -> float:
        cell = d.sel(prompt=prompt, model=model, k=k)
        return float(cell.risk) / float(cell.zero)

    other = next(str(name) for name in d.model.values if name != "LSA")
    stretched, left = share("inputs × 2"), share("no shift")
    return {
        "stretched": Number(stretched, {"inverted": 1 / stretched, "no shift": left, "another": share("inputs × 2", other)}),
        "left": Number(left, {"the shift": stretched, "the shortest": share("no shift", k=float(d.k.values.min()))}, PERCENT),
        "k": Number(k, {"the shortest": float(d.k.values.min())}),
    }


def gpt2(d):
    def share(trained: str, test: str) -> float:
        cells = [d.sel(trained=trained, test=test, N=N, M=N) for N in d.N.values]
        return float(np.mean([(cell.risk / cell.zero).mean("run") for cell in cells]))

    jump = d.jump.mean("run")
    seen = jump.sel(test=["covariance I", "c = 1"])
    near, far = share("fixed", "c = 1"), share("fixed", "c = 9")
    return {
        "near": Number(near, {"the farthest": far, "the random ones": share("random", "c = 1")}),
        "far": Number(far, {"the nearest": near, "the random ones": share("random", "c = 9")}),
        "jump": Number(float(seen.min()), {"the largest": float(seen.max()), "all tests": float(jump.min())}),
    }


def random_covariance(d):
    d = d.isel(d=0)

    def share(c: float, trained: str = "random", M: float = float(d.M.values.max())) -> float:
        cell = d.sel(law="exponential", trained=trained, c=c, M=M)
        return float(cell.risk) / float(cell.zero)

    left, worse = share(1), share(4)
    return {
        "left": Number(
            left,
            {
                "fixed": share(1, str(d.trained.values[d.trained.values != "random"][0])),
                "the shortest": share(1, M=float(d.M.values.min())),
            },
            PERCENT,
        ),
        "M": Number(float(d.M.values.max()), {"the shortest": float(d.M.values.min())}),
        "worse": Number(worse, {"inverted": 1 / worse, "no shift": left}),
    }


def full_loss(d):
    return {"settings": Number(len(d.setting), {"sizes": len(d.size)})}


def time_course(d):
    return {}


def dense_init(d):
    ends = d.loss.values.ravel()
    arrived = np.count_nonzero(ends < d.attrs["at_optimum"])
    return {
        "starts": Number(ends.size, {"of one scale": ends.size / len(d.scale)}),
        "arrived": Number(arrived, {"those that did not": ends.size - arrived}),
        "trap": Number(float(d.trap_loss), {"the excess": float(d.trap_loss) - 1, "inverted": 1 / float(d.trap_loss)}),
    }


def six_terms(d):
    away = np.abs(d.term - d.term_theory) / d.term_se
    d = d.isel(d=0)
    cross, error = float(d.term_wrong.sel(term_name="I x III")), float(d.term_theory.sum())
    return {
        "worst": Number(
            float(away.max()), {"the mean": float(away.mean()), "the next": float(np.sort(away.values.ravel())[-2])}
        ),
        "cross": Number(cross, {"the sign": -cross, "the right centre": float(d.term_theory.sel(term_name="I x III"))}),
        "error": Number(error, {"without I": error - float(d.term_theory.isel(term_name=0)), "the wrong centre's": cross}),
    }


ROUTES = {
    "zhang-one-step": one_step,
    "zhang-two-notions": two_notions,
    "zhang-averaged-error": averaged_error,
    "zhang-garg-prompts": garg_prompts,
    "zhang-gpt2": gpt2,
    "zhang-random-covariance": random_covariance,
    "zhang-full-loss": full_loss,
    "zhang-time-course": time_course,
    "zhang-dense-init": dense_init,
    "zhang-six-terms": six_terms,
}

test_numbers_of_a_box_are_those_of_a_second_route = by_second_routes(ROUTES)
