"""The wing of Li et al.: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="li",
    letters=("L",),
    authors="Li et al.",
    title="How Do Nonlinear Transformers Learn and Generalize in In-Context Learning?",
    arXiv="2402.15607",
    scope=(
        "One layer of softmax attention with a ReLU network, trained to classify patterns: sections 1 to 5, from the "
        "authors' slides. The paper's text could not be read."
    ),
    easy=(
        "The one-layer model trains in seconds. That a few tasks teach all of them, and which neurons that needs, "
        "shows at once."
    ),
    hard=(
        "The slides leave out how patterns were built and how their GPT-2 was trained, so that curves agree in "
        "direction more often than in height. The formula for the number of steps is known from a retelling, without "
        "its regime."
    ),
)
