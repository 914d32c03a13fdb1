"""Every experiment and every claim, by name, in the order of the paper."""

import re
from dataclasses import fields, is_dataclass

import xarray as xr

from icl_lib.claims.claim import Claim, Judgement
from icl_lib.claims.dherin import (
    agreement,
    alignment,
    contextual_blocks,
    contextual_blocks_places,
    contextual_blocks_queries,
    finetuning,
    gemma,
    layers,
    left_consuming,
    modern_blocks,
    skip_connections,
)
from icl_lib.claims.dherin import convergence as dherin_convergence
from icl_lib.claims.dherin import dynamics as dherin_dynamics
from icl_lib.claims.dherin import generation as dherin_generation
from icl_lib.claims.dherin import positions as dherin_positions
from icl_lib.claims.dherin import static_patches as dherin_static_patches
from icl_lib.claims.garg import live_training as garg_live_training
from icl_lib.claims.garg import regression as garg_regression
from icl_lib.claims.garg import shifted as garg_shifted
from icl_lib.claims.garg import sparse as garg_sparse
from icl_lib.claims.li import (
    classical,
    data_and_tasks,
    floor,
    formulation,
    generalization,
    mechanism,
    neurons,
    pruning,
    sample_complexity,
)
from icl_lib.claims.li import experiments as li_experiments
from icl_lib.claims.li import introduction as li_introduction
from icl_lib.claims.zhang import (
    appendices,
    convergence,
    garg_prompts,
    gpt2,
    gpt2_positions,
    introduction,
    pl_inequality,
    preliminaries,
    quadratic_form,
    random_covariances,
    shifts,
)
from icl_lib.claims.zhang import dynamics as dynamics_claims
from icl_lib.experiments import decoder_trainings
from icl_lib.experiments.decoders import DecoderTraining
from icl_lib.experiments.dherin import trainings
from icl_lib.experiments.dherin.agreement import AGREEMENT
from icl_lib.experiments.dherin.agreement_deep import AGREEMENT_DEEP
from icl_lib.experiments.dherin.alignment import ALIGNMENT
from icl_lib.experiments.dherin.composition import COMPOSITION
from icl_lib.experiments.dherin.conditioning import CONDITIONING
from icl_lib.experiments.dherin.costs import COSTS
from icl_lib.experiments.dherin.depth import DEPTH
from icl_lib.experiments.dherin.dynamics import DYNAMICS as DHERIN_DYNAMICS
from icl_lib.experiments.dherin.finetuning import FINETUNING
from icl_lib.experiments.dherin.gemma import GEMMA
from icl_lib.experiments.dherin.generation import GENERATION
from icl_lib.experiments.dherin.gradient_step import GRADIENT_STEP
from icl_lib.experiments.dherin.identity import IDENTITY
from icl_lib.experiments.dherin.joint_patch import JOINT_PATCH
from icl_lib.experiments.dherin.layers_compared import LAYERS_COMPARED
from icl_lib.experiments.dherin.left_consuming import LEFT_CONSUMING
from icl_lib.experiments.dherin.linear_loss import LINEAR_LOSS
from icl_lib.experiments.dherin.marginal_updates import MARGINAL_UPDATES
from icl_lib.experiments.dherin.modern_blocks import MODERN_BLOCKS
from icl_lib.experiments.dherin.order import ORDER
from icl_lib.experiments.dherin.other_sites import OTHER_SITES
from icl_lib.experiments.dherin.placebo import PLACEBO
from icl_lib.experiments.dherin.plateau import PLATEAU
from icl_lib.experiments.dherin.positions import POSITIONS
from icl_lib.experiments.dherin.positions_training import POSITIONS_TRAINING
from icl_lib.experiments.dherin.query_dependence import QUERY_DEPENDENCE
from icl_lib.experiments.dherin.rank_one import RANK_ONE
from icl_lib.experiments.dherin.rnn_rate import RNN_RATE
from icl_lib.experiments.dherin.skip_connections import SKIP_CONNECTIONS
from icl_lib.experiments.dherin.stale_patches import STALE_PATCHES
from icl_lib.experiments.dherin.stale_trained import STALE_TRAINED
from icl_lib.experiments.dherin.static_deep import STATIC_DEEP
from icl_lib.experiments.dherin.static_one_block import STATIC_ONE_BLOCK
from icl_lib.experiments.dherin.trained import Training
from icl_lib.experiments.dherin.update_alignment import UPDATE_ALIGNMENT
from icl_lib.experiments.engine.roofline import ENGINE_ROOFLINE
from icl_lib.experiments.experiment import Experiment
from icl_lib.experiments.garg.live_training import LIVE_TRAINING
from icl_lib.experiments.garg.regression import REGRESSION
from icl_lib.experiments.garg.shifted import SHIFTS
from icl_lib.experiments.garg.sparse import SLOW, SPARSE_REGRESSION
from icl_lib.experiments.li.attention import ATTENTION as LI_ATTENTION
from icl_lib.experiments.li.classical import CLASSICAL_LEARNERS
from icl_lib.experiments.li.classical_reasons import CLASSICAL_REASONS
from icl_lib.experiments.li.coefficient_sum import COEFFICIENT_SUM
from icl_lib.experiments.li.decoder import DECODER
from icl_lib.experiments.li.decoder_positions import DECODER_POSITIONS
from icl_lib.experiments.li.first_push import FIRST_PUSH
from icl_lib.experiments.li.floor import FLOOR
from icl_lib.experiments.li.growth import GROWTH
from icl_lib.experiments.li.hinge_margin import HINGE_MARGIN
from icl_lib.experiments.li.iterations import ITERATIONS
from icl_lib.experiments.li.magnitudes import MAGNITUDES
from icl_lib.experiments.li.neurons import NEURONS
from icl_lib.experiments.li.nonlinearity import NONLINEARITY
from icl_lib.experiments.li.prompt_length import PROMPT_LENGTH
from icl_lib.experiments.li.pruning import PRUNING
from icl_lib.experiments.li.pruning_reasons import PRUNING_REASONS
from icl_lib.experiments.li.published_floor import PUBLISHED_FLOOR
from icl_lib.experiments.li.rescaling import RESCALING
from icl_lib.experiments.li.start import START
from icl_lib.experiments.li.sum_reasons import SUM_REASONS
from icl_lib.experiments.li.task_fraction import TASK_FRACTION
from icl_lib.experiments.li.task_sets import TASK_SETS
from icl_lib.experiments.li.training import TRAINING as LI_TRAINING
from icl_lib.experiments.li.two_memories import TWO_MEMORIES
from icl_lib.experiments.li.unseen_tasks import UNSEEN_TASKS
from icl_lib.experiments.zhang.attention import ATTENTION
from icl_lib.experiments.zhang.averaged_error import AVERAGED_ERROR
from icl_lib.experiments.zhang.covariate_shift import COVARIATE_SHIFT
from icl_lib.experiments.zhang.dense_init import DENSE_INIT
from icl_lib.experiments.zhang.dynamics import DYNAMICS
from icl_lib.experiments.zhang.flow import FLOW
from icl_lib.experiments.zhang.fourth_moment import FOURTH_MOMENT
from icl_lib.experiments.zhang.full_loss import FULL_LOSS
from icl_lib.experiments.zhang.garg_prompts import GARG_PROMPTS
from icl_lib.experiments.zhang.gpt2 import ZHANG_GPT2
from icl_lib.experiments.zhang.gpt2_positions import ZHANG_GPT2_POSITIONS
from icl_lib.experiments.zhang.gpt2_scale import ZHANG_GPT2_SCALE
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
        *(ZHANG_GPT2, ZHANG_GPT2_POSITIONS, ZHANG_GPT2_SCALE),
        *(QUADRATIC_FORM, DYNAMICS, TIME_COURSE, FULL_LOSS, RANK_ONE_TRAP, PL_INEQUALITY, START_SIZE, DENSE_INIT),
        *(SIX_TERMS, FOURTH_MOMENT, OFF_DIAGONAL),
        *(NONLINEARITY, START, LI_TRAINING),
        *(TASK_SETS, UNSEEN_TASKS, FLOOR, FIRST_PUSH, TWO_MEMORIES),
        *(COEFFICIENT_SUM, RESCALING, SUM_REASONS, TASK_FRACTION, PROMPT_LENGTH, ITERATIONS),
        *(MAGNITUDES, PRUNING, PRUNING_REASONS),
        *(LI_ATTENTION, GROWTH, NEURONS, HINGE_MARGIN),
        *(DECODER, DECODER_POSITIONS, CLASSICAL_LEARNERS, CLASSICAL_REASONS, PUBLISHED_FLOOR),
        *(IDENTITY, RANK_ONE, CONDITIONING, OTHER_SITES, PLACEBO, QUERY_DEPENDENCE, JOINT_PATCH, GRADIENT_STEP),
        *(DHERIN_DYNAMICS, LINEAR_LOSS, ORDER, LEFT_CONSUMING),
        *(AGREEMENT, PLATEAU, AGREEMENT_DEEP, MARGINAL_UPDATES, LAYERS_COMPARED, RNN_RATE),
        *(FINETUNING, ALIGNMENT, SKIP_CONNECTIONS),
        *(POSITIONS, UPDATE_ALIGNMENT, POSITIONS_TRAINING, COMPOSITION),
        *(MODERN_BLOCKS, DEPTH, GEMMA),
        *(GENERATION, STALE_PATCHES, STALE_TRAINED, COSTS),
        *(STATIC_ONE_BLOCK, STATIC_DEEP),
        *(REGRESSION, SPARSE_REGRESSION, SHIFTS, LIVE_TRAINING),
        ENGINE_ROOFLINE,
    )
}

