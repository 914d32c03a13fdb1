"""Prompts, and one frozen class per prompt distribution.

Every distribution has ``sample(generator, shape, length) -> Prompts``: ``shape`` prompts of ``length`` examples each.
"""
