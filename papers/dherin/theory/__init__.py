"""Dherin et al., "Learning without training" (arXiv 2507.16003), and the sequels: one function per displayed equation.

``contextual_blocks``   section 2: the rank-1 update, its least norm, other places, joint updates for several queries
``one_step``            section 2: linear attention whose update is one step of gradient descent
``dynamics``            section 3: the path of updates along the context, and the dynamics that consumes it from the left
``agreement``           section 4.1: the best size of one gradient step, and its error
``convergence``         section 4.3: the running average behind the marginal updates
``finetuning``          section 4.4: finetuning of the first matrix, and its alignment with the update
``skip_connections``    appendix: blocks with skips
``positions``           sequel 1: all positions, all blocks
``modern_blocks``       sequel 2: gates, norms, experts
``generation``          costs of decoding with patches
``static``              one patch for many queries
``model_classes``       how many tokens one change of the last matrix can serve, and of the gain behind it

Letters: ``W`` first matrix of the MLP, ``a`` what it reads without the context or part of it, ``a_full`` with the context.
"""
