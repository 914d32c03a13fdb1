"""Context as weights: patches that let a network without its context compute what it computes with it.

``rank_one``   the update of one matrix
``sites``      where a block takes up a vector behind its nonlinearity
``network``    the patch of a block, and of a network block by block; what a block must have to be patched
"""
