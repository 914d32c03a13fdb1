"""One prompt small enough for a sheet of paper, which every theory of the book answers: d = 2, four examples, one query."""

import numpy as np

x = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 0.0], [0.0, 1.0]])
"""The inputs, a row each; their empirical covariance is diag(3/2, 3/4)."""
w = np.array([1.0, 2.0])
"""The task."""
y = x @ w
"""The labels: 3, -1, 2, 2."""
x_query = np.array([1.0, 1.0])
"""The query; its label is 3."""
Lambda = np.diag([2.0, 1.0])
"""The covariance that the model has met in training, on prompts of four examples."""
