"""Claims L0 to L22 on Li et al. (arXiv 2402.15607), by section; L0 are ours."""
