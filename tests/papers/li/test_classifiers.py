"""Classical classifiers against hand cases and second routes: a wrong learner flatters the model."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from icl_lib.seeds import stream
from icl_lib.tasks.prompts import Prompts
from papers.li import classifiers
from papers.li.classifiers import GaussianSVM, LinearSVM, LogisticRegression, NearestNeighbours
from papers.li.patterns import PatternClassification, orthogonal_patterns
from papers.li.task_sets import all_tasks

ALL = {
    "logistic": LogisticRegression(),
    "linear": LinearSVM(),
    "gaussian": GaussianSVM(),
    "nearest": NearestNeighbours(1),
    "three": NearestNeighbours(3),
}


def on_the_line(x, y, query):
    """One prompt of numbers."""
    return Prompts(*(torch.tensor(part, dtype=torch.float64) for part in ([[[v] for v in x]], [y], [[query]], [1.0])))


def clouds(shape=(30,), l=9, d=3):
    generator = stream(0, f"clouds/{l}")
    x = torch.randn((*shape, l + 1, d), generator=generator, dtype=torch.float64)
    noise = torch.randn((*shape, l + 1), generator=generator, dtype=torch.float64)
    y = (x[..., 0] + noise).sign()
    return Prompts(x[..., :-1, :], y[..., :-1], x[..., -1, :], y[..., -1])


@pytest.mark.parametrize("query", [0.2, 0.9])
@pytest.mark.parametrize("learner", ALL.values(), ids=ALL)
def test_separated_points_on_a_line(learner, query):
    """-1 at -3, -2, -1 and +1 at 1, 2, 3: by symmetry every boundary is at 0, only 3-NN has to be asked beyond 0."""
    prompts = on_the_line([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0], query)
    assert learner(prompts).tolist() == [1.0]
    assert learner(prompts._replace(x_query=-prompts.x_query)).tolist() == [-1.0]


def test_where_the_learners_part():
    """One +1 at 0 among five -1 at +-1, +-1, 2: 1-NN and the Gaussian machine see it, linear ones follow the majority."""
    prompts = on_the_line([0.0, -1.0, -1.0, 1.0, 1.0, 2.0], [1.0, -1.0, -1.0, -1.0, -1.0, -1.0], 0.1)
    found = {name: learner(prompts).item() for name, learner in (ALL | {"narrow": GaussianSVM(100.0, 5.0)}).items()}
    assert found == {"logistic": -1, "linear": -1, "gaussian": -1, "nearest": 1, "three": -1, "narrow": 1}


@pytest.mark.parametrize("learner", ALL.values(), ids=ALL)
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_label_only_gives_that_label(learner, label):
    assert learner(on_the_line([1.0, 2.0, 3.0], [label] * 3, -9.0)).tolist() == [label]


def on_patterns(K: float, l: int) -> Prompts:
    """Prompts as the experiments have them; some have one label only."""
    law = PatternClassification(orthogonal_patterns(3, 10, 30, 2.0), all_tasks(3), 0.6, K)
    return law.sample(stream(0, f"on patterns/{K}/{l}"), (80,), l)


LIKE_SCIKIT_LEARN = [
    (LogisticRegression(), lambda sklearn, gamma: sklearn.linear_model.LogisticRegression()),
    (LogisticRegression(50.0), lambda sklearn, gamma: sklearn.linear_model.LogisticRegression(C=50.0)),
    (LinearSVM(), lambda sklearn, gamma: sklearn.svm.SVC(kernel="linear")),
    (LinearSVM(0.1), lambda sklearn, gamma: sklearn.svm.SVC(kernel="linear", C=0.1)),
    (GaussianSVM(), lambda sklearn, gamma: sklearn.svm.SVC()),
    (GaussianSVM(10.0, 3.0), lambda sklearn, gamma: sklearn.svm.SVC(C=10.0, gamma=3.0 * gamma)),
]


@pytest.mark.long
@pytest.mark.parametrize(("learner", "theirs"), LIKE_SCIKIT_LEARN, ids=[repr(learner) for learner, _ in LIKE_SCIKIT_LEARN])
def test_every_label_is_that_of_scikit_learn(learner, theirs):
    import sklearn.linear_model  # slow, and only here and below
    import sklearn.svm

    for prompts in (clouds((60,)), clouds((40,), l=16, d=2), on_patterns(0.5, 6), on_patterns(3.0, 14)):
        x, y, query = (part.numpy() for part in prompts[:3])
        mixed = [b for b in range(len(y)) if len(set(y[b])) == 2]
        expected = [theirs(sklearn, 1 / (x.shape[-1] * x[b].var())).fit(x[b], y[b]).predict(query[b : b + 1])[0] for b in mixed]
        assert len(mixed) >= 30 and learner(prompts)[mixed].tolist() == expected


def test_logistic_regression_says_when_it_does_not_converge(monkeypatch):
    monkeypatch.setattr(classifiers, "NEWTON_STEPS", 1)
    with pytest.raises(RuntimeError, match="did not converge"):
        LogisticRegression()(clouds((3,)))


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_logistic_regression_by_minimising_its_objective(C):
    prompts = clouds((8,))

    def label(x, y, query):
        def objective(theta):
            score = y * (x @ theta[:-1] + theta[-1])
            return C * np.logaddexp(0, -score).sum() + theta[:-1] @ theta[:-1] / 2

        theta = minimize(objective, np.zeros(x.shape[1] + 1), method="BFGS").x
        return np.sign(query @ theta[:-1] + theta[-1])

    expected = [label(*(part[b].numpy() for part in prompts[:3])) for b in range(8)]
    assert LogisticRegression(C)(prompts).tolist() == expected


def dual(kernel, y, C):
    """The SVM's dual by a general solver: alpha and the intercept from the free support vectors."""
    Q = np.outer(y, y) * kernel
    found = minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.full(len(y), C / 2),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * len(y),
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    ).x
    free = (found > 1e-5 * C) & (found < (1 - 1e-5) * C)
    gaps = (y - kernel @ (found * y))[free]
    return found * y, gaps.mean() if len(gaps) else None