_MODULES = (
    introduction, preliminaries, convergence, shifts, garg_prompts, random_covariances, gpt2, gpt2_positions,
    quadratic_form, dynamics_claims, pl_inequality, appendices,
    li_introduction, formulation, data_and_tasks, floor, generalization, sample_complexity, pruning, mechanism, neurons,
    li_experiments, classical,
    contextual_blocks, contextual_blocks_places, contextual_blocks_queries, dherin_dynamics, left_consuming,
    agreement, dherin_convergence, layers, finetuning, alignment, skip_connections, dherin_positions, modern_blocks, gemma,
    dherin_generation, dherin_static_patches,
    garg_regression, garg_sparse, garg_shifted, garg_live_training,
)  # fmt: skip


_PAPERS = ("Z", "ZF", "L", "D", "G")
"""What claim ids begin with, in the order of the ledger."""


def _order(claim: Claim) -> tuple[int, int, str]:
    letter, number, part = re.fullmatch(r"(\D+)(\d+)(\D*)", claim.id).groups()
    return _PAPERS.index(letter), int(number), part


CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claim in sorted(
        (value for module in _MODULES for value in vars(module).values() if isinstance(value, Claim)), key=_order
    )
}


TRAININGS: dict[str, Training | DecoderTraining] = {
    training.name: training for training in (*trainings.TRAININGS, *decoder_trainings.TRAININGS, SLOW)
}
"""Trainings whose weights are shipped; each has ``train(seed, device) -> weights``."""
PUBLISHED_TRAININGS: dict[str, DecoderTraining] = {training.name: training for training in decoder_trainings.PAPER_TRAININGS}
"""Trainings at the scale of a paper, for a GPU; their weights are not shipped."""


def training(name: str) -> Training | DecoderTraining:
    """Return a training by the name of its weights; raises ValueError that lists the names."""
    every = TRAININGS | PUBLISHED_TRAININGS
    if name not in every:
        raise ValueError(f"unknown training {name!r}: take one of {', '.join(every)}")
    return every[name]


def trainings_of(declaration) -> list[str]:
    """Return the names of the shipped weights that a declaration asks for, in its fields or theirs."""
    if isinstance(declaration, Training | DecoderTraining):
        return [declaration.name] if TRAININGS.get(declaration.name) == declaration else []
    if isinstance(declaration, tuple):
        return [name for entry in declaration for name in trainings_of(entry)]
    if is_dataclass(declaration):
        return [name for field in fields(declaration) for name in trainings_of(getattr(declaration, field.name))]
    return []


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
