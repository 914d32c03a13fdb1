"""./run bench: what the library's choices save, how fast it trains and what limits it, as a table and as JSON.

Contenders take turns within one run and medians are compared, so that a busy machine slows them alike.
"""
