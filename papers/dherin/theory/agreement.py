"""Section 4.1 of Dherin et al.: the error of the predictors that a trained block is compared with.

At N = 8 and d = 3 the best step is 8/12, and 3 (1 - 4/3 + (4/9) (12/8)) = 3 * 4/12 is left; a step of 1 leaves 3 * 4/8:

>>> from papers.dherin.theory.agreement import best_step, best_step_risk, step_risk
>>> round(step_risk(8, 3, best_step(8, 3)), 4), round(best_step_risk(8, 3), 4), round(step_risk(8, 3, 1.0), 4)
(1.0, 1.0, 1.5)
"""


def best_step(N: int, d: int) -> float:
    """eta = N/(N + d + 1): the best step size of one gradient step on N examples, x ~ N(0, I_d) (eq-dherin-4-1-step).

    The step starts at w = 0 on the loss (1/2N) sum_i (<w, x_i> - y_i)^2 with y_i = <w*, x_i>.
    """
    return N / (N + d + 1)


def step_risk(N: int, d: int, eta: float) -> float:
    """d (1 - 2 eta + eta^2 (N + d + 1)/N): error of one step of size eta from w = 0, w* ~ N(0, I_d) (eq-dherin-4-1-risk)."""
    return d * (1 - 2 * eta + eta**2 * (N + d + 1) / N)


def best_step_risk(N: int, d: int) -> float:
    """d (d + 1)/(N + d + 1): the error of one step of the best size (eq-dherin-4-1-plateau)."""
    return d * (d + 1) / (N + d + 1)
