"""Experiments on Garg, Tsipras, Liang, Valiant (arXiv 2208.01066), one module a result."""
