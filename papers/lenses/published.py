"""Numbers that Lu et al. publish of linear attention trained on k tasks; nothing measured here.

From the repository mletey/incontext-cleanup, commit c690222, MIT licence, Copyright (c) 2026 Mary Letey: the files
d10_gamma.csv, d32_gamma.csv and d64_gamma.csv of quick_and_easy_figure/saved_data. Five digits are kept; no code is taken over.
"""

ALPHA, TAU, NOISE_VARIANCE, SETS = 10, 10, 0.01, 20
"""N = alpha d examples a prompt, tau d^2 prompts in training, rho = s^2, and how many sets of tasks a row averages over."""

KAPPA = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0, 4.0, 8.0, 16.0, 32.0)
"""k/d, tasks over dimensions; k is rounded down."""

GAP = {
    10: (
        1.4521, 0.92498, 0.67609, 0.42931, 0.26624, 0.15431, 0.063729, 0.045521, 0.011287, 0.0042415, 0.0019361, 0.0010735,
    ),
    32: (
        1.0099, 0.74981, 0.50636, 0.32598, 0.19065, 0.12508, 0.052725, 0.033162, 0.0098046, 0.0040130, 0.0017953, 0.00077679,
    ),
    64: (
        0.92591, 0.68225, 0.47303, 0.29738, 0.17567, 0.11020, 0.052703, 0.031695, 0.0094162, 0.0037778, 0.0017346, 0.00082368,
    ),
}  # fmt: skip
"""Error on new tasks less that on the training tasks, by d, at ``KAPPA``: gtask_mean."""

SPREAD = {
    10: (
        0.21692, 0.091824, 0.089971, 0.069331, 0.052448, 0.046430, 0.025792, 0.020456, 0.0054217, 0.0039706, 0.0034992,
        0.0038016,
    ),
    32: (
        0.043394, 0.030787, 0.016736, 0.010154, 0.017617, 0.012559, 0.0062196, 0.0046278, 0.0012755, 0.0010645, 0.00086045,
        0.00074342,
    ),
    64: (
        0.016034, 0.0087218, 0.0065967, 0.0063053, 0.0065611, 0.0046714, 0.0023801, 0.0017032, 0.00067559, 0.00048135,
        0.00049775, 0.00047655,
    ),
}  # fmt: skip
"""gtask_std: the root of the summed variances of both errors over ``SETS`` sets of tasks; no error of the mean."""
