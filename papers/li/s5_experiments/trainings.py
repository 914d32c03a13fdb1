"""The trainings of section 5, whose weights are shipped in ``book/data/weights``."""

from dataclasses import replace

from papers.li.s5_experiments.decoder_training import DecoderSetting, DecoderTraining

SETTING = DecoderSetting(
    M1=6, M2=24, d_Y=10, beta=1.0, K=0.5, layers=3, heads=2, width=48, rate=1e-3, B=128, steps=1200, l=20, alpha=0.8
)
WITHOUT_POSITIONS = DecoderTraining("li-decoder", SETTING, "cyclic 3", replicates=10)
WITH_POSITIONS = DecoderTraining("li-decoder-positions", replace(SETTING, positions=SETTING.l + 1), "cyclic 3", replicates=10)
"""The same training with a table of learned positions."""
TRAININGS = (WITHOUT_POSITIONS, WITH_POSITIONS)
