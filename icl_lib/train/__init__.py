"""Fitting: one loop for all trainings, and steps recorded as CUDA graphs."""
