"""What the authors' code prints: training losses in the notebooks of chengxiang/LinearTransformer, commit b6ddc35.

Notebook "rotation demonstration-Adam": d = 5, N = 20, three layers, all of P_l and A_l free, inputs N(0, Sigma) and tasks
w ~ N(0, Sigma^-1), 100,000 steps of Adam with clipped gradients. Every 100 steps 20,000 new prompts are drawn, and the loss on
them, the mean of (answer - label of the query)^2, is printed before they are trained on: it is that of new prompts. Two runs
have such outputs.
"""

SHAPE = {"d": 5, "N": 20, "layers": 3}
PROMPTS = 20_000
"""Prompts behind one printed loss."""
MEDIANS = (0.000664, 0.000668)
"""Medians of the 500 losses of a run that are printed from step 50,000 on."""
LARGEST = (0.0992, 0.0599)
"""The largest of these 500, of each run; the second largest are 0.0016 and 0.0010."""
