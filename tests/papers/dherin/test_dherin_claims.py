"""Every claim of the wing on its stored result: the recorded verdict, controls that fail by a number, positive inputs."""

import numpy as np
import pytest

from icl_lib.companion.claim import FAILS, HOLDS
from papers import registry

CLAIMS = [claim for claim in registry.CLAIMS.values() if claim.paper == "dherin"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_verdicts_controls_and_positive_inputs(claim, stored):
    dataset = stored(claim.experiment)
    judgement = claim.judge(dataset)
    assert (judgement.verdict, judgement.control_verdict) == (claim.recorded, FAILS)
    assert (judgement.positive_verdict == HOLDS) == (claim.recorded != HOLDS)
    for control in claim.controls.values():  # NaN and infinity fail whatever the control breaks
        assert np.isfinite(claim.check(control(dataset.copy(deep=True))).worst()).all()
