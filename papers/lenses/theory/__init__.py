"""What the three papers say of one another; results of this book, and of the sources that a page cites.

``one_block``      a context as one change of weights, as a step on a loss, and token by token
``own_weights``    a block with an MLP on tasks with a mean: its optimum, the trap, the floor without an MLP
``population``     the exact error of such blocks, by quadrature over tasks
``read_out``       how far patches point along the read-out, from what gradient flow conserves
``task_sets``      what linear attention makes of k training tasks, and of new ones
``one_function``   attention as the slope of a convex function, what one patch carries, and removed examples
``what_is_left``   the risk of a model in three parts, and its excess over the posterior mean
"""
