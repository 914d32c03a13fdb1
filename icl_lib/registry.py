"""Every experiment and every claim, by name, in the order of the paper."""

import re

import xarray as xr

from icl_lib.claims.claim import Claim, Judgement
from icl_lib.claims.zhang import (
    appendices,
    convergence,
    garg_prompts,
    introduction,
    pl_inequality,
    preliminaries,
    quadratic_form,
    random_covariances,
    shifts,
)
from icl_lib.claims.zhang import dynamics as dynamics_claims
from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.zhang.attention import ATTENTION
from icl_lib.experiments.zhang.averaged_error import AVERAGED_ERROR
from icl_lib.experiments.zhang.covariate_shift import COVARIATE_SHIFT
from icl_lib.experiments.zhang.dense_init import DENSE_INIT
from icl_lib.experiments.zhang.dynamics import DYNAMICS
from icl_lib.experiments.zhang.flow import FLOW
from icl_lib.experiments.zhang.fourth_moment import FOURTH_MOMENT
from icl_lib.experiments.zhang.full_loss import FULL_LOSS
from icl_lib.experiments.zhang.garg_prompts import GARG_PROMPTS
from icl_lib.experiments.zhang.isotropic import ISOTROPIC
from icl_lib.experiments.zhang.off_diagonal import OFF_DIAGONAL
from icl_lib.experiments.zhang.one_step import ONE_STEP
from icl_lib.experiments.zhang.orthogonal_query import ORTHOGONAL_QUERY
from icl_lib.experiments.zhang.pl import PL_INEQUALITY
from icl_lib.experiments.zhang.population_loss import POPULATION_LOSS
from icl_lib.experiments.zhang.quadratic_form import QUADRATIC_FORM
from icl_lib.experiments.zhang.query_shift import QUERY_SHIFT
from icl_lib.experiments.zhang.random_covariance import RANDOM_COVARIANCE
from icl_lib.experiments.zhang.random_covariance_flow import RANDOM_COVARIANCE_FLOW
from icl_lib.experiments.zhang.random_covariance_limit import RANDOM_COVARIANCE_LIMIT
from icl_lib.experiments.zhang.rank_one_trap import RANK_ONE_TRAP
from icl_lib.experiments.zhang.risk import RISK
from icl_lib.experiments.zhang.six_terms import SIX_TERMS
from icl_lib.experiments.zhang.start_size import START_SIZE
from icl_lib.experiments.zhang.stationarity import STATIONARITY
from icl_lib.experiments.zhang.task_shift import TASK_SHIFT
from icl_lib.experiments.zhang.time_course import TIME_COURSE
from icl_lib.experiments.zhang.training import TRAINING
from icl_lib.experiments.zhang.two_notions import TWO_NOTIONS

EXPERIMENTS: dict[str, Experiment] = {
    experiment.slug: experiment
    for experiment in (
        *(ONE_STEP, TWO_NOTIONS, ATTENTION, POPULATION_LOSS),
        *(STATIONARITY, FLOW, TRAINING, RISK, AVERAGED_ERROR, ISOTROPIC),
        *(TASK_SHIFT, QUERY_SHIFT, ORTHOGONAL_QUERY, COVARIATE_SHIFT, GARG_PROMPTS),
        *(RANDOM_COVARIANCE_FLOW, RANDOM_COVARIANCE, RANDOM_COVARIANCE_LIMIT),
        *(QUADRATIC_FORM, DYNAMICS, TIME_COURSE, FULL_LOSS, RANK_ONE_TRAP, PL_INEQUALITY, START_SIZE, DENSE_INIT),
        *(SIX_TERMS, FOURTH_MOMENT, OFF_DIAGONAL),
    )
}

_MODULES = (
    introduction, preliminaries, convergence, shifts, garg_prompts, random_covariances, quadratic_form, dynamics_claims,
    pl_inequality, appendices,
)  # fmt: skip


def _order(claim: Claim) -> tuple[str, int, str]:
    paper, number, letter = re.fullmatch(r"(\D+)(\d+)(\D*)", claim.id).groups()
    return paper, int(number), letter


CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (value for module in _MODULES for value in vars(module).values() if isinstance(value, Claim)), key=_order
    )
}


def experiment(slug: str) -> Experiment:
    """Return an experiment by slug; raises ValueError that lists the slugs."""
    if slug not in EXPERIMENTS:
        raise ValueError(f"unknown experiment {slug!r}: take one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[slug]


def claims_of(slug: str) -> list[Claim]:
    """Return the claims that an experiment decides."""
    return [claim for claim in CLAIMS.values() if claim.experiment == slug]


def judge(claim_id: str, dataset: xr.Dataset) -> Judgement:
    """Decide one claim on a dataset of its experiment."""
    return CLAIMS[claim_id].judge(dataset)
