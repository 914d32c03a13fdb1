"""What the three papers say of one another; results of this book, and of the sources that a page cites.

``one_block``      a context as one change of weights, as a step on a loss, and token by token
``one_function``   attention as the slope of a convex function, what one patch carries, and removed examples
"""
