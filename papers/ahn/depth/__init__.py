"""How deep linear attention has to be: what layers with one step size each leave of a linear task."""
