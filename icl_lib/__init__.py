"""The library that a companion to any paper could use. It knows no paper's sections.

The floors, bottom to top; a module imports from floors below its own only:

``seeds``       the only maker of random generators
``tasks``       prompts, and one class per prompt distribution
``models``      what predicts a query from a prompt, displayed architectures and baselines alike
``train``       fitting by steps and by population gradient flow
``measure``     estimates with errors
``patches``     context turned into weights
``companion``   declarations, experiments, claims, figures, and what stores them
"""
