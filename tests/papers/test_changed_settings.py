"""Settings of a reader's on the newest pages: what is shown says that it is changed, what cannot be run says why."""

import numpy as np
import pytest

from icl_lib.companion import showing
from icl_lib.needed import Missing
from papers import registry

WORK = [
    ("lenses-static-step", {"d": 2, "M": 1, "N": 1}),
    ("lenses-static-step", {"m": 1, "contexts": 3, "queries": 2}),
    ("lenses-one-norm", {"d": 2, "M": 2, "N": 1, "kappa": 1.0}),
    ("lenses-one-pass", {"d": (3, 3), "M": (2, 400), "prompts": 50}),
    ("lenses-token-steps", {"d": 2, "M": 2, "m": 1, "contexts": 1}),
    ("lenses-head-floor", {"d": 2, "N": 1, "noise": 0.0, "starts": 1}),
    ("lenses-own-optimum", {"d": (2,), "N": (5,), "mean": 0.0, "starts": 2}),
    ("lenses-read-out", {"scale": (0.3, 0.03), "starts": 1, "T": 3.0}),
    ("lenses-trained-blocks", {"blocks": ("linear, ReLU",), "steps": 5, "networks": 1, "contexts": 4, "queries": 8}),
    ("lenses-heads", {"eps": 1.0, "prompts": 500, "x": 5.0, "long": 50, "single": 20}),
    ("lenses-small-logits", {"eps": (2.0, 3.0), "terms": 1, "blocks": 2, "fitted": 10}),
    ("lenses-token-distribution", {"N": (80, 20, 320), "contexts": 10, "queries": 10}),
    ("lenses-what-is-left", {"k": (4, 7), "contexts": 5}),
    ("lenses-which-vector", {"penalties": 0.3, "steps": (1, 4), "contexts": 4, "k": (5, 10)}),
    ("lenses-selectivity-alignment", {"k": 2, "contexts": 3, "queries": 4}),
    ("lenses-any-prior", {"tasks": 2, "kappa": 1.0, "contexts": (5, 6), "queries": 8}),
    ("lenses-task-sets", {"d": 3, "N": 10, "k": 50, "noise": 10.0, "long": (1, 2)}),
    ("ahn-depth", {"d": 30, "N": 2, "layers": 6, "contexts": 50}),
    ("ahn-many-dimensions", {"rho": 1.0, "d": np.array([5, 20]), "layers": 1, "contexts": 4}),
    ("ahn-random-covariances", {"d": 1, "N": 2, "layers": 1, "contexts": 50}),
    ("ahn-free-features", {"layers": 2, "d": 2, "N": 4, "starts": 1, "contexts": 50, "batches": 2, "prompts": 20}),
    ("ahn-trained", {"rate": 100.0, "steps": 5, "networks": 1, "contexts": 10, "d": 2, "N": 2}),
]
REFUSED = [
    ("lenses-static-step", {"M": 0}, "M is (0,): take a tuple, each a whole number of at least 1"),
    ("lenses-static-step", {"d": (3, 4, 5)}, "3 of d, 2 of M and 2 of N: take as many of each"),
    ("lenses-one-norm", {"M": 3.5}, "M is 3.5: take a whole number of at least 2"),
    ("lenses-token-steps", {"kappa": "4"}, "kappa is '4': take a finite number above 0"),
    ("lenses-own-optimum", {"d": 12}, "d is (12,): take a tuple, each a whole number of at least 2 and of at most 6"),
    ("lenses-read-out", {"d": 40}, "d is 40: take a whole number of at least 2 and of at most 6"),
    ("lenses-trained-blocks", {"blocks": "softmax, GELU"}, "blocks is ('softmax, GELU',): take a tuple, each one of"),
    ("lenses-one-vote", {"setting.M1": 7}, "M1 is 7: three patterns with one coefficient sum need a multiple of 3"),
    ("lenses-small-logits", {"eps": 0.01}, "eps is (0.01,): take a tuple, each a finite number above 0, 2 or more of them"),
    ("lenses-small-logits", {"d": 5}, "d is (5,): take a tuple, each a whole number of at least 1 and of at most 3"),
    ("lenses-what-is-left", {"k": 200}, "k is (200,): take a tuple, each a whole number of at least 1 and of at most 100"),
    ("lenses-selectivity-alignment", {"k": (5, 2)}, "k is (5, 2): give each length once, from the smallest to the largest"),
    ("lenses-lu-tasks", {"tau": 1}, "tau is 1: take a whole number of at least 2"),
    ("ahn-depth", {"layers": 40}, "layers is 40: take a whole number of at least 1 and of at most 6"),
    ("ahn-free-features", {"layers": 4}, "layers is (4,): take a tuple, each a whole number of at least 2 and of at most 3"),
    ("ahn-random-covariances", {"contexts": 1}, "contexts is 1: take a whole number of at least 2"),
    ("dherin-model-classes", {"classes": "Bert"}, "classes is ('Bert',): take a tuple, each one of GPT-2, Llama"),
    ("dherin-model-classes", {"tokens": 600}, "tokens is 600: take a whole number of at least 2 and of at most 512"),
    ("dherin-model-classes", {"sizes.heads": 3}, "3 heads of 32 channels: take an even number"),
    ("dherin-model-capacity", {"cut": -1.0}, "cut is -1.0: take a finite number above 0 and below 1"),
    ("dherin-recall", {"asked": 8}, "of 8 pairs some have to be left that no query of the patch asks for"),
]


