"""The library that a companion to any paper could use. It knows no paper's sections.

The floors, bottom to top; a module imports from floors below its own only:

``seeds``       the only maker of random generators
``typed``       bad input, told in one sentence; ``needed``: missing packages, likewise
``tasks``       prompts, and one class per prompt distribution
``models``      what predicts a query from a prompt, displayed architectures and baselines alike
``train``       fitting, many replicates at once
``measure``     estimates with errors
``patches``     context turned into weights
``companion``   declarations, experiments, claims, figures, and what stores them
"""
