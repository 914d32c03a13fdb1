"""Fitting: one loop for all trainings, population gradient flow, and steps recorded as CUDA graphs."""