@pytest.mark.long
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("slug", "values"), WORK)
def test_all_that_is_shown_says_what_is_changed(slug, values, displayed):
    dataset = showing.show(registry.experiment(slug).but(**values), seed=7)
    words = f"changed from the book: {dataset.attrs['changed']}"
    assert displayed and all(words in repr(one) and words in one._repr_html_() for one in displayed)


@pytest.mark.parametrize(("slug", "values", "says"), REFUSED)
def test_what_is_refused_gets_one_sentence(slug, values, says):
    with pytest.raises(ValueError) as refused:
        registry.experiment(slug).but(**values)
    assert str(refused.value).startswith(says) and "\n" not in str(refused.value)


def test_a_run_that_fails_with_other_settings_says_so_in_a_sentence(displayed):
    changed = registry.experiment("lenses-trained-blocks").but(rate=1e6, steps=20, networks=1, contexts=4, queries=8)
    with pytest.raises(ValueError) as refused:
        showing.show(changed, seed=7)
    assert str(refused.value).startswith("lenses-trained-blocks cannot be run with steps = 20; rate = 1000000")
    assert "\n" not in str(refused.value) and not displayed


def test_a_gap_that_is_not_published_is_refused_in_a_sentence(displayed):
    changed = registry.experiment("lenses-lu-tasks").but(kappa=3.0, optima=2, long=2)
    with pytest.raises(ValueError, match="^kappa is 3: take some of 0.2, 0.4, .*, as published$"):
        showing.show(changed)


def test_what_fails_with_the_settings_of_the_book_fails_as_it_is(monkeypatch):
    book = registry.experiment("lenses-static-step")

    def run(self, seed, device):
        raise IndexError("no such row")

    monkeypatch.setattr(type(book.quick), "run", run)
    with pytest.raises(IndexError, match="no such row"):
        book.measure("quick", 0)


@pytest.mark.parametrize("slug", ["dherin-model-classes", "dherin-model-capacity", "dherin-recall"])
def test_a_page_without_the_package_that_it_measures_says_so_alone(slug, monkeypatch):
    monkeypatch.setattr("icl_lib.needed.importlib.util.find_spec", lambda name: None)
    with pytest.raises(Missing) as refused:
        showing.show(registry.experiment(slug))
    says = f"{slug} needs transformers, which is missing: install it with pip install transformers"
    assert refused.value._render_traceback_() == [says]
