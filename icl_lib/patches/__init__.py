"""Context as weights: patches that let a network without its context compute what it computes with it.

``rank_one``   the update of one matrix
``sites``      where a block takes up a vector behind its nonlinearity
``network``    the patch of a block, and of a network block by block; what a block must have to be patched
``fits``       one matrix for many rows: token, joint and static patches
``gains``      the gain of a norm behind the last matrix, for one row or several
``seats``      where a block of any class of networks keeps what a patch changes
``passes``     patches made within one pass of a model's own forward
"""
