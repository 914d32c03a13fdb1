"""What is chosen is chosen on prompts that nothing is judged on; lengths that claims name; values taken from the paper."""

from dataclasses import replace

import torch

from icl_lib.companion import FAILS
from papers import registry
from papers.garg.prior_observations import sparse
from papers.regression.published import GPT2_VALUES


def test_the_penalty_is_chosen_on_prompts_of_its_own(monkeypatch):
    """No input of the prompts of choice is among those that are judged, and the two streams have roles of their own."""
    chosen_on, judged_on, roles = [], [], []
    best, measure, real = sparse.SparseRegression._best, sparse.SparseRegression._measure, sparse.stream

    def recorded(kept: list, method):
        return lambda self, *given: kept.append(given[-1].x.flatten()) or method(self, *given)

    class Zero:
        def prefixes(self, prompts):
            return torch.zeros(1, prompts.y.shape[0], prompts.y.shape[1] + 1, dtype=torch.float64)

    monkeypatch.setattr(sparse, "trained", lambda training, seed, device: Zero())
    monkeypatch.setattr(sparse, "stream", lambda seed, role: roles.append(role) or real(seed, role))
    monkeypatch.setattr(sparse.SparseRegression, "_best", recorded(chosen_on, best))
    monkeypatch.setattr(sparse.SparseRegression, "_measure", recorded(judged_on, measure))
    replace(sparse.SPARSE_REGRESSION.quick, prompts=30, selection=20, lengths=(0, 1, 3, 4, 5)).run(3, "cpu")
    assert len(roles) == len(set(roles)) == 2
    assert not torch.isin(torch.cat(chosen_on), torch.cat(judged_on)).any()


def test_the_error_after_training_length_is_judged_at_training_length(stored):
    """A fault at k = N alone fails G1, one at k = d < N does not."""
    dataset, claim = stored("garg-regression"), registry.CLAIMS["G1"]
    for k, verdict in ((dataset.N.max(), True), (dataset.d, False)):
        broken = dataset.copy(deep=True)
        broken["risk"].loc[{"k": int(k), "predictor": dataset.model.values.tolist()}] = 0.9
        assert (claim.judge(broken).verdict == FAILS) == verdict


def test_values_of_garg_et_al_by_a_second_reading():
    """Copied a second time, from notes on the text of the paper, in the order of the list; squared errors over d = 20."""
    read = "0.02 0.0006 0.0012 0.0008 0.0016 0.0278 0.3 0.013 0.043 0.58 0.001 0.001 0.0005 0.036 0.0014 0.00057 0.062 0.004"
    assert [value for *_, value in GPT2_VALUES] == [float(each) for each in read.split()]
    assert [k for _, k, _ in GPT2_VALUES] == [20, 40, 40, 40, 40, 40, 40, 40, 40, 40, 10, 20, 40, 10, 20, 40, 20, 40]
