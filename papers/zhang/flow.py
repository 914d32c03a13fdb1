"""Population gradient flow."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.integrate import solve_ivp

MOST_EVALUATIONS = 200_000
"""Velocities that one gradient flow may ask for; those of the book take a few thousand."""


def gradient_flow(
    velocity: Callable[[Float[ndarray, "P"]], Float[ndarray, "P"]],
    start: Float[ndarray, "P"],
    times: Float[ndarray, "T"],
    *,
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Float[ndarray, "T P"]:
    """Integrate d theta/dt = velocity(theta) from theta(0) = start with LSODA and return theta at ``times``.

    ``times`` start at 0 and increase. Raises RuntimeError when the integrator gives up or the flow blows up, that is
    when it asks for more than ``MOST_EVALUATIONS`` velocities.
    """
    evaluations = 0

    def counted(time: float, theta: ndarray) -> ndarray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > MOST_EVALUATIONS:
            raise RuntimeError(f"gradient flow stopped at t={time:.3g} of {times[-1]:.3g}: too many steps, does it blow up?")
        return velocity(theta)

    solution = solve_ivp(counted, (0.0, times[-1]), start, method="LSODA", t_eval=times, rtol=rtol, atol=atol)
    if not solution.success:
        raise RuntimeError(f"gradient flow stopped before t={times[-1]:.3g}: {solution.message}")
    return np.ascontiguousarray(solution.y.T)
