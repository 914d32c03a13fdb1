"""Li, Wang, Lu, Cui, Chen, "How Do Nonlinear Transformers Learn and Generalize in In-Context Learning?" (arXiv 2402.15607).

The paper gives orders of magnitude; nearly every closed form here is derived in the book.

``nonlinearity``      section 1: margins with and without softmax and ReLU
``start``             section 2: attention and output before training
``coverage``          section 3.2: what a set of training tasks does at first order
``floor``             section 3.2: the missing pattern, the vote law, the best predictor
``coefficient_sum``   section 3.3: ODR geometry, the margin and the score gaps against S_1
``prompt_length``     section 3.3: the length that an error needs
``escape_time``       section 3.3: steps until the hinge falls
``pruning``           section 3.4: small neurons, and the hinge of a pruned network
``mechanism``         section 4: gradients of scores and of neurons, the odds law
``neighbours``        section 5: the error of nearest neighbours

Letters: ``alpha`` share of contexts that the task decides, ``l`` prompt length, ``M1`` relevant patterns, ``beta`` their
norm, ``q`` norm of the label embedding, ``S_1`` coefficient sum of an ODR pattern.
"""
