"""The wing of Zhang, Frei, Bartlett: a room for each section, the theory, and what several rooms share."""

from icl_lib.companion import Paper

PAPER = Paper(
    key="zhang",
    letters=("Z", "ZF"),
    authors="Zhang, Frei, Bartlett",
    title="Trained Transformers Learn Linear Models In-Context",
    arXiv="2306.09927",
    scope=(
        "One layer of linear attention trained by gradient flow on linear regression: sections 1 to 5 and the "
        "appendices, read in a text copy of arXiv v3. The experiment with GPT-2 is at the size of two cores."
    ),
    easy=(
        "The theorems are formulas, and a measurement can be set against each. The weights of Theorem 4.1 can be "
        "written down, so that errors under any shift need no training."
    ),
    hard=(
        "The copy had lost some of its symbols, and a slip of print is hard to tell from a slip of the copy. Decoders "
        "differ so much from training to training that sentences about a single N stay open."
    ),
)
