"""One function per displayed equation, lettered like the paper, in NumPy. Imports nothing else of this library."""
