"""seeds.stream: generators named by their role."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import papers
from icl_lib.seeds import stream


def draws(seed: int, name: str, size: int = 1000) -> torch.Tensor:
    return torch.randn(size, generator=stream(seed, name), dtype=torch.float64)


def test_equal_arguments_give_equal_draws():
    first = draws(3, "data/17")
    draws(3, "data/18")
    torch.randn(5)
    assert torch.equal(first, draws(3, "data/17"))


@pytest.mark.parametrize("other", [(4, "data/17"), (3, "data/18"), (3, "data/1"), (31, "data/7")])
def test_other_arguments_give_unrelated_draws(other):
    correlation = torch.corrcoef(torch.stack([draws(3, "data/17", 40_000), draws(*other, 40_000)]))[0, 1]
    assert abs(correlation) < 5 / 40_000**0.5


def test_negative_and_large_seeds_are_seeds():
    assert not torch.equal(draws(-1, "w"), draws(1, "w"))
    assert not torch.equal(draws(10**30, "w"), draws(10**30 + 1, "w"))


def test_the_seed_is_the_hash_of_seed_and_name():
    """From outside: `printf 0/data/17 | sha256sum` starts with ea8462e52ecbea28."""
    assert stream(0, "data/17").initial_seed() == 0xEA8462E52ECBEA28 >> 1


@pytest.mark.parametrize("seed", [1.0, "1", None, True, np.float64(1)])
def test_a_seed_that_is_no_integer_is_refused(seed):
    with pytest.raises(TypeError, match="seed must be an integer"):
        stream(seed, "w")


def test_streams_leave_the_global_generator_alone():
    before = torch.get_rng_state()
    draws(0, "w")
    assert torch.equal(before, torch.get_rng_state())


SEED_AT = {
    **{"stream": 0, "standard_normal": 1, "geometric_covariance": 2, "empirical_covariances": 3, "random_Theta": 1},
    **{"trained": 1, "train_marks": 1},
}


def calls_of_experiments() -> Iterator[tuple[str, ast.Call]]:
    """Every call in the code of the experiments, with the name of its file."""
    for path in sorted(Path(papers.__file__).parent.rglob("*.py")):
        if not path.stem.startswith(("claims", "figures")) and path.parent.name != "bench":
            found = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            yield from ((path.name, node) for node in found if isinstance(node, ast.Call))


def test_experiments_draw_from_the_seed_they_are_given():
    """Whatever is drawn or measured in an experiment takes the name ``seed``, never a number of its own."""
    drawn = 0
    for name, call in calls_of_experiments():
        called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [keyword.value for keyword in call.keywords if keyword.arg == "seed"]
        if called in SEED_AT and not given:
            starred = any(isinstance(each, ast.Starred) for each in call.args)  # then the seed comes last
            given = [call.args[-1 if starred else SEED_AT[called]]]
        drawn += len(given)
        assert all(ast.unparse(value) in ("seed", "self.seed") for value in given), (name, ast.unparse(call))
    assert drawn > 50


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is here")
def test_a_device_that_is_not_here_is_refused():
    with pytest.raises(ValueError, match="no CUDA device is available here: draw on the cpu"):
        stream(0, "data", "cuda")
