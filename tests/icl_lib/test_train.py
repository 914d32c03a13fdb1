"""The training loop: steps against torch.optim, replicates against single runs, resume against an unbroken run."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch.func import grad

from icl_lib.companion import Checkpoint
from icl_lib.seeds import stream
from icl_lib.train.loop import report, train
from icl_lib.train.optimizers import SGD, Adam, FusedAdam, constant, linear_decay
from icl_lib.train.recording import WARM_UP, capture
from papers.zhang.flow import gradient_flow


def loss(parameters, batch):
    return ((batch @ parameters["w"] - 1) ** 2).mean() + (parameters["b"] ** 2).sum()


def start(replicates: int) -> dict[str, torch.Tensor]:
    generator = stream(0, "start")
    return {k: torch.randn(replicates, n, generator=generator, dtype=torch.float64) for k, n in (("w", 3), ("b", 2))}


def draw(step: int) -> torch.Tensor:
    return torch.randn(4, 8, 3, generator=stream(0, f"data/{step}"), dtype=torch.float64)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SGD(0.05), lambda p: torch.optim.SGD(p, lr=0.05)),
        (Adam(0.05), lambda p: torch.optim.Adam(p, lr=0.05)),
        (FusedAdam(0.05), lambda p: torch.optim.Adam(p, lr=0.05)),
    ],
)
def test_optimizers_match_torch_optim(ours, theirs):
    run = train(loss, start(4), draw, ours, 25)
    for s in range(4):
        single = {k: p[s].clone().requires_grad_() for k, p in start(4).items()}
        optimizer = theirs(list(single.values()))
        for step in range(25):
            optimizer.zero_grad()
            value = loss(single, draw(step)[s])
            value.backward()
            optimizer.step()
            assert run.losses[step, s] == pytest.approx(value.item(), rel=1e-12)
        for k, p in single.items():
            assert torch.allclose(run.parameters[k][s], p.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rule", [SGD, Adam])
def test_learning_rates_may_differ_by_replicate(rule):
    rates = torch.tensor([0.01, 0.02, 0.05, 0.1])
    together = train(loss, start(4), draw, rule(rates), 10).parameters["w"]
    alone = train(loss, start(4), draw, rule(0.05), 10).parameters["w"]
    assert torch.allclose(together[2], alone[2], rtol=1e-6)
    assert not torch.allclose(together[0], alone[0], rtol=1e-3)


@pytest.mark.parametrize("rule", [SGD, Adam, FusedAdam])
def test_schedule_scales_the_step(rule):
    one = train(loss, start(4), draw, rule(0.1), 1, schedule=lambda progress: 0.5).parameters["w"]
    other = train(loss, start(4), draw, rule(0.05), 1, schedule=constant).parameters["w"]
    assert torch.allclose(one, other, rtol=1e-14)
    assert [linear_decay(p) for p in (0.0, 0.25, 1.0)] == [1.0, 0.75, 0.0]


@pytest.mark.parametrize("rule", [Adam(0.05), FusedAdam(0.05)])
def test_resume_is_exact(tmp_path, rule):
    whole = train(loss, start(4), draw, rule, 20, schedule=linear_decay)
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)

    def draw_then_stop(step):
        if step == 10:
            raise KeyboardInterrupt
        return draw(step)

    with pytest.raises(KeyboardInterrupt):
        train(loss, start(4), draw_then_stop, rule, 20, schedule=linear_decay, checkpoint=checkpoint)
    assert checkpoint.load()["step"] == 8
    resumed = train(loss, start(4), draw, rule, 20, schedule=linear_decay, checkpoint=checkpoint)
    assert torch.equal(resumed.losses, whole.losses)
    assert all(torch.equal(resumed.parameters[k], whole.parameters[k]) for k in whole.parameters)


def test_a_damaged_checkpoint_starts_anew(tmp_path):
    checkpoint = Checkpoint(tmp_path / "run.safetensors", every=4)
    checkpoint.path.write_bytes(b"not a checkpoint")
    with pytest.warns(UserWarning, match="damaged"):
        assert checkpoint.load() is None


@pytest.mark.parametrize("rule", [SGD(0.1), Adam(0.1), FusedAdam(0.1)])
def test_train_leaves_its_start_untouched(rule):
    before = start(4)
    train(loss, before, draw, rule, 3)
    assert all(torch.equal(before[k], p) for k, p in start(4).items())


def test_train_in_float32_stays_in_float32():
    single = {k: p.float() for k, p in start(4).items()}
    run = train(loss, single, lambda step: draw(step).float(), Adam(torch.tensor([0.1] * 4, dtype=torch.float64)), 3)
    assert run.parameters["w"].dtype == torch.float32


@pytest.mark.parametrize("rule", [SGD(0.05), Adam(0.05), FusedAdam(0.05)])
def test_a_recorded_step_is_the_step(rule):
    """On CUDA a step is recorded once and repeated; here "recording" runs it twice, as a warm-up does, and calls it again."""
    shapes = []

    def record(work):
        work(), work()
        shapes.append(1)
        return work

    def growing(step):
        return draw(step)[:, : 4 + step // 5]

    plain = train(loss, start(4), growing, rule, 12, schedule=linear_decay)
    recorded = train(loss, start(4), growing, rule, 12, schedule=linear_decay, record=record)
    assert len(shapes) == 3
    assert torch.allclose(recorded.losses, plain.losses, rtol=1e-6)  # the factor of the rate is float32 there
    for key, p in plain.parameters.items():
        assert torch.allclose(recorded.parameters[key], p, rtol=1e-5, atol=1e-9), key


class StandIn:
    """Takes the place of a stream of CUDA, and of a graph."""

    def wait_stream(self, other): ...

    def replay(self): ...


def test_on_cuda_a_step_is_recorded_in_tf32(monkeypatch):
    """There PyTorch calls TF32 "high". The warm-up has it, too, and afterwards products are as they were, whatever happened."""
    for name in ("Stream", "CUDAGraph", "current_stream"):
        monkeypatch.setattr(torch.cuda, name, StandIn)
    for name in ("stream", "graph"):
        monkeypatch.setattr(torch.cuda, name, nullcontext)
    seen, before = [], torch.get_float32_matmul_precision()
    capture(lambda: seen.append(torch.get_float32_matmul_precision()))
    assert seen == ["high"] * (WARM_UP + 1) and before == torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(ZeroDivisionError):
        capture(lambda: 1 / 0)
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_recorded_step_reads_batches_of_any_form():
    from icl_lib.tasks.regression import LinearRegression

    law = LinearRegression(torch.eye(3, dtype=torch.float64))

    def nested(step):
        return law.sample(stream(0, f"{step}"), (4, 8), 5), (draw(step), draw(step))

    def of_both(parameters, batch):
        prompts, (more, _) = batch
        return loss(parameters, prompts.x.flatten(0, 1)) + loss(parameters, more) + prompts.y_query.mean()

    plain = train(of_both, start(4), nested, SGD(0.05), 4)
    recorded = train(of_both, start(4), nested, SGD(0.05), 4, record=lambda work: (work(), work)[1])
    assert torch.allclose(recorded.losses, plain.losses, rtol=1e-6)


def test_report_names_the_references():
    assert report(0.5, {}) == "loss 0.5"
    assert report(1.25, {"least squares": 0.375, "predicting 0": 5.0}) == "loss 1.25 (least squares 0.375, predicting 0 5)"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_train_on_cuda_matches_cpu():
    there = train(loss, {k: p.cuda() for k, p in start(4).items()}, lambda step: draw(step).cuda(), SGD(0.1), 5)
    assert torch.allclose(there.parameters["w"].cpu(), train(loss, start(4), draw, SGD(0.1), 5).parameters["w"])


def test_gradient_flow_of_a_quadratic():
    curvature = np.array([1.0, 3.0, 0.2])
    times = np.linspace(0, 4, 9)
    path = gradient_flow(lambda theta: -curvature * theta, np.ones(3), times)
    assert np.allclose(path, np.exp(-np.outer(times, curvature)), rtol=1e-8)


def test_gradient_flow_says_when_it_gives_up():
    with pytest.raises(RuntimeError, match="blow up"), np.errstate(all="ignore"):
        gradient_flow(lambda theta: theta**2, np.array([1.0]), np.linspace(0, 2, 5))


def test_loss_gradient_is_the_one_used():
    parameters = {k: p[0] for k, p in start(1).items()}
    step = train(loss, start(1), lambda s: draw(s)[:1], SGD(1.0), 1).parameters["w"][0]
    assert torch.allclose(parameters["w"] - step, grad(loss)(parameters, draw(0)[0])["w"], rtol=1e-12)


def test_the_fused_kernel_refuses_parameters_with_gaps_between_them():
    """Gradients that lie alike have the same gaps; moments have none, and the kernel would write between the parameters."""
    base, rule = torch.zeros(2, 4), FusedAdam(0.1)
    parameters, gradients = {"a": base[:, ::2]}, {"a": torch.ones(2, 4)[:, ::2]}
    with pytest.raises(ValueError, match="gradients or moments lie in memory otherwise than their parameters"):
        rule.step(parameters, gradients, rule.start(parameters), 0, 1.0)
    assert not base.any()