@pytest.mark.parametrize("gaussian", [False, True])
def test_svm_by_its_dual(gaussian):
    prompts, learner, compared = clouds((16,)), GaussianSVM(1.0, 2.0) if gaussian else LinearSVM(1.0), 0
    for b in range(16):
        x, y, query = (part[b].numpy() for part in prompts[:3])
        gamma = 2.0 / (3 * x.var())

        def kernel(u, v, gamma=gamma):
            return np.exp(-gamma * ((u[:, None] - v) ** 2).sum(-1)) if gaussian else u @ v.T

        weights, intercept = dual(kernel(x, x), y, 1.0)
        if intercept is None:  # every weight at a bound: an interval of intercepts solves the problem
            continue
        score, compared = (kernel(query[None], x) @ weights + intercept)[0], compared + 1
        assert abs(score) > 1e-3  # no tie that a solver could turn
        assert learner(Prompts(*(part[b][None] for part in prompts))).item() == np.sign(score)
    assert compared >= 8


@pytest.mark.parametrize("k", [1, 3, 5])
def test_nearest_neighbours_against_scikit_learn(k):
    from sklearn.neighbors import KNeighborsClassifier

    prompts = clouds((40,))
    expected = [
        KNeighborsClassifier(k).fit(x.numpy(), y.numpy()).predict(q.numpy()[None])[0]
        for x, y, q, _ in zip(*prompts, strict=True)
    ]
    assert NearestNeighbours(k)(prompts).tolist() == expected


def test_fewer_examples_than_neighbours():
    """Two examples and k = 3: the nearest alone, so that no vote is a tie."""
    assert NearestNeighbours(3)(on_the_line([1.0, 5.0], [1.0, -1.0], 2.0)).tolist() == [1.0]


@pytest.mark.parametrize("learner", ALL.values(), ids=ALL)
def test_leading_dimensions_order_and_target_do_not_matter(learner):
    prompts = clouds((2, 3))
    whole = learner(prompts)
    assert whole.shape == (2, 3) and whole.dtype == torch.float64 and set(whole.unique().tolist()) <= {1.0, -1.0}
    turned = prompts._replace(x=prompts.x.flip(-2), y=prompts.y.flip(-1), y_query=-prompts.y_query)
    assert torch.equal(learner(turned), whole)
    assert learner(Prompts(*(part[1, 2][None] for part in prompts))).item() == whole[1, 2]


@pytest.mark.parametrize("learner", [ALL["logistic"], ALL["linear"], ALL["gaussian"]], ids=["logistic", "linear", "gaussian"])
def test_flipped_labels_flip_the_prediction(learner):
    prompts = clouds((10,))
    assert torch.equal(learner(prompts._replace(y=-prompts.y)), -learner(prompts))


@pytest.mark.parametrize("learner", [LogisticRegression(0.0), LinearSVM(-1.0), GaussianSVM(1.0, 0.0), GaussianSVM(0.0)])
def test_settings_must_be_positive(learner):
    with pytest.raises(ValueError, match="must be above 0"):
        learner(clouds((2,)))


@pytest.mark.parametrize("k", [0, 2, -1])
def test_neighbours_are_odd(k):
    with pytest.raises(ValueError, match="odd number"):
        NearestNeighbours(k)(clouds((2,)))
