"""Claims Z1 to Z28 on Zhang, Frei, Bartlett (arXiv 2306.09927), one module a section."""
