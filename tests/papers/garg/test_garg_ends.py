"""The Bayes predictor at the ends of what it admits: no example, hardly any noise, single precision."""

import numpy as np
import pytest

from papers.garg.theory import bayes


def test_no_example_leaves_the_prior():
    assert bayes.posterior_mean(np.zeros((0, 3)), np.zeros(0), 1.0).tolist() == [0, 0, 0]
    assert bayes.posterior_error(np.zeros((0, 3)), 1.0) == 1


@pytest.mark.parametrize("noise_sd", [1e-3, 1e-7, 1e-12])
def test_hardly_any_noise_leaves_what_no_example_shows(noise_sd):
    X = np.random.default_rng(0).standard_normal((4, 2, 5))
    assert np.allclose(bayes.posterior_error(X, noise_sd), 3 / 5, atol=1e-5)


def test_the_error_is_the_trace_of_the_posterior():
    X = np.random.default_rng(1).standard_normal((6, 3))
    trace = np.trace(np.linalg.inv(np.eye(3) + X.T @ X / 0.25)) / 3
    assert bayes.posterior_error(X, 0.5) == pytest.approx(trace, rel=1e-12)


def test_rows_that_repeat_are_refused_in_single_precision_too():
    x, other = np.random.default_rng(2).standard_normal((2, 3)).astype(np.float32)
    with pytest.raises(ValueError, match="linearly dependent"):
        bayes.posterior_mean(np.stack([x, 3 * x, other]), np.ones(3, np.float32), 0.0)
